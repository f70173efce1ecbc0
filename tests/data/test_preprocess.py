"""Preprocessing against what torchvision and timm made, by its properties, and with bad descriptions.

`lab/benchmarks/preprocessing_references.py` says how the stored pixels were made.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantta.data.preprocess import (
    MAX_SIZE,
    Preprocessing,
    fitted,
    read_preprocessing,
)
from leantta.data.resize import luminance
from leantta.data.words import COLOURS, INTERPOLATIONS, SIDES
from leantta.errors import DataError, MissingFileError, SettingError

Array = np.ndarray[Any, np.dtype[Any]]
REFERENCES = Path(__file__).parent / "references" / "preprocessing.npz"


def references() -> Iterator[Any]:
    with np.load(REFERENCES) as stored:
        for case in json.loads(str(stored["cases"])):
            number = case["source"]
            name = f"{case['maker']}-{number}-{json.dumps(case['how'])}"
            wanted = stored[f"wanted{number}_{case['case']}"]
            yield pytest.param(stored[f"source{number}"], case["how"], wanted, id=name)


def picture(height: int, width: int) -> Array:
    return np.random.default_rng(height * width).integers(0, 256, (height, width, 3), dtype=np.uint8)


@pytest.mark.parametrize(("image", "told", "wanted"), list(references()))
def test_pixels_are_those_of_torchvision_and_timm(image: Array, told: dict[str, Any], wanted: Array) -> None:
    how = Preprocessing.from_json(told)
    found = fitted(image, how)
    assert found.shape == wanted.shape
    assert np.abs(found.astype(int) - wanted).max() <= 1
    if how.size is not None:
        assert found.shape[:2] == how.size


def test_a_filter_or_a_place_that_is_wrong_differs_by_more() -> None:
    """The comparison above can fail."""
    with np.load(REFERENCES) as stored:
        image = stored["source0"]
    usual = Preprocessing(resize=36, crop=(32, 32))
    for other in (
        Preprocessing(resize=36, crop=(32, 32), interpolation="bicubic"),
        Preprocessing(resize=37, crop=(32, 32)),
        Preprocessing(resize=(36, 36), crop=(32, 32)),
        Preprocessing(resize=36, side="long", pad=(32, 32), crop=(32, 32)),
    ):
        assert np.abs(fitted(image, usual).astype(int) - fitted(image, other)).max() > 1


sizes = st.tuples(st.integers(1, 40), st.integers(1, 40))


@st.composite
def descriptions(draw: st.DrawFn) -> Preprocessing:
    colours = draw(st.sampled_from(COLOURS))
    count = 1 if colours == "grey" else 3
    known = draw(st.booleans())
    unit = st.lists(st.floats(0, 1), min_size=count, max_size=count).map(tuple)
    crop = draw(st.none() | sizes)
    return Preprocessing(
        resize=draw(st.none() | st.integers(1, 40) | sizes),
        side=draw(st.sampled_from(SIDES)),
        interpolation=draw(st.sampled_from(INTERPOLATIONS)),
        pad=(40, 40) if crop else draw(st.none() | sizes),
        fill=draw(st.integers(0, 255) | st.tuples(*[st.integers(0, 255)] * 3)),
        crop=crop,
        colours=colours,
        mean=draw(unit) if known else None,
        std=draw(unit.map(lambda many: tuple(each + 1e-3 - each * 1e-3 for each in many))) if known else None,
    )


@settings(max_examples=150, deadline=None)
@given(how=descriptions(), old=sizes)
def test_what_comes_out_is_what_was_said(how: Preprocessing, old: tuple[int, int]) -> None:
    found = fitted(picture(*old), how)
    assert found.dtype == np.uint8
    assert found.shape[2] == how.channels
    assert how.size is None or found.shape[:2] == how.size
    assert Preprocessing.from_json(json.loads(json.dumps(how.to_json()))) == how
    assert how.described()


def test_colours_come_in_the_order_of_the_model() -> None:
    image = picture(5, 7)
    np.testing.assert_array_equal(fitted(image, Preprocessing()), image)
    np.testing.assert_array_equal(fitted(image, Preprocessing(colours="bgr")), image[..., ::-1])
    np.testing.assert_array_equal(fitted(image, Preprocessing(colours="grey")), luminance(image))


def test_what_is_padded_lies_in_the_middle() -> None:
    image = picture(3, 4)
    found = fitted(image, Preprocessing(pad=(6, 8), fill=(1, 2, 3), colours="bgr"))
    np.testing.assert_array_equal(found[1:4, 2:6], image[..., ::-1])
    found[1:4, 2:6] = (3, 2, 1)  # the fill is red, green, blue; what comes out is blue first
    assert (found == (3, 2, 1)).all()


BAD = {
    "zero": ({"resize": 0}, "resize .* from 1"),
    "three sizes": ({"resize": [1, 2, 3]}, "resize"),
    "true": ({"crop": True}, "crop"),
    "fraction": ({"pad": 1.5}, "pad"),
    "far too large": ({"resize": MAX_SIZE + 1}, "resize"),
    "text": ({"crop": "224"}, "crop"),
    "crop of more": ({"resize": 200, "crop": 224}, "crop 224 x 224 is larger"),
    "crop of more, exact": ({"resize": [256, 200], "crop": 224}, "crop 224 x 224 is larger"),
    "crop of a short side": ({"resize": 300, "side": "long", "crop": 224}, "crop 224 x 224 is larger"),
    "interpolation": ({"interpolation": "cubic"}, "known: nearest"),
    "colours": ({"colours": "hsv"}, "known: rgb"),
    "side": ({"side": "left"}, "known: short"),
    "list": ({"colours": ["rgb"]}, "known: rgb"),
    "null": ({"interpolation": None}, "known: nearest"),
    "unknown key": ({"color": "rgb"}, "unknown key 'color'.*Known: resize"),
    "fill": ({"fill": 256}, "fill"),
    "two fills": ({"fill": [1, 2]}, "fill"),
    "no std": ({"mean": [0.5] * 3}, "std is missing"),
    "two means": ({"mean": [0.5] * 2, "std": [0.5] * 3}, "mean .* 3 channels"),
    "no mean": ({"mean": [], "std": []}, "mean .* 3 channels"),
    "grey": ({"colours": "grey", "mean": [0.5] * 3, "std": [0.5] * 3}, "1 channel"),
    "text for mean": ({"mean": "0.5", "std": [0.5] * 3}, "mean"),
    "infinite": ({"mean": [float("inf")] * 3, "std": [1] * 3}, "mean"),
    "beyond floats": ({"mean": [10**400] * 3, "std": [1] * 3}, "mean"),
    "zero std": ({"mean": [0.5] * 3, "std": [0.1, 0.0, 0.1]}, "std .* above 0"),
    "negative": ({"mean": [-0.5] * 3, "std": [0.5] * 3}, "mean .* below 0"),
    "of 0 to 255": (
        {"mean": [123.675, 116.28, 103.53], "std": [58.395, 57.12, 57.375]},
        r"between 0 and 1.*Divide both by 255, here 0\.485,0\.456,0\.406",
    ),
    "std of 0 to 255": ({"mean": [0, 0, 0], "std": [58.395, 57.12, 57.375]}, "Divide both by 255"),
}


@pytest.mark.parametrize(("told", "says"), BAD.values(), ids=BAD)
def test_what_cannot_be_is_said_in_a_line(told: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=says) as raised:
        Preprocessing.from_json(told)
    assert "\n" not in str(raised.value)
    file = tmp_path / "how.json"
    file.write_text(json.dumps(told))
    with pytest.raises(SettingError, match=r"how\.json"):
        read_preprocessing(file)


@pytest.mark.parametrize("text", ["", "{", "[1]", "3", '"x"', "\x00", "[" * 10_000])
def test_a_file_that_holds_none_is_named(text: str, tmp_path: Path) -> None:
    file = tmp_path / "how.json"
    file.write_text(text)
    with pytest.raises(SettingError, match=r"how\.json"):
        read_preprocessing(file)
    with pytest.raises(MissingFileError):
        read_preprocessing(tmp_path / "none.json")


def test_one_number_means_a_square(tmp_path: Path) -> None:
    file = tmp_path / "how.json"
    file.write_text('{"resize": 40, "crop": 32, "pad": 33}')
    assert read_preprocessing(file) == Preprocessing(resize=40, crop=(32, 32), pad=(33, 33))


@pytest.mark.parametrize(
    "image",
    [
        np.zeros((4, 4), np.uint8),
        np.zeros((4, 4, 1), np.uint8),
        np.zeros((0, 4, 3), np.uint8),
        np.zeros((4, 4, 3)),
    ],
)
def test_what_is_no_image_is_refused(image: Array) -> None:
    with pytest.raises(DataError, match="an image is uint8"):
        fitted(image, Preprocessing(resize=8))


def test_images_that_cannot_be_fitted_are_refused() -> None:
    with pytest.raises(DataError, match="cut out of an image of 8 x 9"):
        fitted(picture(8, 9), Preprocessing(crop=(9, 9)))
    with pytest.raises(DataError, match="would become 5120000 x 256"):  # not made: 3.8 GB
        fitted(np.zeros((20_000, 1, 3), np.uint8), Preprocessing(resize=256, crop=(224, 224)))
