"""A function in place: the standard operators that a node of ours stands for."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from leantta.gates.gate import Gate
from leantta.graph.functions import function, function_of, has_dead_channels
from leantta.graph.ir import Array, Node


def inline(node: Node, constants: Mapping[str, Array]) -> tuple[list[Node], dict[str, Array]]:
    """Return the standard operators that a node of ours stands for, named after it, and their constants.

    `constants` are the graph's.
    """
    function = function_of(node, has_dead_channels(node, constants))
    names = dict(zip(function.input, node.inputs, strict=True))
    names |= dict(zip(function.output, node.outputs, strict=True))
    return _expanded(function, names, node.attributes, f"{node.name}/{node.op}")


def shown_distance(gate: Gate, raw: str, distance: str) -> tuple[list[Node], dict[str, Array]]:
    """Return the operators from raw distances to those that a file shows, and their constants."""
    attributes = gate.attributes()
    body = function("Shown", tuple(attributes), ("raw",), "distance", gate.operator.shown)
    nodes, constants = _expanded(body, {"raw": raw, "distance": distance}, attributes, distance)
    return [*nodes[:-1], replace(nodes[-1], name=distance)], constants


def _expanded(
    function: onnx.FunctionProto, names: dict[str, str], given: Mapping[str, Any], group: str
) -> tuple[list[Node], dict[str, Array]]:
    """Return the body of a function: `names` are those of its ends outside, `given` its attributes.

    What is inside is named after the group.
    """
    nodes: list[Node] = []
    constants: dict[str, Array] = {}

    def outer(name: str) -> str:
        return str(names.setdefault(name, f"{group}/{name}"))

    for proto in function.node:
        if proto.op_type == "Constant":
            constants[outer(proto.output[0])] = _value(proto.attribute[0], given)
            continue
        attributes = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
        nodes.append(
            Node(
                proto.op_type,
                tuple(outer(name) for name in proto.input),
                tuple(outer(name) for name in proto.output),
                attributes,
                f"{group}/{proto.output[0]}",
            )
        )
    return nodes, constants


def _value(attribute: onnx.AttributeProto, given: Mapping[str, Any]) -> Array:
    """Return the value of a Constant in a body, where it may stand for an attribute of the calling node."""
    if attribute.ref_attr_name:
        return np.asarray(given[attribute.ref_attr_name], np.float32)
    if attribute.name == "value_float":
        return np.asarray(attribute.f, np.float32)
    if attribute.name == "value_ints":
        return np.asarray(attribute.ints, np.int64)
    return numpy_helper.to_array(attribute.t)
