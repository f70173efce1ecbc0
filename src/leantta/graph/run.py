"""Run a graph with ONNX Runtime, batch by batch."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import numpy as np
import onnxruntime as ort
import torch

from leantta.errors import ArtifactError
from leantta.graph.functions import called
from leantta.graph.ir import Array, Graph, write_graph
from leantta.pixels import Inputs, at_once, floats
from leantta.progress import Progress, silent

Kernel = Callable[[ort.SessionOptions], bool]
"""Gives a kernel to sessions of these options, as `runtime.kernel.register`; tells whether there is one."""

AT_ONCE = 8
"""How many inputs run in one call, at most."""


def open_graph(graph: Graph, *, kernel: Kernel | None = None) -> ort.InferenceSession:
    """Return a session that runs the graph, with the kernel if one is given and the graph can have it.

    Raises:
        ArtifactError: ONNX Runtime cannot run it.
    """
    raw = write_graph(graph, "graph", called(graph.nodes, graph.constants)).SerializeToString()
    options = _options()
    if kernel is not None and kernel(options):
        with suppress(Exception):  # ONNX Runtime's errors have no common base; it runs without the kernel
            return ort.InferenceSession(raw, options, providers=["CPUExecutionProvider"])
    try:
        return ort.InferenceSession(raw, _options(), providers=["CPUExecutionProvider"])
    except Exception as e:
        first = str(e).strip().splitlines()[0]
        raise ArtifactError(f"ONNX Runtime cannot run the model: {first}") from e


def _options() -> ort.SessionOptions:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.execution_order = ort.ExecutionOrder.PRIORITY_BASED  # as listed: a map is read while it is there
    options.intra_op_num_threads = torch.get_num_threads()  # it takes all cores otherwise
    return options


def run_graph(
    graph: Graph,
    inputs: Array | Inputs,
    outputs: Sequence[str],
    *,
    kernel: Kernel | None = None,
    progress: Progress = silent,
) -> list[Array]:
    """Return the named outputs for all inputs (n, ...)."""
    session = open_graph(graph, kernel=kernel)
    parts: list[list[Array]] = []
    for start, batch in batches(inputs, AT_ONCE):
        parts.append(session.run(list(outputs), {graph.inputs[0]: batch}))
        progress(start + len(batch), len(inputs))
    return [np.concatenate(values) for values in zip(*parts, strict=True)]


def batches(inputs: Array | Inputs, most: int) -> Iterator[tuple[int, Array]]:
    """Yield the position of each batch with its values as the graph takes them; few if they are large."""
    size = at_once(inputs, most)
    for start in range(0, len(inputs), size):
        part = inputs[start : start + size]
        yield start, part if isinstance(part, np.ndarray) else floats(part).numpy()
