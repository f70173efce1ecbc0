"""What follows a normalization and is done in the same pass: a sum with another map, then an activation."""

from typing import NamedTuple

from leantta.graph.ir import Graph, Node
from leantta.quantize.lowering import clips


class Chain(NamedTuple):
    """What one int8 node computes, from a normalization on."""

    out: str  # the tensor that comes out
    residual: str | None = None  # what is added
    hard_swish: bool = False  # ReLU and clips need no word: the range of `out` is theirs
    inside: tuple[str, ...] = ()  # tensors between that nobody else reads


def chain_after(graph: Graph, node: Node) -> Chain:
    """Return how far a normalization can go on in one node.

    A sum belongs to the later of the two that make its terms, as the other one is there by then.
    """
    uses = graph.uses()
    readers = {name: reader for reader in graph.nodes for name in reader.inputs}
    made = {name: i for i, maker in enumerate(graph.nodes) for name in maker.outputs}
    made |= dict.fromkeys(graph.inputs, -1)

    def only_reader(tensor: str) -> Node | None:
        return readers[tensor] if uses[tensor] == 1 and tensor not in graph.outputs else None

    chain = Chain(node.outputs[0])
    reader = only_reader(chain.out)
    if reader is not None and reader.op == "Add" and len(set(reader.inputs)) == 2:
        (other,) = (name for name in reader.inputs if name != chain.out)
        same = other in made and graph.tensors[other].shape == graph.tensors[chain.out].shape
        if same and made[other] < made[chain.out] and reader.outputs[0] not in graph.outputs:
            chain = Chain(reader.outputs[0], residual=other, inside=(chain.out,))
            reader = only_reader(chain.out)
    if reader is None or reader.outputs[0] in graph.outputs:  # what leaves is not rounded
        return chain
    if reader.op == "HardSwish" or clips(reader, graph.constants):
        hard_swish = reader.op == "HardSwish"
        return Chain(reader.outputs[0], chain.residual, hard_swish, (*chain.inside, chain.out))
    return chain
