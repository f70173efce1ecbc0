"""Image files of every kind we read, and the broken ones people have."""

import io
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from leantta.data.imagefiles import (
    SUFFIXES,
    begins_like_image,
    decode_image,
    find_images,
    read_batch,
    read_image,
    read_note,
    write_png,
)
from leantta.errors import DataError, MissingExtraError, MissingFileError, StorageError

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


@pytest.fixture
def without_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that has numpy only."""
    monkeypatch.setitem(sys.modules, "PIL", None)


@pytest.mark.parametrize("mode", ["L", "1", "P", "RGB", "RGBA", "LA"])
def test_png_is_the_same_with_and_without_pillow(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.png"
    Image.fromarray(PICTURE).convert(mode).save(file)
    with_it = read_image(file)
    monkeypatch.setitem(sys.modules, "PIL", None)
    np.testing.assert_array_equal(read_image(file), with_it)
    np.testing.assert_array_equal(decode_image(file.read_bytes(), "stdin"), with_it)


def test_other_formats_name_what_reads_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.fromarray(PICTURE).save(tmp_path / "a.jpg")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtraError, match=r"a\.jpg is not a PNG.*pip install 'leantta\[images\]'"):
        read_image(tmp_path / "a.jpg")


@pytest.mark.usefixtures("without_pillow")
def test_damage_is_named_without_pillow_too(tmp_path: Path) -> None:
    (tmp_path / "empty.png").write_bytes(b"")
    with pytest.raises(DataError, match=r"empty\.png as an image: the file is empty"):
        read_image(tmp_path / "empty.png")
    (tmp_path / "cut.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    with pytest.raises(DataError, match=r"cut\.png as an image: it is cut off"):
        read_image(tmp_path / "cut.png")


def test_bytes_are_an_image_too() -> None:
    stream = io.BytesIO()
    Image.fromarray(PICTURE).save(stream, "BMP")
    np.testing.assert_array_equal(decode_image(stream.getvalue(), "stdin"), PICTURE)
    with pytest.raises(DataError, match="cannot read stdin as an image: it is none that we know"):
        decode_image(b"hello", "stdin")
    with pytest.raises(DataError, match="stdin as an image: the file is empty"):
        decode_image(b"", "stdin")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "BMP", "WEBP"])
def test_images_are_known_by_their_first_bytes(kind: str) -> None:
    stream = io.BytesIO()
    Image.fromarray(PICTURE).save(stream, kind)
    assert begins_like_image(stream.getvalue())


@pytest.mark.parametrize("text", [b"", b"BMW.png\nRIFF.png\n", b"RIFF.webp\nfolder/a.png\n", b"photos/a.png"])
def test_lists_of_paths_are_no_images(text: bytes) -> None:
    assert not begins_like_image(text)


def giant_png(size: int) -> bytes:
    """A file of a few bytes that says it has size x size pixels."""
    head = b"IHDR" + struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    body = b"IDAT" + zlib.compress(bytes(100))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(part) - 4) + part + struct.pack(">I", zlib.crc32(part))
        for part in (head, body, b"IEND")
    )


@pytest.mark.parametrize("size", [9_600, 20_000, 2**31 - 1])
def test_giants_are_refused_before_they_are_decoded(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "giant.png").write_bytes(giant_png(size))
    with pytest.raises(DataError, match=r"giant\.png is .*too large.*Scale it down"):
        read_image(tmp_path / "giant.png")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(DataError, match=rf"giant\.png is {size}x{size} pixels, which is too large"):
        read_image(tmp_path / "giant.png")


def test_a_real_giant_is_refused(tmp_path: Path) -> None:
    Image.new("1", (20_000, 20_000)).save(tmp_path / "giant.png")
    with pytest.raises(DataError, match="too large"):
        read_image(tmp_path / "giant.png")


def test_paths_that_no_file_system_takes(tmp_path: Path) -> None:
    for name in ("x" * 5_000, "a\0b"):
        with pytest.raises((DataError, MissingFileError)):
            find_images(tmp_path / name)
        with pytest.raises((DataError, MissingFileError)):
            read_image(tmp_path / name)


def test_importing_needs_no_pillow() -> None:
    code = "import sys, leantta.data.imagefiles; sys.exit('PIL' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
