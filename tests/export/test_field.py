"""Field inputs of a conversion: given as the calibration inputs are, or refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from export.models import MEAN, STD, given, pixels, small
from leantta.errors import DataError, SettingError
from leantta.export.convert import convert
from leantta.export.preprocessing import normalized
from leantta.export.source import as_tensors, read_source
from leantta.pixels import Pixels, floats

IMAGES = pixels(32)
FLOATS = given(IMAGES).numpy()
PIXELS = (MEAN, STD)
OTHER = 255 - IMAGES


def taken(inputs: np.ndarray[Any, np.dtype[np.float32]] | Pixels) -> np.ndarray[Any, np.dtype[np.float32]]:
    return floats(as_tensors(inputs)).numpy()


def test_they_become_what_the_model_takes() -> None:
    bytes_, plain = read_source(IMAGES, PIXELS, None, "image"), read_source(FLOATS, None, None, "tensor")
    assert np.array_equal(taken(bytes_.field(OTHER)), normalized(OTHER, MEAN, STD))
    assert np.array_equal(taken(bytes_.field(IMAGES)), taken(bytes_.inputs))
    assert np.array_equal(taken(plain.field(2 * FLOATS)), 2 * FLOATS)
    wide = taken(plain.field(FLOATS.astype(np.float64)))
    assert wide.dtype == np.float32
    assert np.array_equal(wide, FLOATS)


def test_signals_are_standardized() -> None:
    signal = np.random.default_rng(0).normal(size=(20, 3, 40)).astype(np.float32)
    source = read_source(signal, ((1.0, 2.0, 3.0), (1.0, 2.0, 4.0)), None, "tensor")
    assert np.array_equal(taken(source.field(signal)), taken(source.inputs))


@pytest.mark.parametrize(
    ("calibration", "field"),
    [
        (IMAGES, IMAGES[:, :8]),
        (IMAGES, IMAGES[..., :1]),
        (IMAGES, IMAGES.astype(np.float32)),
        (IMAGES, IMAGES.astype(np.int64)),
        (FLOATS, IMAGES),
        (FLOATS, FLOATS[:, :, 1:]),
        (FLOATS, FLOATS[0]),
        (FLOATS, FLOATS.astype(np.complex64)),
    ],
    ids=["size", "channels", "floats", "whole numbers", "bytes", "rows", "one", "complex"],
)
def test_others_are_refused(calibration: Any, field: Any) -> None:
    source = read_source(calibration, PIXELS if calibration is IMAGES else None, None, "tensor")
    with pytest.raises(DataError, match="given as calibration inputs are") as caught:
        source.field(field)
    assert f"these are {field.dtype} {field.shape}" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "settings", "error", "words"),
    [
        (IMAGES[:20], {}, DataError, "24 different field images"),
        (IMAGES[:, :8], {}, DataError, "these are uint8"),
        (IMAGES, {"gate": "paper"}, SettingError, "the paper gate uses no field images"),
        (IMAGES, {"gate": "calibrated"}, SettingError, "the calibrated gate uses no field images"),
    ],
    ids=["few", "size", "paper", "calibrated"],
)
def test_nothing_is_written_then(
    field: Any, settings: dict[str, Any], error: type[Exception], words: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=words):
        convert(small(), IMAGES, tmp_path / "x.onnx", field=field, mean=MEAN, std=STD, **settings)
    assert not list(tmp_path.iterdir())


def test_values_that_are_not_finite_or_too_large_are_refused(tmp_path: Path) -> None:
    for value in (np.nan, 1e300):
        field = FLOATS.astype(np.float64)
        field[3, 1, 2, 0] = value
        with pytest.raises(DataError, match="one of the field images is not finite"):
            convert(small(), FLOATS, tmp_path / "x.onnx", field=field)
