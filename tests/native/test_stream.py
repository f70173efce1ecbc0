"""The kernel's filter with a memory: whatever a stream remembers, it does what the function's body does."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import onnxruntime
import pytest
from numpy.typing import DTypeLike

from leantta.graph.functions import FUNCTIONS
from leantta.graph.ir import Graph, write_graph
from leantta.memory import FULL_AGREEMENT, LEAST_AGREEMENT
from leantta.runtime import kernel
from native.nodes import BYTES, TYPED, Array, Layer, assert_one_step, inputs_of, native, portable

PATHS = kernel.paths()
STREAMS = [(op, dtype) for op, dtype in TYPED if "before" in FUNCTIONS[op].input]
FLOAT = Layer("DomainFilterNorm", np.float32, (24, 3, 5))
MANY = 60  # streams

pytestmark = pytest.mark.skipif(not PATHS, reason="this installation has no kernel: there was no compiler")
typed = pytest.mark.parametrize(("op", "dtype"), STREAMS, ids=lambda value: getattr(value, "__name__", value))


def layer_of(op: str, dtype: DTypeLike) -> Layer:
    return Layer(op, dtype, (3, 5, 24) if op in BYTES else (24, 3, 5))


def assert_alike(found: Sequence[Array], wanted: Sequence[Array]) -> None:
    """Fail unless y, distance and memory are the same up to rounding, and so is what is no number."""
    for one, other in zip(found, wanted, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        if one.dtype != np.float32:
            assert_one_step(one, other, share=0.002)
            continue
        numbers = np.isfinite(other)
        assert np.array_equal(one[~numbers], other[~numbers], equal_nan=True)
        size = 1 + np.abs(other[numbers]).max(initial=0)
        np.testing.assert_allclose(one[numbers], other[numbers], rtol=0, atol=2e-5 * size)


def check(layer: Layer, inputs: dict[str, Array]) -> list[Array]:
    """Compare every path with the body, and return what the body says."""
    graph = layer.graph()
    wanted = portable(graph).run(None, inputs)
    runs = [native(graph, path).run(None, inputs) for path in PATHS]
    for run in runs:
        assert_alike(run, wanted)
        for one, other in zip(run, runs[-1], strict=True):  # a NaN has many bits
            assert np.where(one == one, one, 0).tobytes() == np.where(other == other, other, 0).tobytes()
    return list(wanted)


@pytest.mark.parametrize("length", [1.0, 2.5, 8.0, 1000.0])
@typed
def test_every_memory_is_followed_as_the_body_does(op: str, dtype: DTypeLike, length: float) -> None:
    layer = replace(layer_of(op, dtype), attributes={"length": length})
    inputs = inputs_of(layer, MANY)
    _, _, after = check(layer, inputs)
    count_before, (count, agreement) = inputs["before"][:, -2], after[:, -2:].T
    assert (count_before == 0).any()
    assert (count[count_before > 1] < min(2, length)).any() or length == 1  # some forget
    assert (count > 2).any() == (length > 2)
    assert (agreement < LEAST_AGREEMENT).any()
    assert ((agreement > LEAST_AGREEMENT) & (agreement < FULL_AGREEMENT)).any()
    assert (agreement > FULL_AGREEMENT).any()


@typed
def test_without_a_memory_it_is_the_filter_without_one(op: str, dtype: DTypeLike) -> None:
    layer = layer_of(op, dtype)
    plain = replace(layer, op=op.replace("Domain", ""))
    inputs = inputs_of(layer, MANY)
    del inputs["before"]
    nothing = np.zeros((MANY, layer.memory), np.float32)
    for path in PATHS:
        wanted = native(plain.graph(), path).run(None, inputs)
        found = native(layer.graph(), path).run(None, {**inputs, "before": nothing})
        assert [one.tobytes() for one in found[:2]] == [one.tobytes() for one in wanted]
        assert (found[2][:, -2:] == (1, 0)).all()


@typed
def test_one_row_is_the_memory_of_all_inputs(op: str, dtype: DTypeLike) -> None:
    layer = layer_of(op, dtype)
    inputs = inputs_of(layer, 5)
    row = inputs["before"][:1]
    check(layer, {**inputs, "before": row})
    session = native(layer.graph(), PATHS[0])
    repeated = session.run(None, {**inputs, "before": np.repeat(row, 5, 0)})
    for one, other in zip(session.run(None, {**inputs, "before": row}), repeated, strict=True):
        assert one.tobytes() == other.tobytes()


@typed
def test_a_stream_is_followed_for_long(op: str, dtype: DTypeLike) -> None:
    """Each with its own memory, so that a difference would grow."""
    layer = layer_of(op, dtype)
    graph = layer.graph()
    body, session = portable(graph), native(graph, PATHS[0])
    inputs = [inputs_of(layer, 2, seed) for seed in range(3)]  # three that come again and again
    wanted = found = np.zeros((1, layer.memory), np.float32)
    for i in range(30):
        given = {**inputs[i % 3]}
        expected = body.run(None, {**given, "before": wanted})
        answer = session.run(None, {**given, "before": found})
        assert_alike(answer, expected)
        found, wanted = answer[2], expected[2]


def test_directions_that_are_dead_do_not_matter() -> None:
    values = FLOAT.values()
    into, weight = values["into"].copy(), values["weight"].copy()
    into[:, 3], weight[5:8] = 0, 0
    inputs = inputs_of(FLOAT, MANY)
    check(replace(FLOAT, constants={"into": into, "weight": weight}), inputs)
    unseen = replace(FLOAT, constants={"into": np.zeros_like(into)})
    check(unseen, inputs)
    uncounted = replace(FLOAT, constants={"weight": np.zeros_like(weight)})
    check(uncounted, inputs)
    inputs["before"][:, : FLOAT.rank] = 0  # a mean of nothing
    check(FLOAT, inputs)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_an_input_that_is_no_number_leaves_the_same_memory(value: float) -> None:
    inputs = inputs_of(FLOAT, 6)
    inputs["u"][::2, 3, 1, 2] = value
    _, _, after = check(FLOAT, inputs)
    assert np.isnan(after[::2, : FLOAT.rank]).all()
    assert np.isfinite(after[1::2]).all()
    check(FLOAT, {**inputs_of(FLOAT, 6, seed=1), "before": after})


@pytest.mark.parametrize(
    "column", [0, FLOAT.rank, -3, -2, -1], ids=["mean", "of channel", "square", "count", "agreement"]
)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1.0, 1e30])
def test_a_memory_of_any_numbers_is_taken_as_the_body_does(value: float, column: int) -> None:
    inputs = inputs_of(FLOAT, 10)
    inputs["before"][:, column] = value
    check(FLOAT, inputs)
    layer = layer_of("QLinearDomainFilterNorm", np.uint8)  # what its bytes are then is up to the runtime
    inputs = {**inputs_of(layer, 10), "before": inputs["before"]}
    wanted = portable(layer.graph()).run(None, inputs)[1:]
    for path in PATHS:
        assert_alike(native(layer.graph(), path).run(None, inputs)[1:], wanted)


@pytest.mark.parametrize("name", ["over", "doubt", "now", "domain_weight", "lowest", "room"])
def test_the_kernel_has_the_numbers_of_the_body(name: str) -> None:
    """A hundredth more in one of the body's, and the two differ; so they are the same."""
    inputs = inputs_of(FLOAT, MANY)
    body = type(FUNCTIONS[FLOAT.op])()
    body.CopyFrom(FUNCTIONS[FLOAT.op])
    (constant,) = (node for node in body.node if name in node.output)
    (attribute,) = constant.attribute
    found = native(FLOAT.graph(), PATHS[0]).run(None, inputs)
    for factor in (0.99, 1.01):
        value = attribute.f
        attribute.f = factor * value
        model = write_graph(FLOAT.graph(), "g", [body]).SerializeToString()
        attribute.f = value
        with pytest.raises(AssertionError):
            assert_alike(found, onnxruntime.InferenceSession(model).run(None, inputs))


