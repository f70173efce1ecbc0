"""Image files of every kind we read, and the broken ones people have."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from leantta.data.imagefiles import SUFFIXES, find_images, read_batch, read_image, read_note, write_png
from leantta.errors import DataError, MissingFileError, StorageError

PICTURE = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_is_read(tmp_path: Path, suffix: str) -> None:
    smooth = np.broadcast_to(np.linspace(0, 250, 30).astype(np.uint8)[None, :, None], (20, 30, 3))
    file = tmp_path / f"a{suffix.upper()}"
    Image.fromarray(np.ascontiguousarray(smooth)).save(file)
    found = read_image(file)
    assert (found.shape, found.dtype) == ((20, 30, 3), np.dtype(np.uint8))
    assert np.abs(found.astype(int) - smooth).mean() < 6  # JPEG and WebP are lossy


@pytest.mark.parametrize("mode", ["L", "1", "P", "RGBA", "LA", "CMYK"])
def test_every_mode_becomes_rgb(tmp_path: Path, mode: str) -> None:
    file = tmp_path / ("a.jpg" if mode == "CMYK" else "a.png")
    Image.fromarray(PICTURE).convert(mode).save(file)
    assert read_image(file).shape == (20, 30, 3)


def test_photographs_are_turned_upright(tmp_path: Path) -> None:
    tags = Image.Exif()
    tags[0x0112] = 6  # the camera was held on its side
    Image.fromarray(PICTURE).save(tmp_path / "a.jpg", exif=tags)
    assert read_image(tmp_path / "a.jpg").shape == (30, 20, 3)


def test_folder_is_sorted_and_only_images_count(tmp_path: Path) -> None:
    for name in ("b.png", "a.JPG", "c.webp", ".hidden.png"):
        Image.fromarray(PICTURE).save(tmp_path / name)
    (tmp_path / "notes.txt").write_text("no image")
    (tmp_path / "folder.png").mkdir()
    assert [path.name for path in find_images(tmp_path)] == ["a.JPG", "b.png", "c.webp"]
    assert find_images(tmp_path / "b.png") == (tmp_path / "b.png",)


def test_nothing_to_find(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="nowhere"):
        find_images(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"no image in .* has 0 entries"):
        find_images(tmp_path)
    (tmp_path / "inner").mkdir()
    with pytest.raises(DataError, match="1 folders are not searched"):
        find_images(tmp_path)
    (tmp_path / "a.tiff").write_bytes(b"")
    with pytest.raises(DataError, match=r"a.tiff does not end like an image.*\.png"):
        find_images(tmp_path / "a.tiff")


def test_broken_files_are_named(tmp_path: Path) -> None:
    whole = tmp_path / "whole.png"
    Image.fromarray(PICTURE).save(whole)
    broken = {
        "text.png": b"hello, I am text",
        "empty.png": b"",
        "cut.png": whole.read_bytes()[:900],
        "header.png": whole.read_bytes()[:30],
    }
    Image.fromarray(PICTURE).save(tmp_path / "whole.jpg")
    broken["cut.jpg"] = (tmp_path / "whole.jpg").read_bytes()[:700]
    for name, data in broken.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(DataError, match=f"cannot read .*{name} as an image: .+Repair or remove it"):
            read_image(tmp_path / name)
    with pytest.raises(MissingFileError, match="gone"):
        read_image(tmp_path / "gone.png")


def test_every_damaged_byte_is_an_image_or_a_dataerror(tmp_path: Path) -> None:
    whole = tmp_path / "whole.png"
    Image.fromarray(PICTURE[:8, :8]).save(whole)
    data, file = whole.read_bytes(), tmp_path / "damaged.png"
    for place in range(len(data)):
        file.write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
        try:
            read_image(file)
        except DataError as e:
            assert "damaged.png" in str(e)  # noqa: PT017 - either outcome is right, another exception is not


def test_deep_and_giant_images_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.fromarray(np.zeros((20, 20), dtype=np.uint16)).save(tmp_path / "deep.png")
    with pytest.raises(DataError, match="more than 8 bits"):
        read_image(tmp_path / "deep.png")
    Image.fromarray(PICTURE).save(tmp_path / "giant.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 500)  # 600 pixels are then a giant
    with pytest.raises(DataError, match="giant"):
        read_image(tmp_path / "giant.png")


def test_batch_needs_one_size(tmp_path: Path) -> None:
    for name, image in {"a.png": PICTURE, "b.png": PICTURE[::-1], "c.png": PICTURE[:10]}.items():
        write_png(tmp_path / name, np.ascontiguousarray(image))
    np.testing.assert_array_equal(
        read_batch([tmp_path / "a.png", tmp_path / "b.png"]), [PICTURE, PICTURE[::-1]]
    )
    with pytest.raises(DataError, match=r"a.png is 30x20 and .*c.png is 30x10"):
        read_batch(find_images(tmp_path))
    with pytest.raises(DataError, match="no image to read"):
        read_batch([])


def test_png_round_trip_with_note(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "er" / "a.png"
    write_png(file, PICTURE, "fog, severity 3")
    np.testing.assert_array_equal(read_image(file), PICTURE)
    assert read_note(file) == "fog, severity 3"
    write_png(file, PICTURE)
    assert read_note(file) is None
    assert read_note(tmp_path / "gone.png") is None
    assert [path.name for path in file.parent.iterdir()] == ["a.png"]  # no temporary file is left


def test_unwritable_place_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StorageError, match="cannot write"):
        write_png(tmp_path / "file" / "a.png", PICTURE)
