"""Channels of unlike reach get steps of their own in front of an adaptive layer, and nothing else changes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from leantta.graph.ir import Graph
from leantta.graph.run import run_graph
from leantta.quantize.calibrate import calibrate
from leantta.quantize.evening import BELOW, LEAST_REACH, evened
from leantta.quantize.nhwc import write_nhwc
from quantize.graphs import Case, built, inputs_of, node, normed
from reference import assert_close

REACHES = np.array([1, 8, 64, 32], np.float32) / 64
"""Of the channels that a convolution makes, over that of its inputs (2)."""


def case(kind: str, bias: bool) -> Case:
    """A convolution whose channels reach unlike far, and a normalization behind it."""
    parts = normed(kind)
    (norm,) = parts["nodes"]
    weight = (16 * np.diag(REACHES)).reshape(4, 4, 1, 1).astype(np.float32)
    shift = {"b": np.array([0.1, -0.2, 3, 0], np.float32)} if bias else {}
    conv = node("Conv", "x", "w", *shift, out="u")
    nodes = [conv, replace(norm, inputs=("u", *norm.inputs[1:]))]
    return Case(**{**parts, "nodes": nodes, "constants": {**parts["constants"], "w": weight, **shift}})


def values_of(graph: Graph, inputs: NDArray[Any], name: str) -> NDArray[Any]:
    found: NDArray[Any] = run_graph(replace(graph, outputs=(name,)), inputs, [name])[0]
    return found


@pytest.mark.parametrize("bias", [True, False])
def test_channels_reach_alike_and_factors_undo_it(bias: bool) -> None:
    this = case("AdaptiveNorm", bias)
    graph, inputs = built(this), inputs_of(this)
    ranges = calibrate(graph, inputs)
    even = evened(graph, ranges)
    before, after = (values_of(each, inputs, "u") for each in (graph, even.graph))
    along = (-1, 1, 1)
    assert_close(after * even.factors["u"].reshape(along), before, atol=1e-5)
    step = even.spans["u"][1] / 127
    assert even.spans["u"][0] == pytest.approx(-BELOW * step)
    used = np.maximum(-after.min(axis=(0, 2, 3)) / BELOW, after.max(axis=(0, 2, 3)) / 127) / step
    reach = np.abs(before).max(axis=(0, 2, 3))
    far = reach > LEAST_REACH
    assert far.any()
    assert not far.all()
    np.testing.assert_allclose(used[far], 1, rtol=1e-3)  # all of the bytes
    assert (used[~far] < 1).all()  # room for what was not seen
    np.testing.assert_allclose(even.factors["u"][~far] * 127 * step, LEAST_REACH, rtol=1e-3)


@pytest.mark.parametrize("kind", ["AdaptiveNorm", "CalibratedNorm"])
def test_narrow_channels_come_out_finer(kind: str) -> None:
    this = case(kind, bias=True)
    graph, inputs = built(this), inputs_of(this)
    ranges = calibrate(graph, inputs)
    alike = replace(
        ranges, channels={"u": type(ranges.channels["u"])(*(np.full(4, s) for s in ranges.spans["u"]))}
    )
    wanted = values_of(graph, inputs, "out")
    errors = {}
    for name, given in (("own", ranges), ("alike", alike)):
        written = write_nhwc(graph, given, last=False).graph
        errors[name] = np.abs(run_graph(written, inputs, ["logits"])[0].reshape(wanted.shape) - wanted)
    narrow = 0
    assert errors["own"][:, narrow].mean() < 0.5 * errors["alike"][:, narrow].mean()
    assert errors["own"].max() <= 1.1 * errors["alike"].max()


def test_what_somebody_else_reads_is_left_alone() -> None:
    this = case("AdaptiveNorm", bias=True)
    plain = built(this)
    graph = replace(plain, outputs=(*plain.outputs, "u"))
    even = evened(graph, calibrate(plain, inputs_of(this)))
    assert not even.factors
    assert even.graph == graph


def test_a_map_of_zeros_is_left_alone() -> None:
    this = case("AdaptiveNorm", bias=False)
    graph = built(this)
    dead = replace(graph, constants={**graph.constants, "w": np.zeros((4, 4, 1, 1), np.float32)})
    inputs = inputs_of(this)
    ranges = calibrate(dead, inputs)
    assert not evened(dead, ranges).factors
    found = run_graph(write_nhwc(dead, ranges, last=False).graph, inputs, ["logits"])[0]
    assert np.isfinite(found).all()


def test_two_layers_may_share_weights() -> None:
    """Each gets weights of its own, with its own factors."""
    this = case("AdaptiveNorm", bias=True)
    graph = built(this)
    nodes = list(graph.nodes)
    conv, norm = (next(n for n in nodes if n.outputs[0] == name) for name in ("u", "out"))
    again = replace(conv, inputs=("out", *conv.inputs[1:]), outputs=("u2",), name="u2")
    norm2 = replace(norm, inputs=("u2", *norm.inputs[1:]), outputs=("out2", "out2.distance"), name="out2")
    tail = replace(nodes[-1], inputs=("out2", *nodes[-1].inputs[1:]))
    tensors = {
        **graph.tensors,
        **{f"{name}2": graph.tensors[name] for name in ("u", "out")},
        "out2.distance": graph.tensors["out.distance"],
    }
    both = replace(graph, nodes=(*nodes[:-1], again, norm2, tail), tensors=tensors)
    inputs = inputs_of(this)
    even = evened(both, calibrate(both, inputs))
    assert set(even.factors) == {"u", "u2"}
    assert (even.factors["u"] != even.factors["u2"]).any()
    wanted = values_of(both, inputs, "u")
    assert_close(values_of(even.graph, inputs, "u") * even.factors["u"].reshape(-1, 1, 1), wanted, atol=1e-5)