@pytest.mark.parametrize("kept", [1, 2])
def test_outputs_that_nobody_wants_may_be_left_out(kept: int) -> None:
    graph, inputs = FLOAT.graph(), inputs_of(FLOAT, 3)
    (node,) = graph.nodes
    outputs = node.outputs[:kept]
    short = replace(graph, nodes=(replace(node, outputs=outputs),), outputs=outputs)
    whole = native(graph, PATHS[0]).run(None, inputs)
    found = native(short, PATHS[0]).run(None, inputs)
    assert [one.tobytes() for one in found] == [one.tobytes() for one in whole[:kept]]


@pytest.mark.parametrize("shape", [(2, 74), (0, 74), (3, 73), (3, 74, 1), (222,)])
def test_a_memory_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    graph = FLOAT.graph()
    free = replace(graph.tensors["before"], shape=tuple(f"before{i}" for i in range(len(shape))))
    session = native(replace(graph, tensors={**graph.tensors, "before": free}), PATHS[0])
    inputs = {**inputs_of(FLOAT, 3), "before": np.zeros(shape, np.float32)}
    with pytest.raises(Exception, match=r"before has the shape .*; it must be \(3, 74\), or one row"):
        session.run(None, inputs)


@pytest.mark.parametrize("length", [None, float("nan"), "long"])
def test_a_length_that_is_no_number_is_refused(length: object) -> None:
    graph: Graph = FLOAT.graph()
    (node,) = graph.nodes
    kept = {name: value for name, value in node.attributes.items() if name != "length"}
    if length is not None:
        kept["length"] = length
    with pytest.raises(Exception, match="its attribute length is not a number"):
        native(replace(graph, nodes=(replace(node, attributes=kept),)), PATHS[0])
