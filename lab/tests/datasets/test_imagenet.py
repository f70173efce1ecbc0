"""A sample of ImageNet: which photographs are of which split, and how they are cut."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from leantta.errors import DataError, MissingFileError, SettingError
from leantta.export.request import READERS, Request
from leantta.modalities.datasets import dataset_info, load_data
from leantta.progress import silent
from leantta_lab.datasets import imagenet
from leantta_lab.datasets.imagenet import is_sample, load_photographs

CLASSES = (0, 1, 2, 6, 7, 12, 14, 996, 997, 999)


def photograph(number: int, width: int = 288, height: int = 256) -> Image.Image:
    """One whose red is its class, whose green is its column and whose blue is its row."""
    rows, columns = np.indices((height, width)) % 256
    return Image.fromarray(np.stack([np.full_like(rows, number % 256), columns, rows], 2).astype(np.uint8))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in CLASSES:
        photograph(number).save(tmp_path / f"{number:03}_thing.png")
    (tmp_path / "notes.txt").write_text("not an image")
    return tmp_path


def test_every_photograph_is_in_one_split_by_its_class(folder: Path) -> None:
    test, train = (load_data(folder, "imagenet", split) for split in ("test", "train"))
    assert sorted(test.labels) == [2, 6, 7, 12, 996, 997]
    assert sorted(train.labels) == [0, 1, 14, 999]
    for data in (test, train):
        assert data.samples.shape == (len(data), 224, 224, 3)
        assert data.samples.dtype == np.uint8
        np.testing.assert_array_equal(data.samples[:, 0, 0, 0], data.labels % 256)
    assert test.classes[996] == "996"
    again = load_photographs(folder)
    np.testing.assert_array_equal(again.labels, test.labels)
    assert list(test.labels) != sorted(test.labels)


def test_two_fifths_of_every_second_class_are_for_testing() -> None:
    for numbers in (range(1000), range(0, 1000, 2)):
        assert sum(map(imagenet.is_test, numbers)) == 0.4 * len(numbers)


def test_the_centre_is_kept(folder: Path) -> None:
    first = load_photographs(folder).samples[0]
    assert first[0, 0, 1:].tolist() == [32, 16]  # column and row of the first pixel
    assert first[-1, -1, 1:].tolist() == [255, 239]


def test_larger_photographs_are_shrunk_first(tmp_path: Path) -> None:
    Image.new("RGB", (1024, 512), (9, 9, 9)).save(tmp_path / "002_wide.png")
    middle = Image.new("RGB", (512, 1024), (255, 255, 255))
    middle.paste((0, 0, 0), (32, 288, 480, 736))  # 224 x 224 at half the size, in the centre
    middle.save(tmp_path / "003_tall.png")
    data = load_photographs(tmp_path)
    assert data.samples[data.labels == 3].mean() < 2
    assert (data.samples[data.labels == 2] == 9).all()


@pytest.mark.parametrize(
    ("name", "size", "says"),
    [
        ("cat.png", (256, 256), "does not begin with a class"),
        ("1000_cat.png", (256, 256), "does not begin with a class"),
        ("-02_cat.png", (256, 256), "does not begin with a class"),
        ("002_cat.png", (223, 256), "224 are needed"),
        ("000_cat.png", (256, 256), "has a class to test with"),
    ],
)
def test_what_cannot_be_used_is_refused(tmp_path: Path, name: str, size: tuple[int, int], says: str) -> None:
    Image.new("RGB", size).save(tmp_path / name)
    with pytest.raises(DataError, match=says):
        load_photographs(tmp_path)


def test_too_many_are_refused_before_they_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imagenet, "MOST", 5)
    with pytest.raises(DataError, match="6 photographs to test with; give at most 5"):
        load_photographs(folder)


def test_bad_settings_are_refused(folder: Path) -> None:
    with pytest.raises(SettingError, match="unknown split 'all'"):
        load_photographs(folder, split="all")  # type: ignore[arg-type] # what a caller may pass
    with pytest.raises(SettingError, match="cifar10 has no photographs"):
        load_photographs(folder, "cifar10")
    with pytest.raises(MissingFileError):
        load_photographs(folder / "nowhere")


def test_a_folder_is_the_dataset_if_all_names_begin_with_a_class(folder: Path) -> None:
    assert is_sample(folder)
    assert dataset_info("imagenet").is_folder(folder)
    assert not dataset_info("cifar10").is_folder(folder)
    photograph(0).save(folder / "cat.png")
    assert not is_sample(folder)


def test_images_are_normalised_as_the_public_network_takes_them() -> None:
    info = dataset_info("imagenet")
    for byte in (0, 127, 255):
        assert (byte / 255 - info.mean[0]) / info.std[0] == pytest.approx((byte - 127) / 128)


def test_convert_calibrates_on_one_split_and_tests_on_the_other(folder: Path) -> None:
    request = Request(
        model="efficientnet_lite0", calibration=folder, output=folder / "out.onnx", dataset="imagenet"
    )
    source = READERS["images"](request, lambda _: silent)
    np.testing.assert_array_equal(source.inputs, load_photographs(folder, split="train").samples)
    assert source.labelled is not None
    assert sorted(source.labelled.labels) == [2, 6, 7, 12, 996, 997]
    assert source.mean == dataset_info("imagenet").mean
    photograph(0).save(folder / "cat.png")  # now it is just a folder of images
    plain = READERS["images"](request, lambda _: silent)
    assert plain.labelled is None
    assert plain.inputs.shape == (len(CLASSES) + 1, 224, 224, 3)
