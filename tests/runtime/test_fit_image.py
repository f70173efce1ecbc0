"""An image of any size as a file takes it: by the preprocessing that the file describes, or as before."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leantta
from leantta.data.preprocess import Preprocessing, fitted
from leantta.data.resize import cover, luminance
from leantta.errors import DataError
from leantta.runtime.container import read_container
from leantta.runtime.metadata import Info, read_info
from runtime.artifacts import artifact

PHOTO = np.random.default_rng(0).integers(0, 256, (20, 31, 3), dtype=np.uint8)


def info_of(path: Path, channels: int = 3, **told: Any) -> Info:
    changes = {"format": 2, "input.preprocessing": told} if told else {}
    return read_info(read_container(artifact(path / "a.onnx", shape=(channels, 8, 8), changes=changes)))


def test_a_file_without_a_description_covers_as_it_always_did(tmp_path: Path) -> None:
    info = info_of(tmp_path)
    assert (info.format, info.input.preprocessing) == (1, None)
    np.testing.assert_array_equal(leantta.fit_image(PHOTO, info), cover(PHOTO, 8, 8))
    grey = info_of(tmp_path, channels=1)
    np.testing.assert_array_equal(leantta.fit_image(PHOTO, grey), luminance(cover(PHOTO, 8, 8)))


@pytest.mark.parametrize(
    "told",
    [
        {"resize": [8, 8], "interpolation": "bicubic"},
        {"resize": 10, "crop": [8, 8], "colours": "bgr"},
        {"resize": 8, "side": "long", "pad": [8, 8], "fill": [1, 2, 3]},
        {"resize": 9, "crop": [8, 8], "colours": "grey", "interpolation": "nearest"},
    ],
)
def test_a_file_is_fitted_as_it_says(tmp_path: Path, told: dict[str, Any]) -> None:
    info = info_of(tmp_path, 1 if told.get("colours") == "grey" else 3, **told)
    assert info.format == 2
    found = leantta.fit_image(PHOTO, info)
    np.testing.assert_array_equal(found, fitted(PHOTO, Preprocessing.from_json(told)))
    with leantta.load(tmp_path / "a.onnx") as session:
        assert session.predict_one(found).outputs["logits"].shape == (4,)


def test_what_does_not_come_out_at_the_size_of_the_model_is_refused(tmp_path: Path) -> None:
    info = info_of(tmp_path, colours="bgr")
    assert leantta.fit_image(PHOTO[:8, :8], info).shape == (8, 8, 3)
    with pytest.raises(DataError, match=r"takes images of 8 x 8 pixels.*this one has 20 x 31"):
        leantta.fit_image(PHOTO, info)
