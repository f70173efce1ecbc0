"""Run a graph with ONNX Runtime, batch by batch."""

from collections.abc import Sequence

import numpy as np
import onnxruntime as ort
import torch

from leantta.errors import ArtifactError
from leantta.graph.functions import called
from leantta.graph.ir import Array, Graph, write_graph
from leantta.progress import Progress, silent

AT_ONCE = 32
"""How many inputs run in one call."""


def open_graph(graph: Graph) -> ort.InferenceSession:
    """Return a session that runs the graph.

    Raises:
        ArtifactError: ONNX Runtime cannot run it.
    """
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = torch.get_num_threads()  # it takes all cores otherwise
    raw = write_graph(graph, "graph", called(graph.nodes, graph.constants)).SerializeToString()
    try:
        return ort.InferenceSession(raw, options, providers=["CPUExecutionProvider"])
    except Exception as e:
        first = str(e).strip().splitlines()[0]
        raise ArtifactError(f"ONNX Runtime cannot run the model: {first}") from e


def run_graph(
    graph: Graph, inputs: Array, outputs: Sequence[str], *, progress: Progress = silent
) -> list[Array]:
    """Return the named outputs for all inputs (n, ...)."""
    session = open_graph(graph)
    parts: list[list[Array]] = []
    for start in range(0, len(inputs), AT_ONCE):
        parts.append(session.run(list(outputs), {graph.inputs[0]: inputs[start : start + AT_ONCE]}))
        progress(min(start + AT_ONCE, len(inputs)), len(inputs))
    return [np.concatenate(values) for values in zip(*parts, strict=True)]
