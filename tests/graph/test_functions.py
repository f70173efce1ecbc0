"""The adaptive normalization as ONNX Runtime computes it, against the paper's equations in numpy."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnxruntime import SessionOptions

from leantta.gates import table
from leantta.gates.calibrated import CalibratedGate
from leantta.gates.gate import Gate
from leantta.gates.paper import PaperGate
from leantta.graph.functions import (
    FUNCTIONS,
    called,
    float_constants,
    int8_constants,
    is_norm,
)
from leantta.graph.inline import inline
from leantta.graph.ir import BATCH, LOCAL, Graph, Node, Tensor, write_graph
from leantta.graph.run import run_graph
from leantta.quantize.params import Affine, affine_of
from leantta.runtime.kernel import library, register
from reference import Layer, adapted, assert_close, calibrated

Array = NDArray[np.float64]

GATES: dict[str, Gate] = {
    "paper": PaperGate(),
    "paper, bold": PaperGate(tau=0.3, lam=0.5),
    "calibrated": CalibratedGate(),
    "calibrated, bold": CalibratedGate(floor=0.0, ceiling=1.0),
}
SHAPES = {"one column": (4, 1, 2), "map": (3, 5, 4), "wide": (16, 3, 3), "sequence": (5, 7), "long": (2, 40)}
FLOAT = np.dtype(np.float32)


@dataclass(frozen=True)
class Case:
    """A layer, inputs to it, and what the paper's equations give."""

    x: Array  # (n, c, *positions)
    u: NDArray[np.float32]  # x behind the source normalisation
    constants: dict[str, NDArray[np.float32]]  # each (c,)
    y: Array
    total: Array  # (n, 1): S
    attributes: dict[str, float]

    @property
    def op(self) -> str:
        return "AdaptiveNorm" if "rate" in self.attributes else "CalibratedNorm"


def case(gate: Gate, shape: tuple[int, ...], batch: int, *, eps: float = 1e-3, seed: int = 0) -> Case:
    random = np.random.default_rng(seed)
    c = shape[0]
    layer = Layer(
        mean=random.normal(size=c),
        var=random.uniform(0.3, 3, c),
        gamma=random.uniform(0.5, 1.5, c) * random.choice([-1, 1], c),
        beta=random.normal(size=c),
        eps=eps,
    )
    along = (-1, *(1,) * (len(shape) - 1))
    moved = random.normal(0, 0.5, (batch, c)).reshape(batch, *along)  # samples differ from the source
    spread = random.uniform(0.3, 2.0, batch).reshape(batch, 1, *along[1:])
    deviation = np.sqrt(layer.var).reshape(along)
    x = layer.mean.reshape(along) + deviation * (moved + spread * random.normal(size=(batch, *shape)))
    u = ((x - layer.mean.reshape(along)) / np.sqrt(layer.var + eps).reshape(along)).astype(np.float32)
    scale = layer.var + eps
    constants = {"gamma": layer.gamma, "beta": layer.beta, "ratio": layer.var / scale}
    if isinstance(gate, PaperGate):
        y = adapted(x, layer, gate.tau, gate.lam)[0]
        total = -np.log1p(-adapted(x, layer, 0.9, 0.9)[1]) / 0.1**2  # S is there whatever tau makes of it
        constants["mean_weight"] = scale / (layer.var + 1e-6)
        free = 1 - gate.tau
        attributes = {"low": free * (1 - gate.lam), "room": free * gate.lam, "rate": -(free**2)}
    else:
        usual = random.uniform(0.05, 0.4, c), random.uniform(0.05, 0.4, c)
        assert isinstance(gate, CalibratedGate)
        y, total = calibrated(x, layer, usual, gate.floor, gate.ceiling)
        constants["mean_weight"] = 0.5 / c * scale / usual[0]
        constants["var_weight"] = 0.5 / c * scale**2 / usual[1]
        attributes = {"low": gate.floor, "room": gate.ceiling - gate.floor}
    small = {name: value.astype(np.float32) for name, value in constants.items()}
    return Case(x, u, small, y, total[:, None], attributes)


def graph_of(this: Case) -> Graph:
    """The float form as a graph of one node."""
    whole = Tensor(FLOAT, (BATCH, *this.u.shape[1:]))
    shaped = float_constants(this.u.ndim, list(this.constants.values()))
    constants = dict(zip(("positions", *this.constants), shaped, strict=True))
    attributes = {**this.attributes, "layer": "bn"}
    node = Node(this.op, ("u", *constants), ("y", "distance"), attributes, "bn", LOCAL)
    tensors = {"u": whole, "y": whole, "distance": Tensor(FLOAT, (BATCH, 1))}
    return Graph((node,), constants, tensors, ("u",), ("y", "distance"))


def inlined(graph: Graph) -> Graph:
    (node,) = graph.nodes
    nodes, constants = inline(node, graph.constants)
    return Graph(
        tuple(nodes), {**graph.constants, **constants}, graph.tensors, graph.inputs, graph.outputs
    ).without_unused_constants()


