"""A card says what its file says, in the form that the hub reads."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from leantta.errors import ArtifactError
from leantta.files import sha256_of
from leantta.report.card import NOT_STATED, Measured, accuracy_text, card, card_of
from leantta.runtime.facts import opened
from leantta.samples import FOLDER
from running import Run

SAMPLE = FOLDER / "sample.onnx"
GOLDEN = Path(__file__).resolve().parents[1] / "runtime" / "golden"
SECTIONS = ("Intended use", "Data", "Figures", "Limits", "The file", "Licence")


def metadata(text: str) -> dict[str, Any]:
    start, block, _ = text.split("---\n", 2)
    assert start == ""
    told: dict[str, Any] = yaml.safe_load(block)
    return told


@pytest.mark.parametrize("path", [SAMPLE, *sorted(GOLDEN.glob("*.onnx"))], ids=lambda path: path.stem)
def test_every_file_has_a_card_with_all_sections(path: Path) -> None:
    text = card_of(path)
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == list(SECTIONS)
    assert sha256_of(path) in text
    _, info = opened(path)
    assert (f"{len(info.layers)} of its {len(info.plan)} BatchNorms" in text) == bool(info.layers)
    assert NOT_STATED in text
    assert {"library_name", "tags"} <= set(metadata(text))


def test_what_was_measured_is_in_the_metadata_and_has_an_interval() -> None:
    text = card_of(SAMPLE, Measured(right=809, inputs=1000, of="cifar10"), "mit")
    told = metadata(text)
    assert told["license"] == "mit"
    assert told["pipeline_tag"] == "image-classification"
    (entry,) = told["model-index"]
    (result,) = entry["results"]
    assert result["metrics"] == [{"type": "accuracy", "value": 80.9}]
    assert accuracy_text(809, 1000) in text


def test_a_file_in_which_nothing_adapts_says_so() -> None:
    _, info = opened(SAMPLE)
    text = card(replace(info, gate=None, layers=()), name="x.onnx", size_bytes=1, sha256="0")
    assert "nothing in it adapts" in text


def test_the_carried_card_is_what_is_written_now() -> None:
    carried = (FOLDER / "card.md").read_text()
    share = metadata(carried)["model-index"][0]["results"][0]["metrics"][0]["value"]
    assert (
        card_of(SAMPLE, Measured(right=round(100 * share), inputs=10_000, of="cifar10"), "apache-2.0")
        == carried
    )


def test_what_is_no_file_of_ours_has_no_card(tmp_path: Path) -> None:
    (tmp_path / "x.onnx").write_bytes(b"no model")
    with pytest.raises(ArtifactError):
        card_of(tmp_path / "x.onnx")


def test_a_licence_without_a_card_is_wrong_usage(run: Run) -> None:
    done = run("convert", "x", "--calibration", "y", "-o", "z.onnx", "--licence", "mit")
    assert done.returncode == 2
