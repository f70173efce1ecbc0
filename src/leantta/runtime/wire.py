"""The protobuf wire format, read from a file piece by piece: what lies where, never what it weighs.

A message is a row of fields. Each begins with a varint `number << 3 | kind`; kind 0 is a varint, 1 and 5 are
8 and 4 bytes, 2 is a length and that many bytes. Long fields are passed over without being read, so a file of
any size is looked through in a few windows of a few kilobytes.
"""

from collections.abc import Iterator
from typing import BinaryIO

VARINT, BYTES = 0, 2

_WINDOW_BYTES = 16_384
_HEAD_BYTES = 20  # the longest start of a field: a tag of 10 bytes and a length, or a number, of 10
_FIXED_BYTES = {1: 8, 5: 4}
_LARGEST_TAG = 2**32 - 1


class WireError(Exception):
    """The bytes are no message; `at` is where that shows, `cut_off` that the file ends too early."""

    def __init__(self, reason: str, at: int, *, cut_off: bool = False) -> None:
        super().__init__(reason)
        self.at = at
        self.cut_off = cut_off


Field = tuple[int, int, int, int, int]
"""A field of a message: number, kind, value if it is a varint, and where its bytes begin and end.

A plain tuple, as a model has tens of thousands.
"""


class Wire:
    """Gives the fields of messages in a file of `size` bytes."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self.size = size
        self._base, self._window = 0, b""  # what was read last: most messages lie in the same window

    def fields(self, start: int, end: int) -> Iterator[Field]:
        """Give the fields of the message between two places.

        Raises:
            WireError: those bytes are no message.
        """
        base, window = self._base, self._window
        at = start
        while at < end:
            place = at - base
            if not 0 <= place <= len(window) - _HEAD_BYTES:
                base, window = self._around(at)
                place = at - base
            tag, head = _varint(window, place, at)
            number, kind = tag >> 3, tag & 7
            if not number or tag > _LARGEST_TAG:
                raise WireError("a field without a valid number", at)
            if kind == BYTES:
                value, begin = _varint(window, head, at)
                begin += base
                stop = begin + value
            elif kind == VARINT:
                value, begin = _varint(window, head, at)
                begin = stop = begin + base
            elif kind in _FIXED_BYTES:
                value, begin = 0, head + base
                stop = begin + _FIXED_BYTES[kind]
            else:
                raise WireError(f"a field of the unknown kind {kind}", at)
            if stop > end:
                raise WireError(f"a part that goes on to byte {stop}", at, cut_off=start == 0)
            yield number, kind, value, begin, stop
            at = stop

    def _around(self, at: int) -> tuple[int, bytes]:
        """Return a window that begins at a place, with where it begins, and keep it for the next message."""
        if at != self._base or not self._window:
            self._base, self._window = at, self._read(at, _WINDOW_BYTES)
        return self._base, self._window

    def text(self, field: Field, limit: int) -> str:
        """Return the text of a field.

        Raises:
            WireError: it is longer than `limit` bytes, or not UTF-8.
        """
        *_, start, end = field
        if end - start > limit:
            raise WireError(f"a text of {end - start:,} bytes, where at most {limit:,} are usual", start)
        try:
            return self.data(start, end).decode()
        except UnicodeDecodeError as e:
            raise WireError("a text that is not UTF-8", start) from e

    def data(self, start: int, end: int) -> bytes:
        """Return the bytes between two places, which must be few."""
        place = start - self._base
        if place >= 0 and end - self._base <= len(self._window):
            return self._window[place : end - self._base]
        return self._read(start, end - start)

    def _read(self, start: int, length: int) -> bytes:
        self._file.seek(start)
        return self._file.read(length)


def _varint(window: bytes, place: int, at: int) -> tuple[int, int]:
    """Return the number at a place of the window, and the place behind it; `at` is for messages."""
    try:
        value = window[place]
        if value < 0x80:
            return value, place + 1
        value &= 0x7F
        for shift in range(7, 70, 7):
            place += 1
            byte = window[place]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, place + 1
    except IndexError:
        raise WireError("a number that is cut off", at, cut_off=True) from None
    raise WireError("a number that does not end", at)