@pytest.mark.parametrize("batch", [1, 2, 7])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("gate", GATES)
def test_functions_compute_the_method(gate: str, shape: str, batch: int) -> None:
    this = case(GATES[gate], SHAPES[shape], batch)
    y, total = run_graph(graph_of(this), this.u, ["y", "distance"])
    assert_close(y, this.y, atol=2e-5)
    assert_close(total / this.total, np.ones((batch, 1)), atol=1e-4)


@pytest.mark.skipif(library() is None, reason="this installation has no kernel")
@pytest.mark.parametrize("gate", GATES)
def test_the_kernel_that_is_given_computes_the_same(gate: str) -> None:
    this = case(GATES[gate], (6, 4, 4), 5)
    given: list[bool] = []

    def kernel(options: SessionOptions) -> bool:
        given.append(register(options))
        return given[-1]

    found = run_graph(graph_of(this), this.u, ["y", "distance"], kernel=kernel)
    assert given == [True]
    exact = run_graph(graph_of(this), this.u, ["y", "distance"])
    for native, standard in zip(found, exact, strict=True):
        assert_close(native, standard, atol=2e-5 * (1 + float(np.abs(standard).max())))


@pytest.mark.parametrize("eps", [1e-5, 1e-3, 0.1])
@pytest.mark.parametrize("gate", GATES)
def test_a_large_eps_counts_as_in_batchnorm(gate: str, eps: float) -> None:
    this = case(GATES[gate], (4, 3, 3), 3, eps=eps)
    assert_close(run_graph(graph_of(this), this.u, ["y"])[0], this.y, atol=2e-5)


@pytest.mark.parametrize("gate", GATES)
def test_samples_do_not_see_each_other(gate: str) -> None:
    this = case(GATES[gate], (6, 4, 4), 5)
    together = run_graph(graph_of(this), this.u, ["y", "distance"])
    for i in range(5):
        alone = run_graph(graph_of(this), this.u[i : i + 1], ["y", "distance"])
        for one, many in zip(alone, together, strict=True):
            assert_close(one[0], many[i], atol=1e-6 * (1 + float(np.abs(many[i]).max())))


def test_tau_of_one_is_batchnorm() -> None:
    this = case(PaperGate(tau=1.0, lam=0.5), (4, 3, 3), 3)
    gamma, beta = (this.constants[name].reshape(-1, 1, 1) for name in ("gamma", "beta"))
    y, total = run_graph(graph_of(this), this.u, ["y", "distance"])
    assert_close(y, gamma * this.u + beta, atol=1e-6)
    assert (total > 0).all()  # it is measured all the same


@pytest.mark.parametrize("gate", ["paper", "calibrated"])
def test_a_single_position_has_no_variance(gate: str) -> None:
    """Nothing adapts there (`plan` sees to it); the function stays finite and follows its own formula."""
    this = case(GATES[gate], (4, 1), 2)
    c = {name: value.astype(np.float64) for name, value in this.constants.items()}
    mean, excess = this.u[:, :, 0].astype(np.float64), -c["ratio"]
    total = (c["mean_weight"] * mean**2).sum(1, keepdims=True)
    if gate == "paper":
        weight = 0.1 * (1 - 0.9 * (1 - np.exp(-0.01 * total)))
    else:
        total = total + (c["var_weight"] * excess**2).sum()
        weight = 0.4 * np.maximum(0, 1 - 1 / total)
    slope = c["gamma"] / np.sqrt(1 + weight * excess)
    found = run_graph(graph_of(this), this.u, ["y", "distance"])
    assert_close(found[0][:, :, 0], slope * (mean - weight * mean) + c["beta"], atol=1e-5)
    assert_close(found[1], total, atol=1e-4)


@pytest.mark.parametrize("gate", ["paper", "calibrated"])
def test_constant_and_far_inputs_stay_finite(gate: str) -> None:
    this = case(GATES[gate], (4, 3, 3), 3)
    u = np.zeros_like(this.u)
    u[1], u[2] = 100.0, -1e4
    y, total = run_graph(graph_of(this), u, ["y", "distance"])
    assert np.isfinite(y).all()
    assert np.isfinite(total).all()
    assert total[0, 0] < total[1, 0] < total[2, 0]


@pytest.mark.parametrize("gate", GATES)
def test_inlining_changes_no_number(gate: str) -> None:
    this = case(GATES[gate], (6, 4, 5), 3)
    called_, flat = graph_of(this), inlined(graph_of(this))
    assert all(node.domain == "" for node in flat.nodes)
    assert all(node.name.startswith("bn/") for node in flat.nodes)
    for a, b in zip(
        run_graph(called_, this.u, ["y", "distance"]), run_graph(flat, this.u, ["y", "distance"]), strict=True
    ):
        assert_close(a, b, atol=1e-6)
    onnx.checker.check_model(write_graph(flat, "flat"), full_check=True)


