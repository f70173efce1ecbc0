"""Every checkpoint that the package carries has a card, with a block of metadata that a hub reads."""

from pathlib import Path

import pytest
import yaml

import leantta_lab
from leantta.files import sha256_of

WEIGHTS = Path(leantta_lab.__file__).parent / "weights"
CARRIED = sorted(WEIGHTS.glob("*.safetensors"))


@pytest.mark.parametrize("weights", CARRIED, ids=lambda path: path.stem)
def test_carried_weights_have_a_card(weights: Path) -> None:
    start, block, text = weights.with_suffix(".md").read_text().split("---\n", 2)
    assert start == ""
    told = yaml.safe_load(block)
    assert {"license", "datasets", "tags"} <= set(told)
    sections = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert sections == ["Intended use", "Figures", "Data and training", "Limits", "Licence"]
    assert sha256_of(weights) in text
    for entry in told.get("model-index", []):
        assert f"{entry['results'][0]['metrics'][0]['value']:.1f} % [" in text


def test_there_are_carried_weights() -> None:
    assert len(CARRIED) >= 8
