"""What a conversion refuses, in one line."""

from pathlib import Path
from typing import Any

import pytest
from torch import nn

from export.models import CLASSES, GOOD, Small, pixels, small
from leantta.errors import DataError, LeanTTAError, SettingError, StorageError, UnsupportedModelError
from leantta.export.convert import convert
from leantta.export.options import FileOptions
from leantta.progress import Progress, silent

BAD: dict[str, tuple[dict[str, Any], type[LeanTTAError], str]] = {
    "no images": ({"calibration": pixels(0)}, DataError, "0 calibration inputs"),
    "one image": ({"calibration": pixels(1)}, DataError, "1 calibration inputs"),
    "mean without std": ({"std": None}, SettingError, "mean and std go together"),
    "std without mean": ({"mean": None}, SettingError, "mean and std go together"),
    "std of zero": ({"std": (0.2, 0.0, 0.2)}, SettingError, "std above 0"),
    "mean of two channels": ({"mean": (0.5, 0.5)}, SettingError, "one each per channel"),
    "two channels": ({"mean": (0.5,) * 2, "std": (0.5,) * 2}, DataError, "2 channels"),
    "pixels as floats": ({"mean": None, "std": None}, DataError, "these are uint8"),
    "unknown gate": ({"gate": "paved"}, SettingError, "no gate is called 'paved'"),
    "three names for five classes": ({"classes": CLASSES[:3]}, SettingError, "3"),
    "unknown layer": ({"layers": ["bn9"]}, LeanTTAError, "matches 'bn9'"),
    "other channels": (
        {"calibration": pixels(20)[..., :1], "mean": (0.5,), "std": (0.5,)},
        UnsupportedModelError,
        "does not run on the example input",
    ),
    "no BatchNorm": ({"model": nn.Conv2d(3, 4, 3)}, LeanTTAError, "no BatchNorm"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_requests_are_one_line_and_touch_nothing(name: str, tmp_path: Path) -> None:
    changes, error, message = BAD[name]
    target = tmp_path / "x.onnx"
    target.write_bytes(b"the one before")
    settings = {"model": Small().eval(), "calibration": pixels(20), **GOOD, **changes}
    with pytest.raises(error, match=message) as caught:
        convert(settings.pop("model"), settings.pop("calibration"), target, **settings)
    assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["x.onnx"]
    assert target.read_bytes() == b"the one before"


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"precision": "fp16"}, "int8, fp32, got 'fp16'"), ({"input": "jpeg"}, "image, waveform, got 'jpeg'")],
)
def test_unknown_kinds_of_files_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        FileOptions(**settings)


def test_a_place_that_cannot_be_written_shows_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    begun: list[str] = []

    def progress(label: str) -> Progress:
        begun.append(label)
        return silent

    with pytest.raises(StorageError, match="Choose another place"):
        convert(small(), pixels(), tmp_path / "file" / "x.onnx", progress=progress, **GOOD)
    assert not begun
