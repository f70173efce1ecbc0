"""Whether the channels of a file are what its functions take them for.

A function is written in two forms, with and without dead channels: those whose ratio is 0. The kernel always
looks at the ratio, so where a function of the form without is called with a ratio that has a 0, it would
answer otherwise than the file. No file that LeanTTA writes has that.
"""

from collections.abc import Collection

import numpy as np

from leantta.runtime.wire import BYTES, Wire

_GRAPH, _NODE, _TENSOR = 7, 1, 5  # of a model, of its graph
_INPUT, _OPERATOR, _DOMAIN = 1, 4, 7  # of a node
_FLOATS, _NAME, _RAW = 4, 8, 9  # of a tensor


def with_unexpected_dead(wire: Wire, names: Collection[str]) -> frozenset[str]:
    """Return those of the functions that are called with a ratio that has a 0, or that is no constant.

    `names` are those of the form without dead channels.

    Raises:
        WireError: the file is damaged.
    """
    graphs = [(start, end) for number, kind, _, start, end in wire.fields(0, wire.size) if number == _GRAPH]
    ratios: dict[bytes, set[str]] = {}
    for graph in graphs:
        for number, kind, _, start, end in wire.fields(*graph):
            if (number, kind) == (_NODE, BYTES):
                function, ratio = _call(wire, start, end)
                if function in names:
                    ratios.setdefault(ratio, set()).add(function)
    alive = {
        name
        for graph in graphs
        for number, kind, _, start, end in wire.fields(*graph)
        if (number, kind) == (_TENSOR, BYTES)
        for name in _alive(wire, start, end, ratios)
    }
    return frozenset().union(*(called for ratio, called in ratios.items() if ratio not in alive))


def _call(wire: Wire, start: int, end: int) -> tuple[str, bytes]:
    """Return the function of ours that a node calls, and the name of its ratio; empty if it calls none."""
    inputs: list[bytes] = []
    operator = domain = b""
    for number, _, _, begin, stop in wire.fields(start, end):
        if number == _INPUT:
            inputs.append(wire.data(begin, stop))
        elif number == _OPERATOR:
            operator = wire.data(begin, stop)
        elif number == _DOMAIN:
            domain = wire.data(begin, stop)
    if domain != b"leantta":
        return "", b""
    place = 9 if operator.startswith(b"QLinear") else 4
    return operator.decode(errors="replace"), inputs[place] if place < len(inputs) else b""


def _alive(wire: Wire, start: int, end: int, wanted: Collection[bytes]) -> list[bytes]:
    """Return the name of a tensor if it is wanted and has no 0, as a list of one."""
    parts = {number: wire.data(begin, stop) for number, _, _, begin, stop in _short(wire, start, end)}
    name, values = parts.get(_NAME, b""), parts.get(_RAW) or parts.get(_FLOATS, b"")
    if name not in wanted or not values or len(values) % 4:
        return []
    return [name] if np.frombuffer(values, "<f4").all() else []


def _short(wire: Wire, start: int, end: int) -> list[tuple[int, int, int, int, int]]:
    """Return the fields of a tensor that a ratio may have: those of a large one are not read."""
    most = 4 * 65_536
    return [
        field
        for field in wire.fields(start, end)
        if field[0] in (_FLOATS, _NAME, _RAW) and field[4] - field[3] <= most
    ]
