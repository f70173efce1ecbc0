"""The same seed gives the same images as when the golden file was made.

python tests/data/corruptions/test_golden.py     makes it anew; raise `EDITION` in names.py with it
"""

import json
from pathlib import Path

import numpy as np
import pytest

from leantta.data.seeds import Draws
from leantta.disturbances.corruptions.apply import corrupt
from leantta.disturbances.corruptions.frost import WindowSource
from leantta.disturbances.corruptions.names import EDITION, NAMES, SEVERITIES
from leantta.disturbances.corruptions.strengths import CIFAR_C
from leantta_lab.samples import CIFAR10_SAMPLE

GOLDEN = Path(__file__).with_name("golden.json")


def fingerprint(name: str) -> list[list[float]]:
    """Return, per severity, the mean and deviation of three corrupted images and of their left halves."""
    with np.load(CIFAR10_SAMPLE) as file:
        clean = file["x_test"][:3]
    rows = []
    for severity in SEVERITIES:
        if name == "frost":  # whichever windows this machine has
            draws = Draws(0, name, severity, first=0, count=len(clean))
            level = CIFAR_C[name].levels[severity - 1]
            images = level(clean, draws, source=WindowSource.FORMULA)  # type: ignore[call-arg] # frost takes it
        else:
            images = corrupt(clean, name, severity, seed=0)
        left = images[:, :, :16]
        rows.append(
            [round(float(value), 3) for value in (images.mean(), images.std(), left.mean(), left.std())]
        )
    return rows


def test_the_golden_file_is_of_this_edition() -> None:
    assert json.loads(GOLDEN.read_text())["edition"] == EDITION


@pytest.mark.parametrize("name", NAMES)
def test_the_images_are_those_of_this_edition(name: str) -> None:
    expected = json.loads(GOLDEN.read_text())["images"][name]
    # libraries may round another way at a few pixels; other noise or another strength changes more than this
    np.testing.assert_allclose(fingerprint(name), expected, atol=0.01)


if __name__ == "__main__":
    made = {"edition": EDITION, "images": {name: fingerprint(name) for name in NAMES}}
    GOLDEN.write_text(json.dumps(made, indent=1) + "\n")
