"""From a torch model to a float32 graph with readable names."""

import copy
import io
import json
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import onnx
import torch
from onnx import shape_inference
from torch import Tensor, nn

from leantta.errors import UnsupportedModelError
from leantta.export.heads import DISTANCE, RAW, SHIFT
from leantta.export.prepare import UnitNorm, prepare_
from leantta.export.returned import Returned, flat, outputs_of, returned
from leantta.gates.gate import Gate
from leantta.graph.functions import SHARED, float_constants, is_norm
from leantta.graph.ir import BATCH, OPSET, Array, Graph, Node, full_shape, read_graph
from leantta.graph.ir import Tensor as Edge
from leantta.pixels import Inputs, floats
from leantta.progress import Progress, silent
from leantta.surgery.plan import Plan

Floats = npt.NDArray[np.float32]

INPUT = "input"
RESERVED = (DISTANCE, SHIFT, RAW, "pixels", "scaled", "normalized")
"""Names that the file's own outputs and preprocessing have."""


@dataclass(frozen=True, eq=False)
class Traced:
    """A torch model as a float32 graph, and what the model itself says of some inputs."""

    graph: Graph
    layers: tuple[
        str, ...
    ]  # the adapting ones, in the order in which they run; one that is shared has several
    returned: Returned


def trace_adapted(lean: nn.Module, plan: Plan, inputs: Inputs, progress: Progress = silent) -> Traced:
    """Return the graph of a model that was changed as planned, and its outputs for some inputs.

    Raises:
        UnsupportedModelError: torch cannot export the model, or it returns what a file cannot give.
    """
    ready = copy.deepcopy(lean)
    prepare_(ready, plan)
    total = 1 + len(inputs)
    progress(0, total)
    graph = float_graph(ready, floats(inputs[:2]).clone())
    progress(1, total)
    layers = tuple(node.name for node in graph.nodes if is_norm(node))
    return Traced(graph, layers, returned(lean, inputs, lambda done: progress(1 + done, total)))


def float_graph(module: nn.Module, example: Tensor) -> Graph:
    """Return the graph of a module that takes one tensor; the batch axis is free.

    Its outputs are what `leantta.outputs` calls them. Each adaptive normalization has a second output, its
    distance; tensors are named after their modules.

    Raises:
        UnsupportedModelError: torch cannot export the model, or it returns what a file cannot give.
    """
    wanted = outputs_of(module, example)
    model = _exported(module, example)
    names = _scopes(model)
    gates = {unit.name: unit.gate for unit in module.modules() if isinstance(unit, UnitNorm)}
    graph = read_graph(shape_inference.infer_shapes(model, data_prop=True))
    graph = _named(_with_own_outputs(graph), names, gates, tuple(wanted))
    if (graph.tensors[INPUT].shape or ("",))[0] != BATCH:
        raise UnsupportedModelError(
            f"the model does something else for a batch of {len(example)} than for others, so a file cannot "
            "hold it; remove what depends on the batch size from its forward()."
        )
    for name, tensor in wanted.items():
        if (shape := graph.tensors[name].shape) != full_shape(tensor.shape):
            raise UnsupportedModelError(
                f"the model's output {name!r} has no fixed size: torch gives {tuple(tensor.shape)}, its "
                f"graph {shape}. Wrap the model in a module that picks outputs of a fixed size."
            )
    return graph


def _with_own_outputs(graph: Graph) -> Graph:
    """Return the graph with each output made by a node that is no normalization, and read by nobody else."""
    makers, uses = graph.producers(), graph.uses()
    nodes, tensors, outputs = list(graph.nodes), dict(graph.tensors), list(graph.outputs)
    for place, old in enumerate(graph.outputs):
        if old in makers and not is_norm(makers[old]) and uses[old] == 1:
            continue
        outputs[place] = f"{old}/output{place}"
        nodes.append(Node("Identity", (old,), (outputs[place],), {}, outputs[place]))
        tensors[outputs[place]] = tensors[old]
    return replace(graph, nodes=tuple(nodes), tensors=tensors, outputs=tuple(outputs))


