"""The shift is 0 for ordinary inputs, above 1 for one source input in a hundred, and grows."""

import numpy as np
import pytest
from numpy.typing import NDArray

from leantta.export.heads import RAW, shift_scale, with_heads, with_raw_distances
from leantta.gates.calibrated import CalibratedGate
from leantta.gates.gate import Gate
from leantta.gates.paper import PaperGate
from leantta.graph.ir import BATCH, Graph, Node, Tensor
from leantta.graph.run import run_graph
from reference import assert_close

LAYERS = 4
ROW, CELL = (Tensor(np.dtype(np.float32), (BATCH, width)) for width in (LAYERS, 1))


def raw_distances(count: int) -> NDArray[np.float32]:
    """What layers of very different width would measure on source images."""
    random = np.random.default_rng(0)
    usual = np.array([0.1, 3.0, 40.0, 500.0])
    return (usual * random.chisquare(4, (count, LAYERS)) * random.lognormal(0, 0.3, (count, 1))).astype(
        np.float32
    )


def graph() -> Graph:
    """The raw distances themselves as the outputs of layers, behind one score."""
    nodes = [Node("Identity", ("input",), ("logits",), {}, "logits")]
    constants = {}
    for i in range(LAYERS):
        constants[f"column{i}"] = np.array([i])
        nodes.append(Node("Gather", ("input", f"column{i}"), (f"d{i}",), {"axis": 1}, f"d{i}"))
    names = [f"d{i}" for i in range(LAYERS)]
    tensors = {"input": ROW, "logits": ROW, **dict.fromkeys(names, CELL)}
    return Graph(tuple(nodes), constants, tensors, ("input",), ("logits", *names))


def outputs(raw: NDArray[np.float32], source: NDArray[np.float32], gate: Gate) -> list[NDArray[np.float32]]:
    written = with_heads(with_raw_distances(graph()), gate, shift_scale(source))
    assert written.outputs == ("logits", "distance", "shift")
    return run_graph(written, raw, ["distance", "shift"])


@pytest.mark.parametrize("count", [16, 100, 512, 1000])
def test_one_source_input_in_a_hundred_exceeds_one_and_half_have_none(count: int) -> None:
    source = raw_distances(count)
    _, shift = outputs(source, source, PaperGate())
    assert shift.shape == (count,)
    above = int((shift > 1 + 1e-5).sum())
    assert count // 100 - 1 <= above <= count / 100
    assert (shift == 0).sum() >= count // 2
    assert (shift > 0).sum() >= count // 2 - 1
    assert np.isfinite(shift).all()


def test_the_shift_is_its_formula() -> None:
    source, raw = raw_distances(300), 2 * raw_distances(20)
    usual = np.quantile(source, 0.99, axis=0, method="higher")
    total = (source / usual).mean(axis=1)
    middle, limit = np.median(total), np.quantile(total, 0.99, method="higher")
    wanted = np.maximum(0, ((raw / usual).mean(axis=1) - middle) / (limit - middle))
    assert_close(outputs(raw, source, PaperGate())[1], wanted, atol=1e-4)


def test_the_shift_grows_with_the_distance_and_no_layer_drowns_the_others() -> None:
    source = raw_distances(300)
    for layer in range(LAYERS):
        raw = np.median(source, axis=0, keepdims=True).repeat(4, axis=0)
        raw[:, layer] *= np.array([1, 10, 100, 1000])
        _, shift = outputs(raw.astype(np.float32), source, PaperGate())
        assert (np.diff(shift) > 0).all()
        assert shift[-1] > 1


def test_the_distance_is_the_gates_own() -> None:
    source = raw_distances(50)
    paper, _ = outputs(source, source, PaperGate(tau=0.7))
    assert_close(paper, 1 - np.exp(-0.09 * source.astype(np.float64)), atol=1e-6)
    calibrated, _ = outputs(source, source, CalibratedGate())
    assert_close(calibrated, source, atol=0)


def test_sources_that_never_move_divide_by_no_zero() -> None:
    source = np.zeros((20, LAYERS), np.float32)
    _, shift = outputs(np.concatenate([source, source + 1]), source, PaperGate())
    assert np.isfinite(shift).all()
    assert (shift[:20] == 0).all()
    assert (shift[20:] > 1).all()


def test_nothing_is_added_where_nothing_adapts() -> None:
    plain = Graph(graph().nodes[:1], {}, {"input": ROW, "logits": ROW}, ("input",), ("logits",))
    assert with_raw_distances(plain) is plain
    assert RAW not in plain.tensors
