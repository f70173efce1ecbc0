"""The kernel's filter against its formula in numpy: every form and type, by every path."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import DTypeLike

from leantta.graph.functions import float_constants, int8_constants, int8_name
from leantta.graph.ir import BATCH, LOCAL, Graph, Node, Tensor
from leantta.runtime import kernel
from native.nodes import Array, assert_one_step, native
from reference import assert_close

PATHS = kernel.paths()
SCALES = {"u": 0.04, "y": 0.05, "r": 0.03}
ZEROS = {"u": 118, "y": 96, "r": 120}  # of uint8; int8 has them 128 lower
POSITIONS = (5, 3)

pytestmark = pytest.mark.skipif(not PATHS, reason="this installation has no kernel: there was no compiler")
bytes_of_both_signs = pytest.mark.parametrize("dtype", [np.uint8, np.int8])


@dataclass(frozen=True)
class Filter:
    """A node with random constants."""

    dtype: DTypeLike
    channels: int
    rank: int
    adds: bool = False
    hard_swish: bool = False
    shrink: float = 0.3
    dead: tuple[int, ...] = ()
    instead: Mapping[str, Array] = field(default_factory=dict)  # constants

    @property
    def in_bytes(self) -> bool:
        return np.dtype(self.dtype) != np.float32

    @property
    def shape(self) -> tuple[int, ...]:
        return (*POSITIONS, self.channels) if self.in_bytes else (self.channels, *POSITIONS)

    def constants(self) -> dict[str, Array]:
        """The constants by name, as the formula has them."""
        random = np.random.default_rng(self.channels + self.rank)
        c, r = self.channels, self.rank
        values = {
            "gamma": random.uniform(0.5, 1.5, c) * random.choice([-1, 1], c),
            "beta": random.normal(0, 0.5, c),
            "ratio": random.uniform(0.9, 0.99, c),
            "into": random.normal(0, 0.5, (2 * c, r)) / np.sqrt(c),
            "back": random.normal(0, 1, (r, 2 * c)) / np.sqrt(r),
            "weight": random.uniform(0.5, 2, (r, 1)),
        }
        for channel in self.dead:
            values["ratio"][channel] = 0
            values["back"][:, [channel, c + channel]] = 0
        return {name: value.astype(np.float32) for name, value in values.items()} | dict(self.instead)

    def graph(self) -> Graph:
        values = self.constants()
        given = list(values.values())
        constants: dict[str, Array] = {}
        if self.in_bytes:
            lower = 128 if np.dtype(self.dtype) == np.int8 else 0
            inputs = ["u", "u_scale", "u_zero", "y_scale", "y_zero", "average", "flat", *values]
            inputs += ["r", "r_scale", "r_zero"] if self.adds else []
            for name in ("u", "y", "r") if self.adds else ("u", "y"):
                constants[f"{name}_scale"] = np.asarray(SCALES[name], np.float32)
                constants[f"{name}_zero"] = np.asarray(ZEROS[name] - lower, self.dtype)
            shaped = int8_constants((self.channels, *POSITIONS), given)
            constants |= dict(zip(("average", "flat", *values), shaped, strict=True))
            op = int8_name("FilterNorm", adds=self.adds, hard_swish=self.hard_swish)
        else:
            inputs = ["u", "positions", *values]
            constants = dict(zip(("positions", *values), float_constants(4, given), strict=True))
            op = "FilterNorm"
        attributes = {"shrink": self.shrink, "layer": "bn"}
        node = Node(op, tuple(inputs), ("y", "distance"), attributes, "bn", LOCAL)
        whole = Tensor(np.dtype(self.dtype), (BATCH, *self.shape))
        takes = ("u", "r") if self.adds else ("u",)
        tensors = dict.fromkeys((*takes, "y"), whole)
        tensors["distance"] = Tensor(np.dtype(np.float32), (BATCH, 1))
        return Graph((node,), constants, tensors, takes, ("y", "distance"))

    def inputs(self, batch: int) -> dict[str, Array]:
        """Inputs whose channels are bright or dark, and one of them flat."""
        random = np.random.default_rng(batch)
        made = {}
        for name in ("u", "r") if self.adds else ("u",):
            column = (batch, self.channels, *(1,) * len(POSITIONS))
            x = random.uniform(0.3, 2, column) * random.normal(size=(batch, self.channels, *POSITIONS))
            x += random.normal(0, 0.7, column)
            x[:, 0] = 0.5
            if self.in_bytes:
                x = np.moveaxis(np.rint(x / SCALES[name]) + ZEROS[name], 1, -1).clip(0, 255)
                x -= 128 if np.dtype(self.dtype) == np.int8 else 0
            made[name] = x.astype(self.dtype)
        return made

    def wanted(self, inputs: Mapping[str, Array]) -> tuple[Array, Array]:
        """The outputs by the formula, in float64."""
        u = self.real(inputs["u"], "u")
        given = {name: value.astype(np.float64) for name, value in self.constants().items()}
        alive = given["ratio"] != 0
        mean = np.where(alive, u.mean((2, 3)), 0)  # (n, c)
        excess = np.where(alive, u.var((2, 3)) - given["ratio"], 0)
        features = np.concatenate([mean, np.log(np.maximum(1 + excess, 1e-30)).clip(-4, 4)], 1)
        z = features @ given["into"]  # (n, r)
        distance = z**2 @ given["weight"]  # (n, 1)
        part = np.maximum(0, 1 - self.shrink / np.maximum(distance, 1e-30))
        moved_mean, log_var = np.split(part * z @ given["back"], 2, axis=1)
        scale = given["gamma"] / np.sqrt(np.exp(log_var.clip(-3, 3)))
        y = scale[..., None, None] * (u - moved_mean[..., None, None]) + given["beta"][:, None, None]
        if not self.in_bytes:
            return y, distance
        if self.adds:
            y = y + self.real(inputs["r"], "r")
        if self.hard_swish:
            y = y * (y / 6 + 0.5).clip(0, 1)
        steps = (np.rint(y / SCALES["y"]) + ZEROS["y"]).clip(0, 255)
        return np.moveaxis(steps, 1, -1), distance

    def real(self, x: Array, name: str) -> Array:
        """What the values of an input stand for, channels second."""
        if not self.in_bytes:
            return x.astype(np.float64)
        return (np.moveaxis(self.unsigned(x), -1, 1) - ZEROS[name]) * float(np.float32(SCALES[name]))

    def unsigned(self, x: Array) -> Array:
        return x.astype(np.int64) + (128 if np.dtype(self.dtype) == np.int8 else 0)

    def check(self) -> None:
        """Fail unless every path follows the formula, and all of them agree in every bit."""
        graph = self.graph()
        sessions = {path: native(graph, path) for path in PATHS}
        for batch in (1, 3):
            inputs = self.inputs(batch)
            runs = [session.run(None, inputs) for session in sessions.values()]
            for run in runs:
                assert [value.tobytes() for value in run] == [value.tobytes() for value in runs[-1]]
            y, distance = runs[0]
            wanted_y, wanted_distance = self.wanted(inputs)
            assert_close(distance, wanted_distance, atol=1e-5 * (1 + wanted_distance.max()))
            if self.in_bytes:
                assert_one_step(self.unsigned(y), wanted_y.astype(np.int64), share=0.002)
            else:
                assert_close(y, wanted_y, atol=2e-5 * (1 + np.abs(wanted_y).max()))


SIZES = [(1, 1), (1, 2), (7, 3), (16, 16), (24, 24), (24, 48), (40, 16), (64, 17), (100, 16), (144, 33)]


@pytest.mark.parametrize(("channels", "rank"), SIZES)
def test_floats_follow_the_formula(channels: int, rank: int) -> None:
    Filter(np.float32, channels, rank).check()


@pytest.mark.parametrize(("channels", "rank"), SIZES)
@bytes_of_both_signs
def test_bytes_follow_the_formula(dtype: DTypeLike, channels: int, rank: int) -> None:
    Filter(dtype, channels, rank).check()


@pytest.mark.parametrize("hard_swish", [False, True])
@pytest.mark.parametrize("adds", [False, True])
@bytes_of_both_signs
def test_every_ending_follows_the_formula(dtype: DTypeLike, adds: bool, hard_swish: bool) -> None:
    Filter(dtype, 40, 16, adds=adds, hard_swish=hard_swish).check()


@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_dead_channels_stay_as_they_are(dtype: DTypeLike) -> None:
    some = Filter(dtype, 40, 16, dead=(0, 3, 17, 39))
    some.check()
    axis = -1 if some.in_bytes else 1
    still = native(replace(some, shrink=1e30).graph(), PATHS[0]).run(
        None, some.inputs(2)
    )  # it answers nothing
    moved = native(some.graph(), PATHS[0]).run(None, some.inputs(2))
    assert np.take(still[0], some.dead, axis).tobytes() == np.take(moved[0], some.dead, axis).tobytes()
    assert not np.array_equal(still[0], moved[0])


@pytest.mark.parametrize("shrink", [0.0, 0.05, 2.0, 1e30])
def test_any_shrink_follows_the_formula(shrink: float) -> None:
    Filter(np.float32, 24, 16, shrink=shrink).check()
    Filter(np.uint8, 24, 16, shrink=shrink).check()


def zeros(*shape: int) -> Array:
    return np.zeros(shape, np.float32)


BAD: dict[str, tuple[Filter, str]] = {
    name: (replace(Filter(np.uint8, 7, 4), instead=instead), says)
    for name, instead, says in [
        (
            "into of other channels",
            {"into": zeros(16, 4)},
            r"into has the shape \(16, 4\); it must be \(14, 4\)",
        ),
        (
            "into of another rank",
            {"into": zeros(14, 5)},
            r"into has the shape \(14, 5\); it must be \(14, 4\)",
        ),
        ("into turned", {"into": zeros(4, 14)}, r"into has the shape \(4, 14\); it must be \(14, 4\)"),
        (
            "back of other channels",
            {"back": zeros(4, 7)},
            r"back has the shape \(4, 7\); it must be \(4, 14\)",
        ),
        ("back turned", {"back": zeros(14, 4)}, r"back has the shape \(14, 4\); it must be \(4, 14\)"),
        ("no back", {"back": zeros(0)}, r"back has the shape \(0\); it must be \(4, 14\)"),
        ("no weight", {"weight": zeros(0, 1)}, "weight has 0 values; there must be 1 to 14"),
        ("too many weights", {"weight": zeros(15, 1)}, "weight has 15 values; there must be 1 to 14"),
        (
            "another rank of weights",
            {"weight": zeros(5, 1)},
            r"into has the shape \(14, 4\); it must be \(14, 5\)",
        ),
        ("doubles", {"into": np.zeros((14, 4))}, r"tensor\(double\).*\(into\)"),
    ]
}
BAD["no number"] = (Filter(np.uint8, 7, 4, shrink=float("nan")), "its attribute shrink is not a number")


@pytest.mark.parametrize("name", BAD)
def test_wrong_constants_are_refused_when_a_session_is_made(name: str) -> None:
    bad, says = BAD[name]
    for one in (bad, replace(bad, dtype=np.float32)):
        with pytest.raises(Exception, match=rf"(?s)ONNXRuntimeError.*{says}"):  # its errors have no base
            native(one.graph(), PATHS[0])


def test_the_check_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    other: Any = Filter.wanted
    for shrink in (0.29, 0.31):
        monkeypatch.setattr(Filter, "wanted", lambda self, x, s=shrink: other(replace(self, shrink=s), x))
        with pytest.raises(AssertionError):
            Filter(np.float32, 24, 16).check()
