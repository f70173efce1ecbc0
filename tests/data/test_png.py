"""Our own PNG decoder against Pillow, and against files that are damaged or mean harm."""

import io
import struct
import time
import tracemalloc
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from leantta.data.png import SIGNATURE, read_png
from leantta.errors import DataError, LeanTTAError, MissingExtraError

Array = np.ndarray[Any, np.dtype[Any]]
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
PICTURE = np.random.default_rng(0).integers(0, 256, (12, 17, 3), dtype=np.uint8)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def header(width: int, height: int, depth: int, color: int, interlaced: int = 0) -> bytes:
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlaced))


def png(*chunks: bytes) -> bytes:
    return SIGNATURE + b"".join(chunks) + chunk(b"IEND", b"")


def packed(rows: Array, filters: Array, level: int = 6) -> bytes:
    """Rows of bytes, filtered or not yet, each behind the number of its filter."""
    return zlib.compress(np.concatenate([filters[:, None], rows], axis=1).tobytes(), level)


def decoded(data: bytes) -> Array:
    return read_png(io.BytesIO(data), "a.png")


def by_pillow(data: bytes) -> Array:
    with Image.open(io.BytesIO(data)) as image:
        return np.array(image.convert("RGB"))


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Any PNG that we read: random bytes under random filters are a picture too."""
    color = draw(st.sampled_from(list(CHANNELS)))
    depth = draw(st.sampled_from([1, 2, 4, 8])) if color in (0, 3) else 8
    width, height = draw(st.integers(1, 20)), draw(st.integers(1, 20))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    length = (width * depth * CHANNELS[color] + 7) // 8
    filters = np.array(draw(st.lists(st.integers(0, 4), min_size=height, max_size=height)), np.uint8)
    rows = random.integers(0, 256, (height, length), dtype=np.uint8)
    data = packed(rows, filters)
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=3)))
    pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    palette = random.integers(0, 256, 3 * 2**depth, dtype=np.uint8).tobytes()
    before = [chunk(b"PLTE", palette)] if color == 3 else []
    if draw(st.booleans()):
        before.append(chunk(b"tEXt", b"Comment\0no part of the picture"))
    return png(header(width, height, depth, color), *before, *(chunk(b"IDAT", piece) for piece in pieces))


@settings(max_examples=300, deadline=None)
@given(files())
def test_any_file_is_read_as_pillow_reads_it(data: bytes) -> None:
    np.testing.assert_array_equal(decoded(data), by_pillow(data))


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 1), (33, 64)])
def test_what_pillow_writes_is_read(mode: str, shape: tuple[int, int]) -> None:
    smooth = np.add.outer(np.arange(shape[0]) * 3, np.arange(shape[1]) * 2).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(np.dstack([smooth, smooth[::-1], smooth.T.reshape(shape)])).convert(mode).save(
        stream, "PNG", optimize=True
    )
    found = decoded(stream.getvalue())
    assert found.dtype == np.uint8
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, by_pillow(stream.getvalue()))


@pytest.mark.parametrize("kind", [3, 4])
def test_a_screen_full_takes_less_than_two_seconds(kind: int) -> None:
    rows = np.random.default_rng(0).integers(0, 256, (1080, 1920 * 3), dtype=np.uint8)
    data = packed(rows, np.full(1080, kind, np.uint8), level=1)
    file = png(header(1920, 1080, 8, 2), chunk(b"IDAT", data))
    started = time.process_time()
    found = decoded(file)
    assert time.process_time() - started < 2
    np.testing.assert_array_equal(found, by_pillow(file))


ROWS = packed(PICTURE.reshape(12, 51), np.zeros(12, np.uint8))
WHOLE = png(header(17, 12, 8, 2), chunk(b"IDAT", ROWS))


def test_the_reference_file_is_whole() -> None:
    np.testing.assert_array_equal(decoded(WHOLE), PICTURE)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "does not begin like a PNG"),
        (SIGNATURE, "cut off"),
        (WHOLE[:200], "cut off"),
        (WHOLE[:-12], "cut off"),
        (WHOLE[:-2], "cut off"),
        (png(chunk(b"IDAT", ROWS)), "header is missing"),
        (png(header(17, 12, 8, 2), header(17, 12, 8, 2)), "two headers"),
        (png(header(17, 12, 8, 2)), "cut off"),
        (png(header(17, 13, 8, 2), chunk(b"IDAT", ROWS)), "cut off"),
        (png(header(17, 11, 8, 2), chunk(b"IDAT", ROWS)), "more pixels"),
        (png(header(0, 12, 8, 2), chunk(b"IDAT", ROWS)), "header is wrong"),
        (png(header(17, 12, 4, 2), chunk(b"IDAT", ROWS)), "header is wrong"),
        (png(header(17, 12, 8, 5), chunk(b"IDAT", ROWS)), "header is wrong"),
        (png(chunk(b"IHDR", b"short")), "as an image: "),
        (png(header(51, 12, 8, 3), chunk(b"IDAT", ROWS)), "palette is missing"),
        (png(header(17, 12, 8, 2), chunk(b"ABCD", b""), chunk(b"IDAT", ROWS)), "unknown kind b'ABCD'"),
        (png(header(17, 12, 8, 2), chunk(b"IDAT", b"no zlib")), "as an image: "),
        (png(header(1, 1, 8, 0), chunk(b"IDAT", zlib.compress(b"\x05\x00"))), "unknown filter"),
        (WHOLE.replace(ROWS[:20], ROWS[:10] + bytes(10)), "as an image: "),
        (WHOLE[:-16] + b"\0\0\0\0" + WHOLE[-12:], "checksum is wrong in its part IDAT"),
    ],
)
def test_damage_is_named(data: bytes, says: str) -> None:
    with pytest.raises(DataError, match=f"a.png .*{says}"):
        decoded(data)


@settings(max_examples=300, deadline=None)
@given(place=st.integers(0, len(WHOLE) - 1), value=st.integers(0, 255))
def test_any_damaged_byte_is_found_or_harmless(place: int, value: int) -> None:
    data = WHOLE[:place] + bytes([value]) + WHOLE[place + 1 :]
    try:
        found = decoded(data)
    except LeanTTAError as e:
        assert "a.png" in str(e)  # noqa: PT017 - either outcome is right, another exception is not
    else:
        np.testing.assert_array_equal(found, PICTURE)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_refused_in_words(data: bytes) -> None:
    with pytest.raises(DataError):
        decoded(SIGNATURE + data)


@pytest.mark.parametrize(
    ("start", "says"),
    [(header(17, 12, 16, 2), "16 bits per value"), (header(17, 12, 8, 2, interlaced=1), "is interlaced")],
)
def test_rare_kinds_name_what_reads_them(start: bytes, says: str) -> None:
    with pytest.raises(MissingExtraError, match=rf"a.png .*{says}.*pip install 'leantta\[images\]'"):
        decoded(png(start, chunk(b"IDAT", ROWS)))


@pytest.mark.parametrize("order", ["big", "little"])
def test_pictures_to_be_turned_are_left_to_pillow(order: Any) -> None:
    def exif(orientation: int) -> bytes:
        start = {"big": b"MM\0*\0\0\0\x08", "little": b"II*\0\x08\0\0\0"}[order]
        sizes = ((1, 2), (0x0112, 2), (3, 2), (1, 4), (orientation, 2), (0, 2), (0, 4))
        return start + b"".join(value.to_bytes(size, order) for value, size in sizes)

    def file(orientation: int) -> bytes:
        return png(header(17, 12, 8, 2), chunk(b"eXIf", exif(orientation)), chunk(b"IDAT", ROWS))

    with Image.open(io.BytesIO(file(6))) as image:
        assert image.getexif()[0x0112] == 6  # the tag is where Pillow finds it
    with pytest.raises(MissingExtraError, match="how the camera was held"):
        decoded(file(6))
    np.testing.assert_array_equal(decoded(file(1)), PICTURE)


def test_16_bits_of_grey_are_refused_as_with_pillow() -> None:
    with pytest.raises(DataError, match="more than 8 bits"):
        decoded(png(header(17, 12, 16, 0), chunk(b"IDAT", ROWS)))


@pytest.mark.parametrize("size", [(20_000, 20_000), (2**31 - 1, 1), (1, 70_000)])
def test_giants_are_refused_before_they_are_decoded(size: tuple[int, int]) -> None:
    with pytest.raises(DataError, match=rf"a.png is {size[0]}x{size[1]} pixels, which is too large"):
        decoded(png(header(*size, 8, 2), chunk(b"IDAT", ROWS)))


def test_bombs_do_not_go_off() -> None:
    bomb = zlib.compress(bytes(200_000_000), 9)
    file = png(header(17, 12, 8, 2), chunk(b"tEXt", bytes(10_000_000)), chunk(b"IDAT", bomb))
    tracemalloc.start()
    with pytest.raises(DataError, match="more pixels"):
        decoded(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < len(file) + 2_000_000  # the stream of the test holds the file itself
