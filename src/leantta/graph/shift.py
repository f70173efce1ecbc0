"""The end of a file as an ONNX function: the distances of all layers side by side, and the shift from them.

    distances = [d_1 .. d_L]  (n, L);    shift = max(0, distances @ unit - middle)  (n,)

In standard operators these are four nodes, and on a small network each of them costs as much as half an
adaptive layer. `native/` has a kernel of this name that does it in one.
"""

from functools import cache

import onnx
from onnx import parser

from leantta.graph.ir import LOCAL, OPSET

SHIFT_OF_DISTANCES = "ShiftOfDistances"

CONSTANTS = ("unit", "middle")
"""The first inputs, (L,) and (); the distances of the layers, (n, 1) each, are behind them."""


@cache
def shift_function(layers: int) -> onnx.FunctionProto:
    """Return the function for that many layers.

    >>> [node.op_type for node in shift_function(2).node]
    ['Concat', 'MatMul', 'Sub', 'Relu']
    """
    raw = ", ".join(f"distance{i}" for i in range(layers))
    return parser.parse_function(
        f"""<domain: "{LOCAL}", opset_import: ["" : {OPSET}]>
        {SHIFT_OF_DISTANCES} ({", ".join(CONSTANTS)}, {raw}) => (distances, shift) {{
            distances = Concat <axis = 1> ({raw})
            total = MatMul (distances, unit)
            signed = Sub (total, middle)
            shift = Relu (signed)
        }}"""
    )
