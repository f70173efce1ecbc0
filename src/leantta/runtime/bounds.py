"""How much a model file may hold: more of anything than a network has would keep ONNX Runtime busy for hours.

Counts are known before ONNX Runtime sees the file. A graph at these bounds loads within some ten seconds on a
usual machine; `leantta.runtime.patience` bounds the time itself.
"""

from collections.abc import Mapping

from leantta.errors import ArtifactError

MAX_NODES = 20_000
"""Of a graph. The largest networks with BatchNorm have some 3,000."""

MAX_STEPS = 100_000
"""Nodes, with functions written out where they are called: 300 layers with a memory have some 35,000."""

MAX_TENSORS = 100_000
"""Constants. An adaptive layer has 15, so large networks have some 10,000."""

MAX_FIELDS = 5_000_000
"""Of all messages in a file, weights aside: to look at so many takes some seconds."""

Name = tuple[str, str]
"""Of an operator or a function: its domain and its name in it."""


def check_size(path: str, calls: Mapping[Name, int], functions: Mapping[Name, int], tensors: int) -> None:
    """Look whether a graph is small enough.

    `calls` tells how often it has each operator, `functions` how many nodes each function has.

    Raises:
        ArtifactError: it has more of something than any network.
    """
    steps = sum(count * functions.get(name, 1) for name, count in calls.items())
    for count, most, what in (
        (sum(calls.values()), MAX_NODES, "nodes"),
        (steps, MAX_STEPS, "nodes with its functions written out"),
        (tensors, MAX_TENSORS, "constants"),
    ):
        if count > most:
            raise ArtifactError(
                f"{path} has {count:,} {what}; at most {most:,} are loaded, since more would keep this "
                f"machine busy for long. Convert a smaller model."
            )
