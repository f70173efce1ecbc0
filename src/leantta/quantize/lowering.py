"""What both ways of writing an int8 graph share: edges in several forms, activations inside their makers.

A tensor of the float graph may exist in several forms at once: real or bytes, channels second ("plain") or
last. A form is made from another when a node first asks for it, and only then.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from leantta.gates.gate import Gate
from leantta.graph.functions import NORM, kind_of
from leantta.graph.ir import Array, Graph, Node, Shape, Tensor
from leantta.quantize.params import Affine, Range, affine_of

FLOAT, BYTES = np.dtype(np.float32), np.dtype(np.uint8)

QUANTIZED_MAKERS = ("Conv", "ConvTranspose", NORM, "Add", "Gemm")
"""Operations whose output is rounded to bytes at once, so that clipping to the range is an activation."""


class Form(NamedTuple):
    """How a tensor is held."""

    quantized: bool
    last: bool  # channels last


class Refused(NamedTuple):
    """The answer of a rule that does not fit an operator."""

    reason: str


class InFloat(NamedTuple):
    """An operator that is computed in float32, and why."""

    op: str
    name: str
    reason: str


class Int8Graph(NamedTuple):
    """A graph in int8, and what could not be: of so many operators these."""

    graph: Graph
    in_float: tuple[InFloat, ...]
    operators: int


ON_PURPOSE = Refused("rounding it costs most")
NO_RULE = Refused("no int8 rule")
READS_FLOAT = Refused("reads float32")
READS_CONSTANT = Refused("one side is a constant")

MOVES = ("Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Slice", "Identity")
"""Operations that only move values: bytes stay what they are."""


def computes(graph: Graph, node: Node) -> bool:
    """Tell whether the node computes real numbers, which others move or do not have."""
    return node.op not in MOVES and graph.tensors[node.outputs[0]].dtype == FLOAT


REAL, REAL_LAST, INT, INT_LAST = Form(False, False), Form(False, True), Form(True, False), Form(True, True)
_SUFFIX = {REAL: "", REAL_LAST: "/last", INT: "/u8", INT_LAST: "/u8_last"}


def to_last(shape: Shape) -> Shape:
    """Return a shape with the channels, the second axis, at the end."""
    return (shape[0], *shape[2:], shape[1]) if len(shape) > 2 else shape


def last_axis(axis: int, rank: int) -> int:
    """Return where an axis goes when the channels move to the end."""
    return axis if axis == 0 or rank < 3 else rank - 1 if axis == 1 else axis - 1


def fused_activations(graph: Graph) -> dict[str, str]:
    """Return, for tensors that only a ReLU or a clip around zero reads, the tensor behind that activation.

    Rounding to bytes clips to the range they stand for; with the range of what comes out of the activation,
    the activation is done.
    """
    uses = graph.uses()
    readers = {node.inputs[0]: node for node in graph.nodes if node.op in ("Relu", "Clip")}
    behind = {}
    for node in graph.nodes:
        tensor = node.outputs[0]
        reader = readers.get(tensor)
        if kind_of(node) not in QUANTIZED_MAKERS or reader is None or uses[tensor] != 1:
            continue
        if tensor in graph.outputs or reader.outputs[0] in graph.outputs:  # what leaves is not rounded
            continue
        if clips(reader, graph.constants):
            behind[tensor] = reader.outputs[0]
    return behind


def clips(node: Node, constants: Mapping[str, Array]) -> bool:
    """Tell whether the node is a ReLU or a clip to constant limits around zero."""
    if node.op != "Clip":
        return node.op == "Relu"
    limits = [constants.get(name) if name else None for name in (*node.inputs[1:], "", "")][:2]
    dynamic = any(name and name not in constants for name in node.inputs[1:])
    low = -np.inf if limits[0] is None else float(limits[0])
    high = np.inf if limits[1] is None else float(limits[1])
    return not dynamic and low <= 0 <= high


class Edges:
    """The new graph as it is written, and where each tensor of the old one is found in it."""

    def __init__(
        self, graph: Graph, spans: Mapping[str, Range], factors: Mapping[str, Array] | None = None
    ) -> None:
        self.graph = graph
        self.spans = spans
        self.factors = factors or {}  # by tensor: what its bytes are multiplied with beyond their scale, (c,)
        self.nodes: list[Node] = []
        self.constants: dict[str, Array] = {}
        self.tensors: dict[str, Tensor] = {}
        self.forms: dict[str, dict[Form, str]] = {}
        self.affines: dict[str, Affine] = {}
        self.absorbed: set[str] = set()  # tensors that exist only inside of a node

    def emit(
        self,
        op: str,
        inputs: Iterable[str],
        out: tuple[str, Tensor],
        attributes: Mapping[str, Any] | None = None,
        *,
        domain: str = "",
        more: tuple[str, ...] = (),
        gate: Gate | None = None,
    ) -> str:
        """Write a node whose first output is `out`; return that output's name."""
        name, tensor = out
        self.nodes.append(Node(op, tuple(inputs), (name, *more), attributes or {}, name, domain, gate))
        self.tensors[name] = tensor
        return name

    def write(
        self,
        op: str,
        inputs: Iterable[str],
        tensor: str,
        form: Form,
        attributes: Mapping[str, Any] | None = None,
        *,
        domain: str = "",
        more: tuple[str, ...] = (),
        gate: Gate | None = None,
    ) -> None:
        """Write a node whose first output is a tensor of the old graph in a form."""
        out = self.slot(tensor, form)
        name = self.emit(op, inputs, out, attributes, domain=domain, more=more, gate=gate)
        self.put(tensor, form, name)

    def constant(self, name: str, value: Array) -> str:
        """Keep a constant and return the name it got: the one given, or a free one if that holds another."""
        free, count = name, 1
        while not np.array_equal(self.constants.setdefault(free, value), value):
            count += 1
            free = f"{name}_{count}"
        return free

    def shape(self, tensor: str) -> Shape:
        """Return the shape of a tensor of the old graph, channels second."""
        shape = self.graph.tensors[tensor].shape
        assert shape is not None
        return shape

    def affine(self, tensor: str) -> Affine:
        """Return what the bytes of a tensor stand for."""
        if tensor not in self.affines:
            self.affines[tensor] = affine_of(self.spans[tensor])
        return self.affines[tensor]

    def affine_names(self, tensor: str) -> tuple[str, str]:
        """Return the names of the constants with the tensor's scale and zero point."""
        affine = self.affine(tensor)
        return (
            self.constant(f"{tensor}/scale", np.asarray(affine.scale, np.float32)),
            self.constant(f"{tensor}/zero", np.asarray(affine.zero, np.uint8)),
        )

    def channel_affine_names(self, tensor: str) -> tuple[str, str]:
        """Return the same for a tensor whose channels have factors: a scale and a zero point for each."""
        if tensor not in self.factors:
            return self.affine_names(tensor)
        affine, factors = self.affine(tensor), self.factors[tensor]
        return (
            self.constant(f"{tensor}/scales", (np.float32(affine.scale) * factors).astype(np.float32)),
            self.constant(f"{tensor}/zeros", np.full(len(factors), affine.zero, np.uint8)),
        )

    def slot(self, tensor: str, form: Form) -> tuple[str, Tensor]:
        """Return name and type that a tensor has in a form."""
        shape = self.shape(tensor)
        form = _possible(form, shape)
        dtype = BYTES if form.quantized else self.graph.tensors[tensor].dtype
        return f"{tensor}{_SUFFIX[form]}", Tensor(dtype, to_last(shape) if form.last else shape)

    def put(self, tensor: str, form: Form, name: str) -> None:
        """Remember that the tensor is there in a form, under a name."""
        self.forms.setdefault(tensor, {})[_possible(form, self.shape(tensor))] = name

    def absorb(self, tensors: Iterable[str]) -> None:
        """Remember that these tensors are computed inside of a node, so their own nodes are not needed."""
        self.absorbed.update(tensors)

    def is_done(self, tensor: str) -> bool:
        """Tell whether the tensor is there in some form, or inside of a node."""
        return tensor in self.forms or tensor in self.absorbed

    def same_bytes(self, tensor: str, source: str) -> None:
        """Let the bytes of a tensor stand for what those of another stand for."""
        self.affines[tensor] = self.affine(source)

    def is_int(self, tensor: str) -> bool:
        """Tell whether the tensor is there as bytes."""
        return any(form.quantized for form in self.forms.get(tensor, {}))

    def is_last(self, tensor: str) -> bool:
        """Tell whether the tensor is there with its channels last, whatever that means below rank 3."""
        return any(form.last for form in self.forms.get(tensor, {}))

    def get(self, tensor: str, form: Form) -> str:
        """Return the tensor in a form, made now if it is not there yet."""
        if tensor in self.graph.constants:
            return self.constant(tensor, self.graph.constants[tensor])
        form = _possible(form, self.shape(tensor))
        there = self.forms[tensor]
        if form in there:
            return there[form]
        across = Form(form.quantized, not form.last)  # one transposition away
        other = Form(not form.quantized, form.last)  # one rounding away
        if across in there:
            self._transpose(tensor, across, form)
        elif other in there:
            self._round(tensor, other, form)
        else:  # both: the transposition is cheaper in bytes
            halfway = Form(True, form.last) if not form.quantized else Form(True, not form.last)
            self.get(tensor, halfway)
            return self.get(tensor, form)
        return there[form]

    def _transpose(self, tensor: str, source: Form, form: Form) -> None:
        rank = len(self.shape(tensor))
        order = [0, *range(2, rank), 1] if form.last else [0, rank - 1, *range(1, rank - 1)]
        self.write("Transpose", [self.forms[tensor][source]], tensor, form, {"perm": order})

    def _round(self, tensor: str, source: Form, form: Form) -> None:
        op = "QuantizeLinear" if form.quantized else "DequantizeLinear"
        self.write(op, [self.forms[tensor][source], *self.affine_names(tensor)], tensor, form)

    def finished(self, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Graph:
        """Return the new graph."""
        tensors = {name: t for name, t in self.graph.tensors.items() if name in (*inputs, *outputs)}
        graph = Graph(tuple(self.nodes), self.constants, {**tensors, **self.tensors}, inputs, outputs)
        return graph.without_unused_constants()


def _possible(form: Form, shape: Shape) -> Form:
    """Return the form itself, or the plain one for tensors that have no positions to order."""
    return form if len(shape) > 2 else Form(form.quantized, False)


def shared_attributes(node: Node) -> dict[str, Any]:
    """Return the node's attributes without those that ONNX Runtime's own operators do not have."""
    return {k: v for k, v in node.attributes.items() if k not in ("storage_order", "group")}
