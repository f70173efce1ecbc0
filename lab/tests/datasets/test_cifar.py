"""Each form in which CIFAR is kept gives the same images in the same order."""

import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leantta.data.datasets import Dataset
from leantta.errors import DataError, MissingFileError, SettingError
from leantta_lab.datasets.cifar import load_images
from leantta_lab.datasets.table import DATASETS

Splits = dict[str, tuple[np.ndarray, np.ndarray]]


def made(dataset: str) -> Splits:
    generator = np.random.default_rng(7)

    def split(count: int) -> tuple[np.ndarray, np.ndarray]:
        images = generator.integers(0, 256, (count, 32, 32, 3), dtype=np.uint8)
        return images, generator.integers(0, DATASETS[dataset].num_classes, count)

    return {"train": split(10), "test": split(3)}


def rows(images: np.ndarray) -> np.ndarray:
    """One colour plane after another, as the official files have them."""
    return np.stack([np.concatenate([image[:, :, c].ravel() for c in range(3)]) for image in images])


Content = dict[Any, Any]


def python2(path: Path, content: Content) -> None:
    """Write what Python 2 and the numpy of that time wrote, opcode by opcode: as the official files are."""

    def number(value: int) -> bytes:
        return b"J" + struct.pack("<i", value)

    def string(value: bytes) -> bytes:
        return b"T" + struct.pack("<i", len(value)) + value

    def array(value: np.ndarray) -> bytes:
        dtype = b"cnumpy\ndtype\n" + string(b"u1") + b"K\x00K\x01\x87R(K\x03" + string(b"|") + b"NNN"
        empty = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85" + string(b"b") + b"\x87R"
        shape = number(value.shape[0]) + number(value.shape[1]) + b"\x86"
        state = (
            b"(K\x01"
            + shape
            + dtype
            + number(-1)
            + number(-1)
            + b"K\x00tb\x89"
            + string(value.tobytes())
            + b"t"
        )
        return empty + state + b"b"

    def encoded(value: object) -> bytes:
        if isinstance(value, np.ndarray):
            return array(value)
        if isinstance(value, list):
            return b"]" + b"".join(encoded(item) + b"a" for item in value)
        return number(value) if isinstance(value, int) else string(bytes(value))  # type: ignore[call-overload]  # bytes

    pairs = b"".join(string(key) + encoded(value) + b"s" for key, value in content.items())
    path.write_bytes(b"\x80\x02}" + pairs + b".")


def python3(protocol: int) -> Callable[[Path, Content], None]:
    def write(path: Path, content: Content) -> None:
        path.write_bytes(pickle.dumps(content, protocol))

    return write


def batches(dataset: str, splits: Splits) -> list[tuple[str, np.ndarray, np.ndarray]]:
    if dataset == "cifar100":
        return [(split, *splits[split]) for split in ("train", "test")]
    images, labels = splits["train"]
    train = [(f"data_batch_{i + 1}", images[2 * i : 2 * i + 2], labels[2 * i : 2 * i + 2]) for i in range(5)]
    return [*train, ("test_batch", *splits["test"])]


def as_npz(folder: Path, dataset: str, splits: Splits) -> None:
    (x_train, y_train), (x_test, y_test) = splits["train"], splits["test"]
    np.savez(folder / f"{dataset}.npz", x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test)


def as_keras_npz(folder: Path, dataset: str, splits: Splits) -> None:
    as_npz(folder, dataset, {split: (images, labels[:, None]) for split, (images, labels) in splits.items()})