def test_two_inlined_layers_share_no_name() -> None:
    this = case(PaperGate(), (3, 2, 2), 1)
    (node,) = graph_of(this).nodes
    other = Node(node.op, node.inputs, ("z", "z.distance"), node.attributes, "bn2", node.domain)
    made = [name for n in (*inline(node, {})[0], *inline(other, {})[0]) for name in n.outputs]
    assert len(set(made)) == len(made)
    assert not set(inline(node, {})[1]) & set(inline(other, {})[1])


@pytest.mark.parametrize("batch", [1, 2, 7])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("gate", GATES)
def test_int8_forms_are_within_a_step(gate: str, shape: str, batch: int) -> None:
    this = case(GATES[gate], SHAPES[shape], batch)
    given, made = (affine_of((float(v.min()), float(v.max()))) for v in (this.u, this.y))
    integers = np.clip(np.rint(this.u / given.scale) + given.zero, 0, 255)
    rounded = ((integers - given.zero) * given.scale).astype(np.float32)  # what the bytes stand for
    exact, total = run_graph(graph_of(this), rounded, ["y", "distance"])
    last = np.moveaxis(integers, 1, -1).astype(np.uint8)
    found, distance = run_int8(this, last, (given.scale, given.zero), made)
    assert found.dtype == np.uint8
    real = made.scale * (np.moveaxis(found, -1, 1).astype(np.float64) - made.zero)
    assert_close(real, np.clip(exact, made.low, made.high), atol=0.51 * made.scale)
    assert_close(real, this.y, atol=3 * made.scale + 3 * given.scale)  # and no far cry from the exact one
    assert_close(distance, total, atol=1e-4 * (1 + float(total.max())))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("gate", GATES)
def test_channels_of_u_may_have_scales_of_their_own(gate: str, shape: str) -> None:
    this = case(GATES[gate], SHAPES[shape], 3)
    along = (-1, *(1,) * (this.u.ndim - 2))
    reach = np.abs(this.u).max(axis=(0, *range(2, this.u.ndim))).reshape(along)
    scale = (reach / 127).astype(np.float32)
    integers = np.rint(this.u / scale) + 128
    rounded = ((integers - 128) * scale).astype(np.float32)
    exact, total = run_graph(graph_of(this), rounded, ["y", "distance"])
    made = affine_of((float(this.y.min()), float(this.y.max())))
    last = np.moveaxis(integers, 1, -1).astype(np.uint8)
    found, distance = run_int8(this, last, (scale.reshape(-1), np.full(scale.size, 128)), made)
    real = made.scale * (np.moveaxis(found, -1, 1).astype(np.float64) - made.zero)
    assert_close(real, np.clip(exact, made.low, made.high), atol=0.51 * made.scale)
    assert_close(distance, total, atol=1e-4 * (1 + float(total.max())))


def test_every_function_is_valid_and_called_by_name() -> None:
    ends = ("", "Add", "HardSwish", "AddHardSwish")
    operators = [each for kind in table.GATES.values() for each in (kind.operator, kind.stream_operator)]
    norms = [each.name for each in operators if each is not None]
    assert {"AdaptiveNorm", "CalibratedNorm"} <= set(norms)
    assert set(FUNCTIONS) == {*norms, *(f"QLinear{name}{end}" for name in norms for end in ends)}
    node = graph_of(case(PaperGate(), (2, 2), 1)).nodes[0]
    assert is_norm(node)
    assert not is_norm(Node("AdaptiveNorm", (), ()))
    assert [f.name for f in called((node, node, Node("Relu", ("a",), ("b",))), {})] == ["AdaptiveNorm"]


def run_int8(
    this: Case, integers: NDArray[np.uint8], given: tuple[Any, Any], made: Affine
) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """The int8 form on bytes (n, *positions, c); given: the scale and zero point of u, or of each channel."""
    channels_first = (integers.shape[-1], *integers.shape[1:-1])
    shaped = int8_constants(channels_first, list(this.constants.values()))
    constants: dict[str, NDArray[Any]] = {
        "u_scale": np.asarray(given[0], np.float32),
        "u_zero": np.asarray(given[1], np.uint8),
        "y_scale": np.asarray(made.scale, np.float32),
        "y_zero": np.asarray(made.zero, np.uint8),
        **dict(zip(("average", "flat", *this.constants), shaped, strict=True)),
    }
    whole = Tensor(np.dtype(np.uint8), (BATCH, *integers.shape[1:]))
    attributes = {**this.attributes, "layer": "bn"}
    node = Node(f"QLinear{this.op}", ("u", *constants), ("y", "distance"), attributes, "bn", LOCAL)
    tensors = {"u": whole, "y": whole, "distance": Tensor(FLOAT, (BATCH, 1))}
    graph = Graph((node,), constants, tensors, ("u",), ("y", "distance"))
    onnx.checker.check_model(write_graph(graph, "g", called(graph.nodes, graph.constants)), full_check=True)
    y, distance = run_graph(graph, integers, ["y", "distance"])
    return y, distance
