"""PNG files as pixels with numpy and zlib alone, for devices without Pillow.

Reads 8 bits per value (grey, RGB, either with transparency, which is dropped), and grey or a palette of 1, 2,
4 or 8 bits. The rest - 16 bits, interlaced files, pictures to be turned - is left to Pillow.

A filtered byte is a value less a guess from its neighbours: left `a`, above `b`, above left `c`. Guesses from
`a` and `b` alone are sums along rows and columns. The others need each value before the next, so the image is
walked along its anti-diagonals: all pixels with the same x + y depend only on the two diagonals before.
"""

import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from leantta.errors import DataError, MissingExtraError

Pixels = npt.NDArray[np.uint8]

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MAX_PIXELS = 89_478_485
"""More pixels than that are taken for an attack, as Pillow takes them."""
MAX_EDGE = 65_535

_GREY, _RGB, _PALETTE, _GREY_ALPHA, _RGBA = 0, 2, 3, 4, 6
_CHANNELS = {_GREY: 1, _RGB: 3, _PALETTE: 1, _GREY_ALPHA: 2, _RGBA: 4}
_DEPTHS = {_GREY: (1, 2, 4, 8, 16), _PALETTE: (1, 2, 4, 8)}
_PIECE_BYTES = 65_536
_SUB, _UP, _AVERAGE, _PAETH = 1, 2, 3, 4
_TURNED = re.compile(  # the Exif tag of the orientation, other than upright, in either byte order
    rb"\x01\x12\0\x03\0\0\0\x01\0[\x02-\x08]|\x12\x01\x03\0\x01\0\0\0[\x02-\x08]\0"
)


@dataclass(frozen=True)
class _Header:
    width: int
    height: int
    depth: int
    color: int

    @property
    def bits(self) -> int:
        """Bits of a pixel."""
        return self.depth * _CHANNELS[self.color]

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        return (self.width * self.bits + 7) // 8


def check_size(width: int, height: int, name: str) -> None:
    """Look at the size of an image before it is decoded.

    Raises:
        DataError: it is larger than any that is meant well.
    """
    if width * height > MAX_PIXELS or max(width, height) > MAX_EDGE:
        raise DataError(
            f"{name} is {width}x{height} pixels, which is too large: at most {MAX_PIXELS:,} pixels and "
            f"{MAX_EDGE:,} to a side. Scale it down first."
        )


def read_png(file: BinaryIO, name: str) -> Pixels:
    """Return the image in a PNG file as RGB bytes (height, width, 3); `name` is for messages.

    Raises:
        DataError: the file is damaged or cut off, is no PNG, or is too large.
        MissingExtraError: it is of a kind that needs Pillow.
    """
    try:
        return _decode(file, name)
    except (_DamagedError, struct.error, zlib.error, OSError) as e:
        raise DataError(f"cannot read {name} as an image: {e}. Repair or remove it.") from e


class _DamagedError(Exception):
    pass


def _decode(file: BinaryIO, name: str) -> Pixels:
    if file.read(len(SIGNATURE)) != SIGNATURE:
        raise _DamagedError("it does not begin like a PNG")
    header: _Header | None = None
    palette: bytes | None = None
    unpacker, rows = zlib.decompressobj(), bytearray()
    while True:
        kind, pieces = _chunk(file)
        if header is None and kind != b"IHDR":
            raise _DamagedError("its header is missing")
        if kind == b"IHDR":
            if header is not None:
                raise _DamagedError("it has two headers")
            header = _header(_whole(pieces, 13), name)
        elif kind == b"PLTE":
            palette = _whole(pieces, 768)
        elif kind == b"IDAT":
            assert header is not None  # as the first chunk was IHDR
            _unpack(unpacker, pieces, rows, header.height * (1 + header.row_bytes))
        elif kind == b"eXIf":
            if _TURNED.search(_whole(pieces, 1_048_576)):
                raise needs_pillow(name, "notes how the camera was held")
        elif kind != b"IEND" and not kind[0] & 32:
            raise _DamagedError(f"it has a necessary part of the unknown kind {kind!r}")
        for _ in pieces:  # the rest of the chunk, up to its checksum
            pass
        if kind == b"IEND":
            break
    assert header is not None  # as the first chunk was IHDR
    if len(rows) != header.height * (1 + header.row_bytes):
        raise _DamagedError("it is cut off")
    return _colors(rows, header, palette)


def _chunk(file: BinaryIO) -> tuple[bytes, Iterator[bytes]]:
    """Return the kind of the next chunk and what is in it, piece by piece; the last piece checks the sum."""
    head = file.read(8)
    if len(head) != 8:
        raise _DamagedError("it is cut off")
    length, kind = struct.unpack(">I4s", head)

    def pieces() -> Iterator[bytes]:
        left, checksum = length, zlib.crc32(kind)
        while left:
            piece = file.read(min(left, _PIECE_BYTES))
            if not piece:
                raise _DamagedError("it is cut off")
            left -= len(piece)
            checksum = zlib.crc32(piece, checksum)
            yield piece
        stated = file.read(4)
        if len(stated) != 4:
            raise _DamagedError("it is cut off")
        if stated != checksum.to_bytes(4, "big"):
            raise _DamagedError(f"a checksum is wrong in its part {kind.decode('latin-1')}")

    return kind, pieces()


def _whole(pieces: Iterator[bytes], limit: int) -> bytes:
    found = bytearray()
    for piece in pieces:
        found += piece
        if len(found) > limit:
            raise _DamagedError("a part is longer than it can be")
    return bytes(found)


