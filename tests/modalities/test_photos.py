"""Cells of a collection: read when asked for, fitted, corrupted by image and seed alone."""

from pathlib import Path

import numpy as np
import pytest

from leantta.data.collection.opening import open_collection
from leantta.data.preprocess import Preprocessing
from leantta.disturbances.corruptions.apply import corrupt
from leantta.errors import DataError
from leantta.modalities.cells import CLEAN, CachedCells
from leantta.modalities.photos import PhotoCells
from picture_trees import picture, tree

HOW = Preprocessing(resize=20, crop=(20, 20))


def cells(root: Path, how: Preprocessing = HOW) -> PhotoCells:
    return PhotoCells(open_collection(tree(root, "a/1.png", "b/1.png", "b/2.png")), how)


def test_images_are_fitted_first_and_corrupted_then(tmp_path: Path) -> None:
    source = cells(tmp_path)
    places = np.array([2, 0])
    plain = source.cell(CLEAN, 0, places, 0)
    assert plain.shape == (2, 20, 20, 3)
    damaged = source.cell("gaussian_noise", 3, places, 7)
    for place, image, after in zip(places, plain, damaged, strict=True):
        wanted = corrupt(image[None], "gaussian_noise", 3, seed=7, first=int(place))[0]
        np.testing.assert_array_equal(after, wanted)
    assert source.inputs(plain).shape == (2, 3, 20, 20)


def test_the_model_sees_its_own_colours(tmp_path: Path) -> None:
    grey = cells(tmp_path, Preprocessing(resize=20, crop=(20, 20), colours="grey"))
    assert grey.inputs(grey.cell("fog", 1, np.array([0, 1]), 0)).shape == (2, 1, 20, 20)


def test_images_of_several_sizes_need_one(tmp_path: Path) -> None:
    picture(tmp_path / "a" / "9.png", size=(30, 40))
    with pytest.raises(DataError, match=r"8x6 pixels and .*30x40|30x40 pixels and .*8x6"):
        cells(tmp_path, Preprocessing()).cell(CLEAN, 0, np.arange(4), 0)
    with pytest.raises(DataError, match=r"a/1.png"):
        cells(tmp_path, Preprocessing(crop=(99, 99))).cell(CLEAN, 0, np.arange(1), 0)


def test_a_full_cache_makes_the_same_images_anew(tmp_path: Path) -> None:
    source = cells(tmp_path)
    kept = CachedCells(source, most_bytes=2 * 20 * 20 * 3)
    for places in (np.arange(3), np.array([2, 1]), np.array([0, 2])):
        wanted = source.cell("fog", 2, places, 0)
        np.testing.assert_array_equal(kept.cell("fog", 2, places, 0), wanted)
    assert len(kept._kept) == 2
