"""Files as damage or malice leaves them: bytes and JSON that are nearly right."""

import json
import random
from typing import Any

NUMBERS = (
    *(b"\x00", b"\xff", b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff" * 8, b"\x00" * 8),
    *(
        b"\xff\xff\xff\xff\x0f",
        b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
        b"\x00\x00\x80\x7f",
        b"\x00\x00\xc0\x7f",
    ),
    *(b"-1", b"1e400", b"NaN", b"99999999999999999999", b"null", b'"', b"[[", b"\\ud800", b"%s", b"../"),
)
"""What parsers dislike: the largest and least numbers, endless ones, infinity, NaN, and the same as text."""

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63), 10**30, 0.5, -0.0, 1e308, 1e-320),
    *(float("nan"), float("inf"), "", "x", "\x00", "é" * 300, "1", "nan", "../x", "a\nb"),
    *([], {}, [[]], [1, 2], [None], {"a": 1}, [0.0] * 1000),
)
"""What a JSON value may become."""


def damaged(random_: random.Random, data: bytes) -> bytes:
    """Other bytes, by one to twenty changes: a bit, a number, a part gone, doubled or moved, a cut."""
    while (found := _damaged_once(random_, data)) == data:
        pass
    return found


def _damaged_once(random_: random.Random, data: bytes) -> bytes:
    found = bytearray(data)
    for _ in range(random_.choice((1, 1, 1, 2, 5, 20))):
        place = random_.randrange(len(found) + 1)
        stop = min(len(found), place + random_.choice((0, 1, 1, 2, 4, 8, 50)))
        match random_.randrange(8):
            case 0 if place < len(found):
                found[place] ^= 1 << random_.randrange(8)
            case 1:
                found[place:stop] = random_.randbytes(stop - place)
            case 2:
                found[place:stop] = random_.choice(NUMBERS)
            case 3:
                del found[place:stop]
            case 4:
                found[place:stop] = found[place:stop] * random_.choice((2, 2, 40))
            case 5:
                other = random_.randrange(len(found) + 1)
                found[place:stop] = found[other : other + stop - place]
            case 6 if random_.random() < 0.3:
                del found[place:]
            case _:
                found[place:place] = random_.randbytes(random_.randrange(6))
    return bytes(found)


def changed_json(random_: random.Random, text: str) -> str:
    """The text with one to three values or keys changed, gone or doubled; sometimes its bytes."""
    if random_.random() < 0.2:
        return damaged(random_, text.encode()).decode(errors="replace")
    told = json.loads(text)
    for _ in range(random_.choice((1, 1, 1, 2, 3))):
        told = _changed(random_, told)
    return json.dumps(told)


def _changed(random_: random.Random, value: Any) -> Any:
    if isinstance(value, dict) and value and random_.random() < 0.9:
        key = random_.choice(list(value))
        match random_.randrange(8):
            case 0:
                return {name: each for name, each in value.items() if name != key}
            case 1:
                return {**value, random_.choice(list(value)): value[key]}
            case _:
                return {**value, key: _changed(random_, value[key])}
    if isinstance(value, list) and value and random_.random() < 0.8:
        place = random_.randrange(len(value))
        match random_.randrange(6):
            case 0:
                return value[:place] + value[place + 1 :]
            case 1:
                return value + value[place:]
            case _:
                return [*value[:place], _changed(random_, value[place]), *value[place + 1 :]]
    if isinstance(value, int | float) and not isinstance(value, bool) and random_.random() < 0.5:
        return random_.choice((-value, value + 1, value * 1000, value / 3, str(value), [value]))
    return random_.choice(VALUES)
