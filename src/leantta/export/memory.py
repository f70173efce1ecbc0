"""Stream mode of a file: what its layers remember is an input that may be left out, and an output.

    memory       (streams, k)  what the layers remembered before; without it, or with zeros, nothing
    memory_next  (n, k)        what they remember after each input

k is r + 2c + 2 for each adapting layer (see `leantta.memory`). Rows of a batch are inputs of different
streams, or first inputs. A call without `memory` is the stateless one.
"""

from dataclasses import replace

import numpy as np

from leantta.graph.functions import LENGTH, is_norm
from leantta.graph.ir import BATCH, Graph, Node, Tensor
from leantta.memory import StreamMemory
from leantta.runtime.engines import MEMORY, NEXT_MEMORY

BESIDE_MEANS = 2
"""What a layer remembers beside means: how many inputs they count for, and how these agree."""


def with_memory(graph: Graph, memory: StreamMemory) -> tuple[Graph, int]:
    """Return a graph whose normalizations remember, and the size of what they remember."""
    nodes: list[Node] = []
    sizes: list[int] = []
    for node in graph.nodes:
        if not is_norm(node):
            nodes.append(node)
            continue
        assert node.gate is not None  # the exporter names it
        assert node.gate.stream_operator is not None  # asked for gates that remember only
        plain, streaming = node.gate.operator.name, node.gate.stream_operator.name
        place = len(sizes)
        sizes.append(_means(graph, node) + BESIDE_MEANS)
        nodes.append(
            replace(
                node,
                op=node.op.replace(plain, streaming),
                inputs=(*node.inputs, f"{MEMORY}/{place}"),
                outputs=(*node.outputs, f"{NEXT_MEMORY}/{place}"),
                attributes={**node.attributes, LENGTH: float(memory.length)},
            )
        )
    parts, after = (tuple(f"{name}/{i}" for i in range(len(sizes))) for name in (MEMORY, NEXT_MEMORY))
    total = sum(sizes)
    split = Node("Split", (MEMORY, f"{MEMORY}/sizes"), parts, {"axis": 1}, MEMORY)
    joined = Node("Concat", after, (NEXT_MEMORY,), {"axis": 1}, NEXT_MEMORY)
    floats = np.dtype(np.float32)
    tensors = {
        MEMORY: Tensor(floats, ("streams", total)),
        NEXT_MEMORY: Tensor(floats, (BATCH, total)),
        **{name: Tensor(floats, ("streams", size)) for name, size in zip(parts, sizes, strict=True)},
        **{name: Tensor(floats, (BATCH, size)) for name, size in zip(after, sizes, strict=True)},
    }
    constants = {MEMORY: np.zeros((1, total), np.float32), f"{MEMORY}/sizes": np.array(sizes)}
    streaming_graph = Graph(
        (split, *nodes, joined),
        {**graph.constants, **constants},
        {**graph.tensors, **tensors},
        (*graph.inputs, MEMORY),
        (*graph.outputs, NEXT_MEMORY),
    )
    return streaming_graph, total


def _means(graph: Graph, node: Node) -> int:
    """Return how many means a layer keeps: of each direction of its filter, and two of each channel."""
    from leantta.graph.functions import functions_of

    assert node.gate is not None
    form = functions_of(node.gate)[node.op]
    return int(sum(graph.constants[node.inputs[list(form.input).index("into")]].shape))  # (2c, r)
