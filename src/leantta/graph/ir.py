"""A graph as a value: nodes, constants and the shape of every tensor; read from ONNX and written to it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from leantta.errors import UnsupportedModelError
from leantta.gates.gate import Gate

Array = npt.NDArray[Any]
Dim = int | str
Shape = tuple[Dim, ...]

OPSET = 18
IR_VERSION = 9  # what ONNX Runtime 1.17 reads
BATCH = "batch"
CONTRIB = "com.microsoft"
LOCAL = "leantta"


@dataclass(frozen=True)
class Node:
    """One operation; an input that is left out is the empty string."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    domain: str = ""
    gate: Gate | None = None  # of an adaptive normalization: what its function is made of


@dataclass(frozen=True)
class Tensor:
    """Type and shape of what flows along an edge; a shape of None is not known."""

    dtype: np.dtype[Any]
    shape: Shape | None

    @property
    def rank(self) -> int:
        """The number of axes."""
        assert self.shape is not None
        return len(self.shape)


@dataclass(frozen=True)
class Graph:
    """Nodes in an order in which they can run."""

    nodes: tuple[Node, ...]
    constants: Mapping[str, Array]
    tensors: Mapping[str, Tensor]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def uses(self) -> Counter[str]:
        """Count how often each tensor is read, the graph's own outputs included."""
        return Counter([*(name for node in self.nodes for name in node.inputs if name), *self.outputs])

    def producers(self) -> dict[str, Node]:
        """Return the node behind each tensor."""
        return {name: node for node in self.nodes for name in node.outputs if name}

    def without_unused_constants(self) -> "Graph":
        """Return the graph with only the constants that some node reads."""
        used = self.uses()
        kept = {name: value for name, value in self.constants.items() if name in used}
        return replace(self, constants=kept)


def read_graph(model: onnx.ModelProto) -> Graph:
    """Return the main graph of a model; `Constant` nodes become constants.

    Raises:
        UnsupportedModelError: an operation holds a graph of its own, such as If or Loop.
    """
    constants = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
    nodes = []
    for proto in model.graph.node:
        attributes = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
        if any(a.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) for a in proto.attribute):
            raise UnsupportedModelError(
                f"the model decides at run time what it computes ({proto.op_type}); only straight graphs can "
                "be converted. Remove the branch from its forward()."
            )
        if proto.op_type == "Constant":
            constants[proto.output[0]] = _constant(attributes)
            continue
        texts = {key: v.decode() if isinstance(v, bytes) else v for key, v in attributes.items()}
        nodes.append(
            Node(proto.op_type, tuple(proto.input), tuple(proto.output), texts, proto.name, proto.domain)
        )
    infos = [*model.graph.input, *model.graph.value_info, *model.graph.output]
    tensors = {info.name: _tensor(info) for info in infos if info.type.HasField("tensor_type")}
    fixed = [info.name for info in model.graph.input if info.name not in constants]
    return Graph(tuple(nodes), constants, tensors, tuple(fixed), tuple(o.name for o in model.graph.output))


def write_graph(
    graph: Graph,
    name: str,
    functions: Iterable[onnx.FunctionProto] = (),
    metadata: Mapping[str, str] | None = None,
) -> onnx.ModelProto:
    """Return the ONNX model of a graph, with the functions that its nodes call."""
    bodies = list(functions)
    domains = {"": OPSET} | {n.domain: 1 for n in graph.nodes if n.domain}
    ends = {*graph.inputs, *graph.outputs}
    inner = [
        _info(tensor, graph.tensors[tensor])
        for node in graph.nodes
        for tensor in node.outputs
        if tensor not in ends and tensor in graph.tensors and graph.tensors[tensor].shape is not None
    ]
    model = helper.make_model(
        helper.make_graph(
            [_proto(node) for node in graph.nodes],
            name,
            [_info(tensor, graph.tensors[tensor]) for tensor in graph.inputs],
            [_info(tensor, graph.tensors[tensor]) for tensor in graph.outputs],
            [numpy_helper.from_array(np.asarray(v, order="C"), key) for key, v in graph.constants.items()],
            value_info=inner,
        ),
        functions=bodies,
        opset_imports=[helper.make_opsetid(domain, version) for domain, version in domains.items()],
        ir_version=IR_VERSION,
        producer_name="leantta",
    )
    helper.set_model_props(model, dict(metadata or {}))
    return model


def full_shape(shape: Sequence[Dim]) -> Shape:
    """Return a shape with its first axis named as the batch."""
    return (BATCH, *shape[1:])


def _proto(node: Node) -> onnx.NodeProto:
    return helper.make_node(
        node.op, node.inputs, node.outputs, name=node.name, domain=node.domain, **node.attributes
    )


def _constant(attributes: Mapping[str, Any]) -> Array:
    (kind, value), *_ = attributes.items()
    if kind == "value":
        return numpy_helper.to_array(value)
    dtype = np.float32 if "float" in kind else np.int64
    return np.asarray(value, dtype)


def _tensor(info: onnx.ValueInfoProto) -> Tensor:
    kind = info.type.tensor_type
    shape = None
    if kind.HasField("shape"):
        shape = tuple(d.dim_value if d.HasField("dim_value") else d.dim_param or "?" for d in kind.shape.dim)
    return Tensor(np.dtype(helper.tensor_dtype_to_np_dtype(kind.elem_type or TensorProto.FLOAT)), shape)


def _info(name: str, tensor: Tensor) -> onnx.ValueInfoProto:
    shape = None if tensor.shape is None else [None if d == "?" else d for d in tensor.shape]
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(tensor.dtype), shape)