def as_binary(folder: Path, dataset: str, splits: Splits) -> None:
    for name, images, labels in batches(dataset, splits):
        columns = [labels[:, None], rows(images)]
        if dataset == "cifar100":
            columns.insert(0, labels[:, None] // 5)  # the coarse label comes first
        (folder / f"{name}.bin").write_bytes(np.concatenate(columns, axis=1).astype(np.uint8).tobytes())


def as_pickles(
    write: Callable[[Path, Content], None], key: Callable[[str], Any]
) -> Callable[[Path, str, Splits], None]:
    def save(folder: Path, dataset: str, splits: Splits) -> None:
        label_key = "fine_labels" if dataset == "cifar100" else "labels"
        for name, images, labels in batches(dataset, splits):
            content = {
                key("data"): rows(images),
                key(label_key): labels.tolist(),
                key("filenames"): [b"a.png"],
            }
            write(folder / name, content)

    return save


FORMS: dict[str, Callable[[Path, str, Splits], None]] = {
    "npz": as_npz,
    "npz with labels (n, 1)": as_keras_npz,
    "binary": as_binary,
    "python 2": as_pickles(python2, str.encode),
    "python 3, protocol 2": as_pickles(python3(2), str),
    "python 3, protocol 4": as_pickles(python3(4), str),
    "python 3, protocol 5": as_pickles(python3(5), str),
}


@pytest.mark.parametrize("inside", ["", "some-folder"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dataset", [name for name in DATASETS if name.startswith("cifar")])
def test_every_form_gives_the_same_images(dataset: str, form: str, inside: str, tmp_path: Path) -> None:
    splits = made(dataset)
    (tmp_path / inside).mkdir(exist_ok=True)
    FORMS[form](tmp_path / inside, dataset, splits)
    for split in ("train", "test"):
        loaded = load_images(tmp_path, dataset, split)
        np.testing.assert_array_equal(loaded.samples, splits[split][0])
        np.testing.assert_array_equal(loaded.labels, splits[split][1])
        assert loaded.samples.dtype == np.uint8
        assert loaded.labels.dtype == np.int64
        assert (loaded.name, loaded.split, loaded.classes) == (dataset, split, DATASETS[dataset].classes)
        assert len(loaded) == len(splits[split][1])


def test_a_file_is_loaded_by_its_own_name(tmp_path: Path) -> None:
    splits = made("cifar10")
    as_npz(tmp_path, "cifar10", splits)
    moved = (tmp_path / "cifar10.npz").rename(tmp_path / "mine.npz")
    np.testing.assert_array_equal(load_images(moved).samples, splits["test"][0])


def test_one_split_is_enough(tmp_path: Path) -> None:
    as_binary(tmp_path, "cifar10", made("cifar10"))
    for i in range(1, 6):
        (tmp_path / f"data_batch_{i}.bin").unlink()
    assert len(load_images(tmp_path)) == 3
    with pytest.raises(DataError, match=r"no cifar10 train images.*data_batch_1"):
        load_images(tmp_path, split="train")


def test_a_missing_batch_is_named(tmp_path: Path) -> None:
    as_binary(tmp_path, "cifar10", made("cifar10"))
    (tmp_path / "data_batch_3.bin").unlink()
    with pytest.raises(MissingFileError, match=r"data_batch_3\.bin"):
        load_images(tmp_path, split="train")


def test_unknown_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"no dataset is called 'cifar11'; known: .*cifar10, cifar100"):
        load_images(tmp_path, "cifar11")
    with pytest.raises(SettingError, match="unknown split 'validation'"):
        load_images(tmp_path, "cifar10", "validation")  # type: ignore[arg-type]  # what a command line may pass


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no cifar10 images at"):
        load_images(tmp_path / "absent")
    with pytest.raises(DataError, match=r"neither it nor a folder in it has .*download"):
        load_images(tmp_path)


def damaged_npz(folder: Path) -> None:
    as_npz(folder, "cifar10", made("cifar10"))
    path = folder / "cifar10.npz"
    path.write_bytes(path.read_bytes()[:-200])


def renamed_npz(folder: Path) -> None:
    np.savez(folder / "cifar10.npz", images=np.zeros(3), y_test=np.zeros(3))


def object_npz(folder: Path) -> None:
    np.savez(folder / "cifar10.npz", x_test=np.array([{}], dtype=object), y_test=np.zeros(1, dtype=int))


def other_size_npz(folder: Path) -> None:
    np.savez(folder / "cifar10.npz", x_test=np.zeros((2, 64, 64, 3), np.uint8), y_test=np.zeros(2, dtype=int))


def other_classes_npz(folder: Path) -> None:
    np.savez(folder / "cifar10.npz", x_test=np.zeros((2, 32, 32, 3), np.uint8), y_test=np.array([3, 10]))


def short_binary(folder: Path) -> None:
    (folder / "test_batch.bin").write_bytes(bytes(3073 * 2 - 1))


def empty_binary(folder: Path) -> None:
    (folder / "test_batch.bin").write_bytes(b"")


DAMAGES: dict[Callable[[Path], None], str] = {
    damaged_npz: "cannot read .* as .npz",
    renamed_npz: "has no array x_test; it has images, y_test",
    object_npz: "cannot read .* as .npz",
    other_size_npz: "images are 32 x 32",
    other_classes_npz: "label 1 is 10",
    short_binary: "6145 bytes are not records of 3073",
    empty_binary: "0 bytes are not records",
}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damage_is_explained(damage: Callable[[Path], None], tmp_path: Path) -> None:
    damage(tmp_path)
    with pytest.raises(DataError, match=DAMAGES[damage]):
        load_images(tmp_path)


def test_the_published_statistics() -> None:
    assert DATASETS["cifar10"].mean == (0.4914, 0.4822, 0.4465)
    assert DATASETS["cifar10"].std == (0.2471, 0.2435, 0.2616)
    assert DATASETS["cifar100"].mean == (0.5071, 0.4865, 0.4409)
    assert DATASETS["cifar100"].std == (0.2673, 0.2564, 0.2762)
    assert [info.num_classes for info in DATASETS.values()] == [10, 100, 1000, 6, 2, 2, 2, 2]
    assert all(len(set(info.classes)) == info.num_classes for info in DATASETS.values())


REAL = Path(__file__).resolve().parents[4] / "data" / "cifar10.npz"


@pytest.mark.skipif(not REAL.exists(), reason="CIFAR-10 is not on this machine")
def test_the_statistics_are_those_of_the_real_training_images() -> None:
    loaded: Dataset = load_images(REAL, "cifar10", "train")
    values = np.arange(256) / 255
    for channel in range(3):
        share = np.bincount(loaded.samples[..., channel].ravel(), minlength=256) / loaded.samples[..., 0].size
        mean = (share * values).sum()
        std = np.sqrt((share * (values - mean) ** 2).sum())
        assert mean == pytest.approx(DATASETS["cifar10"].mean[channel], abs=1e-4)
        assert std == pytest.approx(DATASETS["cifar10"].std[channel], abs=1e-4)