def _unpack(unpacker: "zlib._Decompress", pieces: Iterator[bytes], rows: bytearray, size: int) -> None:
    """Append what the pieces unpack to; more than `size` bytes are damage, and are not unpacked."""
    for piece in pieces:
        waiting = piece
        while waiting and not unpacker.eof:
            rows += unpacker.decompress(waiting, size + 1 - len(rows))
            if len(rows) > size:
                raise _DamagedError("it has more pixels than its header says")
            waiting = unpacker.unconsumed_tail


def _header(raw: bytes, name: str) -> _Header:
    width, height, depth, color, packing, filters, interlaced = struct.unpack(">IIBBBBB", raw)
    if not width or not height or packing or filters or interlaced > 1 or color not in _CHANNELS:
        raise _DamagedError("its header is wrong")
    if depth not in _DEPTHS.get(color, (8, 16)):
        raise _DamagedError("its header is wrong")
    check_size(width, height, name)
    if depth == 16 and color == _GREY:
        raise DataError(f"{name} has more than 8 bits per value. Save it with 8.")
    if depth == 16:
        raise needs_pillow(name, "has 16 bits per value")
    if interlaced:
        raise needs_pillow(name, "is interlaced")
    return _Header(width, height, depth, color)


def needs_pillow(name: str, why: str) -> MissingExtraError:
    """Return the error with the line that brings Pillow."""
    return MissingExtraError(f"{name} {why}, which needs the package 'PIL': pip install 'leantta[images]'")


def _colors(rows: bytearray, header: _Header, palette: bytes | None) -> Pixels:
    """Return filtered rows as RGB (height, width, 3)."""
    raw = np.frombuffer(rows, np.uint8).reshape(header.height, 1 + header.row_bytes)
    if raw[:, 0].max() > 4:
        raise _DamagedError("a row has an unknown filter")
    values = _unfilter(raw[:, 1:], raw[:, 0], step=max(1, header.bits // 8))
    if header.color == _RGB:
        return np.ascontiguousarray(values.reshape(header.height, header.width, 3))
    if header.color == _RGBA:
        return np.ascontiguousarray(values.reshape(header.height, header.width, 4)[..., :3])
    if header.color == _GREY_ALPHA:
        values = values.reshape(header.height, header.width, 2)[..., 0]
    elif header.depth < 8:
        values = _spread(values, header)
    if header.color == _PALETTE:
        return _lookup(values, palette)
    return np.repeat(values[..., None], 3, axis=2)


def _spread(values: Pixels, header: _Header) -> Pixels:
    """Return values of 1, 2 or 4 bits one to a byte; grey ones scaled to 255."""
    bits = np.unpackbits(np.ascontiguousarray(values), axis=1)[:, : header.width * header.depth]
    grouped = bits.reshape(header.height, header.width, header.depth)
    spread = grouped @ (1 << np.arange(header.depth)[::-1]).astype(np.uint8)
    return spread if header.color == _PALETTE else spread * np.uint8(255 // (2**header.depth - 1))


def _lookup(values: Pixels, palette: bytes | None) -> Pixels:
    if not palette or len(palette) % 3:
        raise _DamagedError("its palette is missing or wrong")
    table = np.zeros((256, 3), np.uint8)  # a color beyond the palette is black, as Pillow has it
    table[: len(palette) // 3] = np.frombuffer(palette, np.uint8).reshape(-1, 3)
    return table[values]


def _unfilter(rows: Pixels, filters: Pixels, step: int) -> Pixels:
    """Return the values of filtered rows (h, row bytes), given each row's filter (h,).

    `step` is how many bytes back the left neighbour is: the bytes of a pixel, at least 1.
    """
    height, length = rows.shape
    values = np.zeros((height + 1, length + step), np.uint8)  # a row above and a pixel left of it are 0
    values[1:, step:] = rows
    if filters.max() >= _AVERAGE:
        _along_diagonals(values, filters, step)
    else:
        _along_rows(values, filters, step)
    return values[1:, step:]


def _along_rows(values: Pixels, filters: Pixels, step: int) -> None:
    """Undo filters that look only left or only up, in place."""
    for y, kind in enumerate(filters.tolist(), start=1):
        if kind == _SUB:
            row = values[y].reshape(-1, step)
            np.add.accumulate(row, axis=0, out=row)
        elif kind == _UP:
            values[y] += values[y - 1]


def _along_diagonals(values: Pixels, filters: Pixels, step: int) -> None:
    """Undo any filters, in place: the pixel (y, x) lies in the diagonal x + y, and y picks its filter."""
    height, pitch = len(filters), values.shape[1]
    width = pitch // step - 1
    left, above, average, paeth = (
        (filters == kind)[:, None].astype(np.int16) for kind in (_SUB, _UP, _AVERAGE, _PAETH)
    )
    for diagonal in range(height + width - 1):
        top, bottom = max(0, diagonal - width + 1), min(height, diagonal + 1)
        start = (top + 1) * pitch + (diagonal - top + 1) * step
        here, *around = (
            np.ndarray((bottom - top, step), np.uint8, values.data, start - back, (pitch - step, 1))
            for back in (0, step, pitch, pitch + step)
        )
        a, b, c = (neighbour.astype(np.int16) for neighbour in around)
        near_a, near_b, near_c = np.abs(b - c), np.abs(a - c), np.abs(a + b - 2 * c)  # of a + b - c
        closest = np.where((near_a <= near_b) & (near_a <= near_c), a, np.where(near_b <= near_c, b, c))
        rows = slice(top, bottom)
        guess = a * left[rows] + b * above[rows] + (a + b >> 1) * average[rows] + closest * paeth[rows]
        here += guess.astype(np.uint8)
