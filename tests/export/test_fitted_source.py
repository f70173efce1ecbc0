"""Calibration images and the preprocessing that they came out of."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from torch import nn

from export.models import MEAN, SIZE, STD, pixels
from leantta.data.preprocess import Preprocessing
from leantta.errors import DataError, LeanTTAError, SettingError
from leantta.export.calibration import LEAST
from leantta.export.folders import fit_images
from leantta.export.request import Request, _completed
from leantta.export.source import read_source
from leantta.models.opened import OpenedModel

HOW = Preprocessing(resize=(SIZE, SIZE), colours="bgr")
IMAGES = pixels(LEAST)
FLOATS = IMAGES.transpose(0, 3, 1, 2).astype(np.float32)


def test_the_file_carries_what_was_done_but_mean_and_std_once() -> None:
    how = replace(HOW, mean=MEAN, std=STD, layout="channels_last")
    source = read_source(IMAGES, (MEAN, STD), None, "image", how)
    assert source.info.preprocessing == HOW
    assert (source.info.mean, source.info.std) == (MEAN, STD)
    assert read_source(IMAGES, (MEAN, STD), None, "image").info.preprocessing is None


@pytest.mark.parametrize(
    ("images", "how", "error", "says"),
    [
        (IMAGES, Preprocessing(resize=(SIZE, SIZE + 1)), DataError, "the preprocessing makes"),
        (IMAGES, replace(HOW, colours="grey"), DataError, "the preprocessing makes"),
        (FLOATS, HOW, SettingError, "for images given as uint8"),
    ],
)
def test_images_that_did_not_come_out_of_it_are_refused(
    images: NDArray[Any], how: Preprocessing, error: type[LeanTTAError], says: str
) -> None:
    statistics = (MEAN, STD) if images is IMAGES else None
    with pytest.raises(error, match=says):
        read_source(images, statistics, None, "tensor", how)


def test_a_mean_of_bytes_is_refused_with_what_it_should_be() -> None:
    with pytest.raises(SettingError, match=r"Divide both by 255, here 0\.485"):
        read_source(IMAGES, ((123.675, 116.28, 103.53), (58.4, 57.1, 57.4)), None, "tensor")


def test_a_size_covers_and_a_preprocessing_fits() -> None:
    grey = replace(HOW, colours="grey")
    assert fit_images(IMAGES, (5, 6), None).shape == (LEAST, 5, 6, 3)
    assert fit_images(IMAGES, None, grey).shape == (LEAST, SIZE, SIZE, 1)
    np.testing.assert_array_equal(fit_images(IMAGES, None, None), IMAGES)


def test_what_the_model_says_counts_where_nobody_else_said_it() -> None:
    """Asked for before the model's own; a dataset has a normalization of its own."""
    request = Request(model="timm:x", calibration=Path("photos"), output=Path("x.onnx"))
    told = replace(HOW, mean=MEAN, std=STD)
    opened = OpenedModel(spec="timm:x", module=nn.Identity(), preprocessing=told)

    def completed(**asked: Any) -> tuple[Any, ...]:
        done = _completed(replace(request, **asked), opened)
        return done.preprocessing, done.size, done.mean

    other = Preprocessing(resize=9, crop=(8, 8))
    own = replace(other, mean=(0.1,) * 3, std=(0.2,) * 3)
    assert completed() == (told, None, MEAN)
    assert completed(mean=(0.3,) * 3, std=STD) == (told, None, (0.3,) * 3)
    assert completed(size=(8, 8)) == (None, (8, 8), MEAN)
    assert completed(preprocessing=other) == (other, None, MEAN)
    assert completed(preprocessing=own) == (own, None, (0.1,) * 3)
    assert completed(dataset="cifar10") == (None, None, None)
    with pytest.raises(SettingError, match="--size"):
        completed(preprocessing=other, size=(8, 8))
