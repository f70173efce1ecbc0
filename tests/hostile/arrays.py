"""Attacks by arrays given to a session: of any type, shape, layout and value."""

import random
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import leantta
from hostile.attack import Attack, Try
from leantta.runtime.inputs import fit_image, hear
from leantta.runtime.session import Session
from runtime.artifacts import artifact

Array = npt.NDArray[Any]

SOUND = {"sample_rate": 32_000, "clip_samples": 320_000, "filling": "silence"}
TYPES = (
    *("f2", "f4", "f8", ">f4", "g", "u1", "i1", "i4", "u8", "?", "c8", "O", "U3", "S2", "M8[s]", "V4"),
    *("f4,u1",),
)
SIZES = (0, 1, 2, 3, 4, 8, 8, 8, 9)
VALUES = (0, 0.5, 1, -1, 7, 255, 1e-40, 1e30, np.nan, np.inf, -np.inf)


def any_array(random_: random.Random, shape: tuple[int, ...]) -> object:
    """An array of nearly that shape, or something that numpy would make one of."""
    draw = np.random.default_rng(random_.getrandbits(32))
    if random_.random() < 0.05:
        return random_.choice(
            (None, "image", {"a": 1}, [[1], [1, 2]], object(), b"\x00" * 192, 3, [], [[[]]])
        )
    kind = np.dtype(random_.choice((*("f4", "u1") * 8, *TYPES)))
    wanted = list(
        random_.choice(((2, *shape), (1, *shape), shape, (2, *shape[1:], shape[0]), (*shape[1:], shape[0])))
    )
    match random_.randrange(8):
        case 0:
            wanted[random_.randrange(len(wanted))] = random_.choice(SIZES)
        case 1:
            wanted.insert(random_.randrange(len(wanted) + 1), random_.choice(SIZES))
        case 2:
            del wanted[random_.randrange(len(wanted))]
    with np.errstate(all="ignore"):
        values = draw.integers(0, 256, wanted) if kind.kind in "ui" else draw.random(wanted)
        try:
            array = values.astype(kind)
        except (TypeError, ValueError):
            array = np.zeros(wanted, kind)
    if random_.random() < 0.3 and array.size and kind.kind == "f":
        with np.errstate(all="ignore"):
            array.reshape(-1)[random_.randrange(array.size)] = random_.choice(VALUES)
    return laid_out(random_, array)


def laid_out(random_: random.Random, array: Array) -> object:
    """The same values lying otherwise in memory, or as something else than an array of numpy."""
    match random_.randrange(12):
        case 0:
            return np.asfortranarray(array)
        case 1:
            return array[::-1]
        case 2 if array.ndim:
            return np.repeat(array, 2, axis=-1)[..., ::2]
        case 3:
            return array.tolist()
        case 4:
            return np.broadcast_to(array[:1], array.shape) if array.ndim else array
        case 5:
            return np.ma.masked_array(array)
        case 6:
            array.flags.writeable = False
            return array
        case 7:
            return np.ascontiguousarray(array).data if array.dtype.kind in "uf" and array.ndim else array
        case _:
            return array


def agrees(session: Session, given: object, found: Any) -> None:
    """Fail unless each answer is that of the same values alone, in memory of their own."""
    array = np.asarray(given)
    plain = array.astype("u1" if array.dtype == np.uint8 else "f8")
    wanted = np.concatenate([session.run(np.array(one[None], order="C")).shift for one in plain])  # type: ignore[misc]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-3 * (1 + np.abs(wanted).max()))


def arrays(folder: Path, stack: ExitStack) -> Try:
    sessions = [
        stack.enter_context(leantta.load(artifact(folder / "a.onnx"))),
        stack.enter_context(leantta.load(artifact(folder / "b.onnx", kind="image"))),
        stack.enter_context(leantta.load(artifact(folder / "c.onnx", normalized=False))),
    ]
    ear = artifact(
        folder / "ear.onnx",
        shape=(1, 240, 64),
        normalized=False,
        changes={"input.kind": "frames", "input.sound": SOUND},
    )
    hearing = stack.enter_context(leantta.load(ear))
    calls: list[Callable[[Session, Any], object]] = [
        Session.run,
        Session.predict,
        Session.predict_one,
        Session.explain,
        Session.shift,
        Session.shift,
    ]

    def attempt(random_: random.Random) -> None:
        session = random_.choice(sessions)
        given = any_array(random_, session.info.input.shape)
        which = random_.random()
        if which < 0.1 and isinstance(given, np.ndarray):
            wave = np.asarray(given).reshape(-1) if random_.random() < 0.7 else given
            assert np.isfinite(hear(wave, hearing.info)).all()
            return
        if which < 0.2 and isinstance(given, np.ndarray) and given.dtype == np.uint8 and given.ndim == 3:
            if given.shape[2] == 3 and given.size:
                fit_image(given, session.info)
            return
        call = random_.choice(calls)
        found = call(session, given)
        if call is Session.shift:
            agrees(session, given, found)

    return attempt


ATTACKS = (
    Attack(
        name="arrays",
        reader="run, predict, predict_one, shift, explain, fit_image, hear",
        inputs="arrays of any type, shape, layout and value, and what is none",
        begin=arrays,
        recorded=8_000,
    ),
)
