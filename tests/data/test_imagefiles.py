"""Image files of every kind we read, and the broken ones people have."""

import contextlib
import io
import struct
import subprocess
import sys
import tracemalloc
import zlib
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from leantta.data.imagefiles import (
    SUFFIXES,
    begins_like_image,
    decode_image,
    read_batch,
    read_image,
    read_note,
    write_png,
)
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
        read_batch(sorted(tmp_path.iterdir()))
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


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def header(width: int, height: int, depth: int = 8, color: int = 2) -> bytes:
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0))


def png(*chunks: bytes) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks) + chunk(b"IEND", b"")


ROWS = zlib.compress(b"".join(b"\0" + row.tobytes() for row in PICTURE))
WHOLE = png(header(30, 20), chunk(b"IDAT", ROWS))


def test_the_reference_file_is_whole() -> None:
    np.testing.assert_array_equal(decode_image(WHOLE, "a.png"), PICTURE)


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n",
        WHOLE[:200],
        png(chunk(b"IDAT", ROWS)),
        png(header(30, 20)),
        png(header(0, 20), chunk(b"IDAT", ROWS)),
        png(header(30, 20, color=5), chunk(b"IDAT", ROWS)),
        png(chunk(b"IHDR", b"short")),
        png(header(30, 20), chunk(b"IDAT", b"no zlib")),
        png(header(1, 1, color=0), chunk(b"IDAT", zlib.compress(b"\x05\x00"))),
    ],
)
def test_damage_is_named(data: bytes) -> None:
    with pytest.raises(DataError, match=r"a\.png as an image: "):
        decode_image(data, "a.png")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_refused_in_words(data: bytes) -> None:
    with pytest.raises(DataError):
        decode_image(b"\x89PNG\r\n\x1a\n" + data, "a.png")


def test_grey_of_16_bits_is_refused_and_colours_of_16_bits_are_read() -> None:
    with pytest.raises(DataError, match="more than 8 bits"):
        decode_image(png(header(30, 20, depth=16, color=0), chunk(b"IDAT", ROWS)), "a.png")
    deep = zlib.compress(b"".join(b"\0" + row.astype(">u2").tobytes() for row in PICTURE * np.uint16(257)))
    found = decode_image(png(header(30, 20, depth=16), chunk(b"IDAT", deep)), "a.png")
    np.testing.assert_array_equal(found, PICTURE)


@pytest.mark.parametrize("order", ["big", "little"])
def test_a_png_is_turned_upright_too(order: Literal["big", "little"]) -> None:
    def exif(orientation: int) -> bytes:
        start = {"big": b"MM\0*\0\0\0\x08", "little": b"II*\0\x08\0\0\0"}[order]
        sizes = ((1, 2), (0x0112, 2), (3, 2), (1, 4), (orientation, 2), (0, 2), (0, 4))
        return start + b"".join(value.to_bytes(size, order) for value, size in sizes)

    def file(orientation: int) -> bytes:
        return png(header(30, 20), chunk(b"eXIf", exif(orientation)), chunk(b"IDAT", ROWS))

    np.testing.assert_array_equal(decode_image(file(6), "a.png"), np.rot90(PICTURE, -1))
    np.testing.assert_array_equal(decode_image(file(1), "a.png"), PICTURE)


@pytest.mark.parametrize("size", [(9_600, 9_600), (20_000, 20_000), (2**31 - 1, 2**31 - 1), (1, 70_000)])
def test_giants_are_refused_before_they_are_decoded(tmp_path: Path, size: tuple[int, int]) -> None:
    """A file of a few bytes says that it has so many pixels."""
    (tmp_path / "giant.png").write_bytes(png(header(*size), chunk(b"IDAT", zlib.compress(bytes(100)))))
    with pytest.raises(DataError, match=r"giant\.png is .*too large.*Scale it down"):
        read_image(tmp_path / "giant.png")


def test_bombs_do_not_go_off() -> None:
    bomb = zlib.compress(bytes(200_000_000), 9)
    file = png(header(30, 20), chunk(b"tEXt", bytes(10_000_000)), chunk(b"IDAT", bomb))
    tracemalloc.start()
    with contextlib.suppress(DataError):
        decode_image(file, "a.png")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * len(file) + 2_000_000


@pytest.mark.parametrize("kind", ["EPS", "GIF", "TIFF", "PPM"])
def test_other_formats_are_never_opened(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An EPS would start Ghostscript on what it holds."""
    Image.fromarray(PICTURE).save(tmp_path / "picture.png", kind)
    Image.init()
    monkeypatch.setitem(Image.OPEN, kind, (lambda *_: pytest.fail("it was opened"), None))
    with pytest.raises(DataError, match="it is none that we know"):
        read_image(tmp_path / "picture.png")
    assert read_note(tmp_path / "picture.png") is None


def test_a_real_giant_is_refused(tmp_path: Path) -> None:
    Image.new("1", (20_000, 20_000)).save(tmp_path / "giant.png")
    with pytest.raises(DataError, match="too large"):
        read_image(tmp_path / "giant.png")


def test_paths_that_no_file_system_takes(tmp_path: Path) -> None:
    for name in ("x" * 5_000, "a\0b"):
        with pytest.raises((DataError, MissingFileError)):
            read_image(tmp_path / name)


def test_importing_needs_no_pillow() -> None:
    code = "import sys, leantta.data.imagefiles; sys.exit('PIL' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
