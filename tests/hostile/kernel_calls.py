"""Attacks on the kernel through ONNX Runtime: nodes, constants and inputs that do not fit together."""

import random
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime

from hostile.attack import Attack, Try
from leantta.errors import ArtifactError
from leantta.graph.ir import Graph
from leantta.runtime import kernel
from leantta.runtime.engines import _onnxruntime_failures
from native.nodes import BYTES, TYPED, Layer, inputs_of, native, portable

Array = npt.NDArray[Any]

FAILURES: tuple[type[Exception], ...] = (*_onnxruntime_failures(), TypeError)
"""What ONNX Runtime raises, and what writing a graph does that cannot be one."""
SHAPES = ((3, 5, 7), (7, 3, 5), (1, 1), (2, 9), (16, 4), (2, 2, 2, 3))
TYPES = (np.float32, np.uint8, np.int8, np.float64, np.float16, np.int64, np.int32, np.bool_)
NUMBERS = (0.0, -1.0, 1e-30, 1e30, float("nan"), float("inf"), 0.5)
STEPS = 2
"""Bytes may be off by this beside the body: sums of float32, and a value at the edge of two codes."""


def any_shape(random_: random.Random, shape: tuple[int, ...]) -> tuple[int, ...]:
    found = list(shape)
    match random_.randrange(6):
        case 0 if found:
            found[random_.randrange(len(found))] = random_.choice((0, 1, 2, 7, 17))
        case 1:
            found.insert(random_.randrange(len(found) + 1), 1)
        case 2 if found:
            del found[random_.randrange(len(found))]
        case 3:
            found = found[::-1]
        case 4:
            found = [int(np.prod(found))]
        case _:
            found += [1] * random_.choice((1, 2, 14))
    return tuple(found)


def other_constant(random_: random.Random, graph: Graph) -> Graph:
    name = random_.choice(list(graph.constants))
    value = np.asarray(graph.constants[name])
    match random_.randrange(4):
        case 0:
            value = value.astype(random_.choice(TYPES))
        case 1:
            value = np.resize(value, any_shape(random_, value.shape))
        case 2 if value.size:
            value = value.copy()
            with np.errstate(all="ignore"):
                value.reshape(-1)[random_.randrange(value.size)] = np.float32(random_.choice(NUMBERS)).astype(
                    value.dtype
                )
        case _:
            with np.errstate(all="ignore"):
                value = (value * np.float32(random_.choice((0, 1.01, -1, 3)))).astype(value.dtype)
    return replace(graph, constants={**graph.constants, name: value})


def other_node(random_: random.Random, graph: Graph) -> Graph:
    (node,) = graph.nodes
    if not node.inputs:  # they are gone already
        return graph
    match random_.randrange(4):
        case 0 if node.attributes:
            name = random_.choice(list(node.attributes))
            kept = {key: value for key, value in node.attributes.items() if key != name}
            value = random_.choice((*NUMBERS, "text", 7))
            attributes = kept if random_.random() < 0.5 else {**kept, name: value}
            return replace(graph, nodes=(replace(node, attributes=attributes),))
        case 1 if len(node.inputs) > 1:
            inputs = list(node.inputs)
            one, other = random_.sample(range(len(inputs)), 2)
            inputs[one], inputs[other] = inputs[other], inputs[one]
            return replace(graph, nodes=(replace(node, inputs=tuple(inputs)),))
        case 2:
            return replace(
                graph, nodes=(replace(node, inputs=node.inputs[: random_.randrange(len(node.inputs))]),)
            )
        case _:
            place = random_.randrange(len(node.inputs))
            inputs = [*node.inputs[:place], random_.choice(("", *node.inputs)), *node.inputs[place + 1 :]]
            return replace(graph, nodes=(replace(node, inputs=tuple(inputs)),))


def other_input(
    random_: random.Random, graph: Graph, given: dict[str, Array]
) -> tuple[Graph, dict[str, Array]]:
    """Other inputs, and a graph that says nothing of shapes, so that the kernel has to look."""
    name = random_.choice(list(given))
    shape = any_shape(random_, given[name].shape)
    kind = random_.choice((given[name].dtype, given[name].dtype, np.dtype(random_.choice(TYPES))))
    names = list(given) if random_.random() < 0.5 else [name]
    changed = {each: np.resize(given[each], shape).astype(kind) for each in names}
    found = {**given, **changed}
    free = {
        each: replace(
            graph.tensors[each],
            dtype=found[each].dtype,
            shape=tuple(f"{each}{i}" for i in range(found[each].ndim)),
        )
        for each in found
    }
    outputs = {"y": replace(graph.tensors["y"], shape=tuple(f"y{i}" for i in range(found["u"].ndim)))}
    return replace(graph, tensors={**graph.tensors, **free, **outputs}), found


def run(make: Any, given: dict[str, Array], *words: Any) -> list[Array] | None:
    """What a session answers; None if ONNX Runtime refuses."""
    try:
        session: onnxruntime.InferenceSession = make(*words)
        return list(session.run(None, given))
    except FAILURES:
        return None


def same(one: Array, other: Array) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.dtype.kind in "ui":
        return int(np.abs(one.astype(np.int64) - other).max(initial=0)) <= STEPS
    with np.errstate(all="ignore"):
        room = 1e-3 * (1 + np.abs(np.nan_to_num(other, posinf=0, neginf=0)).max(initial=0))
    return bool(np.allclose(one, other, rtol=1e-3, atol=room, equal_nan=True))


def calls(_: Path, __: ExitStack) -> Try:
    """A node of any operator and type on any path; what the kernel answers, the body must answer, too."""
    paths = kernel.paths()

    def attempt(random_: random.Random) -> None:
        op, kind = random_.choice(TYPED)
        shape = random_.choice(SHAPES)
        if op in BYTES and len(shape) < 3:
            shape = (3, *shape)
        layer = Layer(op, kind, shape, seed=random_.randrange(100))
        graph, given = layer.graph(), inputs_of(layer, random_.choice((1, 2, 3)))
        for _ in range(random_.choice((1, 1, 2))):
            which = random_.random()
            if which < 0.4:
                graph, given = other_input(random_, graph, given)
            elif which < 0.8:
                graph = other_constant(random_, graph)
            else:
                graph = other_node(random_, graph)
        found = run(native, given, graph, random_.choice(paths))
        if found is None:
            raise ArtifactError("ONNX Runtime refused it.")
        if not found[0].size:  # the kernel answers an empty batch with nothing, the body of some refuses it
            return
        wanted = run(portable, given, graph)
        assert wanted is not None, f"{op} is answered by the kernel alone"
        assert all(same(one, other) for one, other in zip(found, wanted, strict=True)), (
            f"{op} answers otherwise"
        )

    return attempt


ATTACKS = (
    Attack(
        name="kernel",
        reader="the operators of the kernel, on every path",
        inputs="nodes, constants and inputs with other shapes, types and values",
        begin=calls,
        recorded=8_000,
    ),
)
