"""What the kernel must do: every function and type, by every path, as the function's body does it."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import DTypeLike

from leantta.graph.functions import FUNCTIONS
from leantta.runtime import kernel
from native.nodes import (
    BYTES,
    FLOATS,
    TYPED,
    Array,
    Layer,
    assert_one_step,
    inputs_of,
    memories,
    native,
    portable,
    without_distance,
)
from reference import assert_close

PATHS = kernel.paths()
SHAPES = {  # positions, channels
    "one of each": ((1,), 1),
    "one position": ((1, 1), 64),
    "one channel": ((5, 3), 1),
    "sequence": ((9,), 7),
    "long sequence": ((128,), 32),
    "map": ((3, 5), 24),
    "wide map": ((6, 5), 64),
    "odd map": ((4, 4), 100),
    "volume": ((2, 3, 2), 7),
}
TIES = 0.002
"""The share of bytes that may be on the other side of a tie."""
DISTANCE = {"of": 1e-4, "least": 1e-6}
"""How much distances may differ: of the value, and of the sum of the weights, as float32 cancels."""

NOTHING = {"low": 0.0, "room": 0.0, "shrink": 1e30}
"""Attributes with which every gate is BatchNorm in eval mode."""

pytestmark = pytest.mark.skipif(not PATHS, reason="this installation has no kernel: there was no compiler")
typed = pytest.mark.parametrize(("op", "dtype"), TYPED, ids=lambda value: getattr(value, "__name__", value))


def layer_of(op: str, dtype: DTypeLike, shape: str, **changes: object) -> Layer:
    positions, channels = SHAPES[shape]
    whole = (channels, *positions) if op in FLOATS else (*positions, channels)
    return Layer(op, dtype, whole, **changes)  # type: ignore[arg-type]  # whatever the fields are


def assert_same(
    found: list[Array], wanted: list[Array], layer: Layer, *, share: float, times: float = 1
) -> None:
    """Fail unless the kernel and the body agree; `share` of the bytes may be on the other side of a tie.

    Floats may differ so many times as much as usual.
    """
    assert [value.dtype for value in found] == [value.dtype for value in wanted]
    if layer.op in BYTES:
        assert_one_step(found[0], wanted[0], share=share)
    else:
        assert_close(found[0], wanted[0], atol=times * 1e-5 * (1 + float(np.abs(wanted[0]).max(initial=0))))
    values = layer.values()
    weights = sum(
        float(values[name].sum()) for name in ("mean_weight", "var_weight", "weight") if name in values
    )
    atol = DISTANCE["of"] * np.abs(wanted[1]) + DISTANCE["least"] * weights
    assert found[1].shape == wanted[1].shape
    assert (np.abs(found[1] - wanted[1]) <= times * atol).all()
    for after, wanted_after in zip(found[2:], wanted[2:], strict=True):
        assert_close(
            after, wanted_after, atol=times * 1e-5 * (1 + float(np.abs(wanted_after).max(initial=0)))
        )


def assert_identical(found: list[Array], wanted: list[Array]) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("shape", SHAPES)
@typed
def test_every_path_computes_what_the_body_does(op: str, dtype: DTypeLike, shape: str) -> None:
    layer = layer_of(op, dtype, shape)
    graph = layer.graph()
    body = portable(graph)
    sessions = {path: native(graph, path) for path in PATHS}
    for batch in (1, 3):
        inputs = inputs_of(layer, batch, seed=batch)
        wanted = body.run(None, inputs)
        found = {path: session.run(None, inputs) for path, session in sessions.items()}
        for path in PATHS:
            assert_identical(found[path], found["scalar"])
        assert_same(found["scalar"], wanted, layer, share=TIES)


@typed
def test_dead_channels_keep_the_source_statistics_by_every_path(op: str, dtype: DTypeLike) -> None:
    ratio = layer_of(op, dtype, "odd map").values()["ratio"].copy()
    dead = np.arange(0, ratio.size, 3)
    ratio.reshape(-1)[dead] = 0
    layer = layer_of(op, dtype, "odd map", constants={"ratio": ratio})
    fixed = layer_of(op, dtype, "odd map", attributes=NOTHING)
    graph, inputs = layer.graph(), inputs_of(layer, 3)
    wanted, plain = portable(graph).run(None, inputs), portable(fixed.graph()).run(None, inputs)
    channels = 1 if op in FLOATS else -1
    other = {**inputs, "u": inputs["u"].copy()}
    np.moveaxis(other["u"], channels, 0)[dead] = inputs["u"].max()
    for path in PATHS:
        session = native(graph, path)
        found = session.run(None, inputs)
        assert_same(found, wanted, layer, share=TIES)
        ends = [np.take(y, dead, channels) for y in (found[0], plain[0])]
        assert_close(ends[0], ends[1], atol=1e-5 if op in FLOATS else 1)
        assert_identical(session.run(None, other)[1:], found[1:])


@typed
def test_an_empty_batch_gives_empty_outputs(op: str, dtype: DTypeLike) -> None:
    layer = layer_of(op, dtype, "map")
    for path in PATHS:
        y, *others = native(layer.graph(), path).run(None, inputs_of(layer, 0))
        assert (y.shape, y.dtype) == ((0, *layer.shape), np.dtype(dtype))
        sizes = [1, layer.memory] if layer.remembers else [1]
        assert [other.shape for other in others] == [(0, size) for size in sizes]
        assert {other.dtype for other in others} == {np.dtype(np.float32)}


@pytest.mark.parametrize("empty", [True, False], ids=["an empty name", "not there"])
@typed
def test_the_distance_may_be_left_out(op: str, dtype: DTypeLike, empty: bool) -> None:
    layer = layer_of(op, dtype, "map")
    inputs = inputs_of(layer, 3)
    for path in PATHS:
        whole = native(layer.graph(), path).run(None, inputs)
        short = native(without_distance(layer.graph(), empty=empty), path).run(None, inputs)
        assert_identical(short, [whole[0], *whole[2:]] if empty else whole[:1])


@typed
def test_the_kernel_takes_the_place_of_a_body(op: str, dtype: DTypeLike) -> None:
    """As in a model file, which carries both. Who computes shows by what only the kernel refuses."""
    layer = layer_of(op, dtype, "map")
    inputs = inputs_of(layer, 2)
    for path in PATHS:
        assert_identical(
            native(layer.graph(), path, body=True).run(None, inputs),
            native(layer.graph(), path).run(None, inputs),
        )
    name = "y_scale" if op in BYTES else "gamma"
    wrong = np.zeros_like(layer.values()[name]) if op in BYTES else np.ones(2, np.float32)
    other = layer_of(op, dtype, "map", constants={name: wrong})
    with pytest.raises(Exception, match=f"{op}: its"):
        native(other.graph(), PATHS[0], body=True)


@typed
def test_any_values_are_normalized_alike(op: str, dtype: DTypeLike) -> None:
    layer = layer_of(op, dtype, "map", seed=1)
    graph = layer.graph()
    body, sessions = portable(graph), {path: native(graph, path) for path in PATHS}
    elements = st.floats(-8, 8, width=32) if op in FLOATS else None
    values = arrays.arrays(dtype, (2, *layer.shape), elements=elements)
    # Where a channel is flat, the body's variance cancels in float32, and a filter takes the logarithm of it.
    times = 100 if "into" in FUNCTIONS[op].input else 2

    @settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.fixed_dictionaries(dict.fromkeys(layer.takes, values)))
    def check(inputs: dict[str, Array]) -> None:
        inputs |= {"before": memories(layer, 2)} if layer.remembers else {}
        found = {path: session.run(None, inputs) for path, session in sessions.items()}
        for path in PATHS:
            assert_identical(found[path], found["scalar"])
        wanted = body.run(None, inputs)
        assert_same(found["scalar"], wanted, layer, share=1, times=times)  # whole channels may be one value

    check()


@pytest.mark.parametrize("op", [op for op in FUNCTIONS if op in BYTES])
def test_any_scales_and_zero_points_are_normalized_alike(op: str) -> None:
    @settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(
        seed=st.integers(0, 2**32 - 1),
        scales=st.tuples(*[st.floats(0.005, 0.1)] * 3),
        zeros=st.tuples(*[st.integers(0, 255)] * 3),
        low=st.floats(0, 0.5),
        room=st.floats(0, 0.25),
        unlike=st.booleans(),  # channels of u
    )
    def check(
        seed: int, scales: tuple[float, ...], zeros: tuple[int, ...], low: float, room: float, unlike: bool
    ) -> None:
        constants: dict[str, Array] = {}
        names = [name for name in ("u", "y", "r") if f"{name}_scale" in FUNCTIONS[op].input]
        for name, scale, zero in zip(names, scales, zeros, strict=False):
            constants[f"{name}_scale"] = np.asarray(scale, np.float32)
            constants[f"{name}_zero"] = np.asarray(zero, np.uint8)
        if unlike:
            random = np.random.default_rng(seed)
            channels = layer_of(op, np.uint8, "map").channels
            constants["u_scale"] = constants["u_scale"] * random.uniform(0.2, 1, channels).astype(np.float32)
            constants["u_zero"] = random.integers(64, 192, channels).astype(np.uint8)
        attributes = {"low": low, "room": room, "rate": -((low + room) ** 2), "shrink": room}
        layer = layer_of(op, np.uint8, "map", seed=seed, constants=constants, attributes=attributes)
        inputs = inputs_of(layer, 2, seed)
        wanted = portable(layer.graph()).run(None, inputs)
        for path in PATHS:
            assert_same(native(layer.graph(), path).run(None, inputs), wanted, layer, share=TIES)

    check()


def test_the_comparisons_can_fail() -> None:
    layer = layer_of("QLinearAdaptiveNorm", np.uint8, "map")
    found = native(layer.graph(), PATHS[0]).run(None, inputs_of(layer, 3))
    for wrong in (found[0] + 2, np.where(found[0] > 128, found[0] + 1, found[0]), found[0].astype(np.int16)):
        with pytest.raises(AssertionError):
            assert_same([wrong.astype(wrong.dtype), found[1]], found, layer, share=TIES)
    with pytest.raises(AssertionError):
        assert_same([found[0], found[1] * 1.01], found, layer, share=TIES)
    with pytest.raises(AssertionError):
        assert_identical([found[0], np.nextafter(found[1], np.float32(9))], found)


@pytest.mark.parametrize("op", FLOATS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_a_number_is_not_hidden(op: str, value: float) -> None:
    layer = layer_of(op, np.float32, "map")
    inputs = inputs_of(layer, 1)
    inputs["u"][0, 3, 1, 2] = value
    wanted = np.isfinite(portable(layer.graph()).run(None, inputs)[0])
    assert not wanted[0, 3].any()  # by the body, nothing of that channel is a number
    for path in PATHS:
        found = np.isfinite(native(layer.graph(), path).run(None, inputs)[0])
        assert not found[0, 3].any()
