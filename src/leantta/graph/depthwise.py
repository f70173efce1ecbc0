"""The int8 depthwise convolution, channels last, as an ONNX function.

    QLinearDepthwise    bytes in and out: (n, positions..., c)

It has the inputs and attributes of ONNX Runtime's QLinearConv, and its body is that operator. On x86-64
`native/` has a kernel of this name that gives the same bytes in less time, where `is_fast` tells so.
"""

from collections.abc import Mapping
from typing import Any

import onnx
from onnx import parser

from leantta.graph.ir import CONTRIB, LOCAL, OPSET

DEPTHWISE = "QLinearDepthwise"

INPUTS = ("x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero", "bias")
"""The inputs; all but x are constants, w is symmetric int8 (c, 1, positions...), and bias is not optional."""

LEAST_CHANNELS = 16
SIZES = ((3, 3), (5, 5))
STRIDES = ((1, 1), (2, 2))

FUNCTION: onnx.FunctionProto = parser.parse_function(
    f"""<domain: "{LOCAL}", opset_import: ["" : {OPSET}, "{CONTRIB}" : 1]>
    {DEPTHWISE} <kernel_shape, strides, pads, group> ({", ".join(INPUTS)}) => (y) {{
        y = {CONTRIB}.QLinearConv <kernel_shape: ints = @kernel_shape, strides: ints = @strides,
            pads: ints = @pads, group: int = @group, channels_last = 1> ({", ".join(INPUTS)})
    }}"""
)


def is_fast(attributes: Mapping[str, Any]) -> bool:
    """Tell whether the kernel has vectors for a depthwise convolution with these attributes of ONNX's Conv.

    >>> is_fast({"group": 32, "kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]})
    True
    >>> is_fast({"group": 32, "kernel_shape": [3, 3], "dilations": [2, 2]})
    False
    """

    def value(name: str) -> tuple[int, ...]:
        return tuple(attributes.get(name, (1, 1)))

    return (
        attributes["group"] >= LEAST_CHANNELS
        and value("kernel_shape") in SIZES
        and value("strides") in STRIDES
        and value("dilations") == (1, 1)
        and attributes.get("auto_pad", "NOTSET") == "NOTSET"
    )


def depthwise_attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a node of ours from those of ONNX's Conv."""
    return {
        "kernel_shape": list(attributes["kernel_shape"]),
        "strides": list(attributes.get("strides", (1, 1))),
        "pads": list(attributes.get("pads", (0, 0, 0, 0))),
        "group": attributes["group"],
    }
