"""Each remedy against rounding errors beside an independent formula, and the choice among them."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from leantta.graph.ir import BATCH, Graph, Node, Tensor
from leantta.graph.run import run_graph
from leantta.quantize.calibrate import Ranges, calibrate, seen_ranges
from leantta.quantize.choice import Images, prepare
from leantta.quantize.correction import corrected, layer_errors, weight_error
from leantta.quantize.equalisation import equalised
from leantta.quantize.lowering import Int8Graph
from leantta.quantize.nhwc import write_nhwc
from leantta.quantize.observers import ObserverName
from leantta.quantize.qdq import write_qdq
from leantta.quantize.work import multiply_adds, share_of_work
from reference import assert_close

Floats = NDArray[np.float32]
FLOAT = np.dtype(np.float32)
WORK = {"a": 8 * 36 * 3 * 9, "c": 8 * 36 * 8, "e": 5 * 36 * 8, "logits": 4 * 5}


def network(*, uneven: bool = False) -> Graph:
    """Two convolutions and their sum, a third that reads it, and a linear layer."""
    random = np.random.default_rng(0)

    def drawn(*shape: int) -> Floats:
        return random.normal(size=shape).astype(np.float32)

    reach = np.logspace(-2, 1, 8, dtype=np.float32) if uneven else np.ones(8, np.float32)
    column = reach.reshape(-1, 1, 1, 1)
    constants = {
        **{"wa": drawn(8, 3, 3, 3) * column, "ba": drawn(8) * reach},
        "wc": drawn(8, 8, 1, 1) * column / reach.reshape(1, -1, 1, 1) / 3,
        "we": drawn(5, 8, 1, 1) / reach.reshape(1, -1, 1, 1),
        **{"wl": drawn(4, 5), "bl": drawn(4), "axes": np.array([2, 3])},
    }
    nodes = (
        Node("Conv", ("input", "wa", "ba"), ("a",), {"pads": [1, 1, 1, 1]}, "a"),
        Node("Conv", ("a", "wc"), ("c",), {}, "c"),
        Node("Add", ("a", "c"), ("s",), {}, "s"),
        Node("Conv", ("s", "we"), ("e",), {}, "e"),
        Node("Relu", ("e",), ("r",), {}, "r"),
        Node("ReduceMean", ("r", "axes"), ("m",), {"keepdims": 0}, "m"),
        Node("Gemm", ("m", "wl", "bl"), ("logits",), {"transB": 1}, "logits"),
    )
    sizes = {"input": 3, "a": 8, "c": 8, "s": 8, "e": 5, "r": 5}
    tensors = {name: Tensor(FLOAT, (BATCH, size, 6, 6)) for name, size in sizes.items()}
    tensors |= {"m": Tensor(FLOAT, (BATCH, 5)), "logits": Tensor(FLOAT, (BATCH, 4))}
    return Graph(nodes, constants, tensors, ("input",), ("logits",))


@pytest.fixture(scope="module")
def inputs() -> Floats:
    return (np.random.default_rng(1).normal(size=(96, 3, 6, 6)) + 1).astype(np.float32)


def write(graph: Graph, ranges: Ranges, left: Collection[str] = ()) -> Int8Graph:
    return write_nhwc(graph, ranges, last=False, left=left)


def test_the_mean_error_of_a_layer_is_that_of_its_rounded_weights(inputs: Floats) -> None:
    graph = network()
    ranges = calibrate(graph, inputs)
    found = layer_errors(graph, ranges.spans, inputs)
    assert found.keys() == WORK.keys()
    wrong = dict(graph.constants)
    node = graph.nodes[1]
    error = weight_error(graph, node, ranges.spans)
    assert error is not None
    wrong["wc"] = wrong["wc"] + error
    exact, off = (
        run_graph(replace(graph, constants=c, outputs=("c",)), inputs, ["c"])[0]
        for c in (graph.constants, wrong)
    )
    assert_close(found["c"].mean, (off - exact).mean((0, 2, 3)), atol=1e-5)


def test_a_corrected_bias_takes_the_mean_error_away(inputs: Floats) -> None:
    graph = network()
    ranges = calibrate(graph, inputs)
    better = corrected(graph, layer_errors(graph, ranges.spans, inputs))
    exact = run_graph(graph, inputs, ["logits"])[0]
    means = [
        np.abs((run_graph(write(each, ranges).graph, inputs, ["logits"])[0] - exact).mean(0)).max()
        for each in (graph, better)
    ]
    assert means[1] < means[0]


def test_equalised_channels_compute_the_same_and_reach_alike(inputs: Floats) -> None:
    graph = network(uneven=True)
    seen = seen_ranges(graph, inputs)
    even = equalised(graph, seen.channels)
    exact, found = (run_graph(each, inputs, ["logits"])[0] for each in (graph, even))
    assert_close(found, exact, atol=1e-3)
    reach = [
        np.maximum(-channels["s"].low, channels["s"].high)
        for channels in (seen.channels, seen_ranges(even, inputs).channels)
    ]
    assert reach[1].max() / reach[1].min() < 0.2 * reach[0].max() / reach[0].min()


def test_multiply_adds_are_counted_from_shapes() -> None:
    assert multiply_adds(network()) == WORK
    assert share_of_work(network(), ["e", "s"]) == pytest.approx(WORK["e"] / sum(WORK.values()))


@pytest.mark.parametrize("portable", [False, True], ids=["nhwc", "portable"])
def test_a_layer_that_is_left_keeps_its_exact_weights(inputs: Floats, portable: bool) -> None:
    graph = network()
    ranges = calibrate(graph, inputs)
    left = [name for name in WORK if name != "logits"]
    int8 = write_qdq(graph, ranges, left=left) if portable else write(graph, ranges, left)
    told = {each.name: each.reason for each in int8.in_float}
    assert set(left) <= told.keys()
    exact = run_graph(graph, inputs, ["logits"])[0]
    errors = [
        np.abs(run_graph(each.graph, inputs, ["logits"])[0] - exact).mean()
        for each in (write(graph, ranges), int8)
    ]
    assert errors[1] < errors[0]


@pytest.mark.parametrize("portable", [False, True], ids=["nhwc", "portable"])
def test_two_layers_that_read_the_same_tensor_are_left(inputs: Floats, portable: bool) -> None:
    """As branches side by side do; mobileone_s0 was refused."""
    graph = network()
    nodes = list(graph.nodes)
    place = next(i for i, node in enumerate(nodes) if node.name == "r")
    nodes[place : place + 1] = [
        Node("Conv", ("s", "we"), ("f",), {}, "f"),
        Node("Add", ("e", "f"), ("sum",), {}, "sum"),
        Node("Relu", ("sum",), ("r",), {}, "r"),
    ]
    more = dict.fromkeys(("f", "sum"), graph.tensors["e"])
    graph = replace(graph, nodes=tuple(nodes), tensors={**graph.tensors, **more})
    ranges = calibrate(graph, inputs)
    left = ["e", "f"]
    int8 = write_qdq(graph, ranges, left=left) if portable else write(graph, ranges, left)
    exact, found = (run_graph(each, inputs, ["logits"])[0] for each in (graph, int8.graph))
    assert np.abs(found - exact).mean() < 0.05 * np.abs(exact).mean()


CHOICES: tuple[tuple[ObserverName, float], ...] = (("minmax", 0.0), ("auto", 0.3), ("auto", 0.0))


def test_auto_takes_what_is_best_on_images_for_choosing(inputs: Floats) -> None:
    graph = network(uneven=True)
    images = Images(inputs[:64], inputs[64:])
    plain, auto, without = (
        prepare(graph, images, write, observer=observer, float_budget=budget) for observer, budget in CHOICES
    )
    assert plain.error is not None
    assert auto.error is not None
    assert without.error is not None
    assert auto.error <= without.error <= plain.error
    assert share_of_work(graph, auto.left) <= 0.3
    assert not without.left


def test_without_images_to_choose_by_auto_is_minmax(inputs: Floats) -> None:
    found = prepare(network(), Images(inputs, inputs[:0]), write, observer="auto", float_budget=0.3)
    assert (found.observer, found.left, found.error) == ("minmax", (), None)
