"""Somebody else's .onnx files, which have nothing of ours."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def foreign(
    path: Path, *, batch: int | str = "n", size: int | str = 8, dtype: int = TensorProto.FLOAT
) -> Path:
    """Write a mean over the positions and a matrix, with names unlike ours, and return the path."""
    matrix = numpy_helper.from_array(np.eye(3, 5, dtype=np.float32), "matrix")
    nodes = [
        helper.make_node("Cast", ["picture"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("GlobalAveragePool", ["real"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("MatMul", ["flat", "matrix"], ["verdict"]),
    ]
    graph = helper.make_graph(
        nodes,
        "theirs",
        [helper.make_tensor_value_info("picture", dtype, [batch, 3, size, size])],
        [helper.make_tensor_value_info("verdict", TensorProto.FLOAT, [batch, 5])],
        [matrix],
    )
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 18)])
    onnx.save(model, path)
    return path