def _exported(module: nn.Module, example: Tensor) -> onnx.ModelProto:
    batch = torch.export.Dim(BATCH, min=1, max=1 << 20)
    try:
        with _quiet(), flat(module.eval()):
            program = torch.onnx.export(
                module,
                (example,),
                dynamo=True,
                dynamic_shapes=({0: batch},),
                opset_version=OPSET,
                verbose=False,
            )
    except Exception as e:
        cause = str(e.__cause__ or e).strip().splitlines() or [type(e).__name__]
        raise UnsupportedModelError(
            f"torch cannot export {type(module).__name__}: {cause[0]} "
            "Models must not depend on the batch size or on values of their input."
        ) from e
    assert program is not None
    return program.model_proto


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporter's own reports off the screen; what matters reaches the caller as an error."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with (
            warnings.catch_warnings(),
            redirect_stdout(io.StringIO()),
            redirect_stderr(io.StringIO()),
            torch.no_grad(),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _scopes(model: onnx.ModelProto) -> dict[str, str]:
    """Return, for each tensor that a node makes, the name of the module that the node belongs to."""
    scopes = {}
    for node in model.graph.node:
        told = {entry.key: entry.value for entry in node.metadata_props}
        path = _list(told.get("pkg.torch.onnx.name_scopes", "[]"))
        module = next((part for part in reversed(path[:-1]) if part), "")
        for output in node.output:
            scopes[output] = module or path[-1] if path else node.op_type
    return scopes


def _list(text: str) -> list[str]:
    """Return the strings of a list as the exporter prints it, in single quotes."""
    try:
        return [str(part) for part in json.loads(text.replace("'", '"'))]
    except ValueError:
        return []


def _named(graph: Graph, scopes: Mapping[str, str], gates: Mapping[str, Gate], heads: Sequence[str]) -> Graph:
    """Return the graph with tensors named after modules, and a distance for each normalization."""
    new = {graph.inputs[0]: INPUT, **dict(zip(graph.outputs, heads, strict=True))}
    layers = {node.attributes["layer"] for node in graph.nodes if is_norm(node)}
    taken = {INPUT, *heads, *RESERVED, *graph.constants, *layers}
    nodes = []
    tensors: dict[str, Edge] = {}
    for node in graph.nodes:
        for output in node.outputs:
            if output and output not in new:
                new[output] = _free(node, scopes.get(output, node.op), taken, set(new.values()))
                taken.add(new[output])
        nodes.append(_renamed(node, new))
    for name, tensor in graph.tensors.items():
        fixed = name not in graph.constants and tensor.shape and tensor.shape[0] == BATCH
        tensors[new.get(name, name)] = replace(tensor, shape=full_shape(tensor.shape)) if fixed else tensor  # type: ignore[arg-type] # a fixed shape is known
    constants = dict(graph.constants)
    for place, node in enumerate(nodes):
        if is_norm(node):
            tensors[node.outputs[1]] = Edge(np.dtype(np.float32), (BATCH, 1))
            gate, rank = gates[str(node.attributes["layer"])], tensors[node.inputs[0]].rank
            nodes[place] = _shaped(node, gate, rank, constants)
    outputs = tuple(new.get(name, name) for name in graph.outputs)
    return Graph(tuple(nodes), constants, tensors, (INPUT,), outputs).without_unused_constants()


def _shaped(node: Node, gate: Gate, rank: int, constants: dict[str, Array]) -> Node:
    """Return a normalization with its gate, and its constants as its function takes them."""
    u, *given = node.inputs
    names = [f"positions_{rank}", *(f"{node.name}/{part}" for part in (*SHARED, *gate.operator.constants))]
    values = float_constants(rank, [constants[name] for name in given])
    constants.update(zip(names, values, strict=True))
    return replace(node, inputs=(u, *names), gate=gate)


def _free(node: Node, scope: str, taken: set[str], used: set[str]) -> str:
    """Return a name for what the node makes that nothing else has: its module's, or that with its kind."""
    if is_norm(node) and (layer := str(node.attributes["layer"])) not in {*used, *RESERVED}:
        return layer
    stem = scope if scope not in taken else f"{scope}.{node.op.lower()}"
    name, count = stem, 1
    while name in taken:
        count += 1
        name = f"{stem}_{count}"
    return name


def _renamed(node: Node, new: Mapping[str, str]) -> Node:
    outputs = tuple(new.get(name, name) for name in node.outputs)
    extra = (f"{outputs[0]}.distance",) if is_norm(node) else ()
    return replace(
        node,
        inputs=tuple(new.get(name, name) for name in node.inputs),
        outputs=outputs + extra,
        name=outputs[0],
    )
