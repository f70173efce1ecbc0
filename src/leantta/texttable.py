"""Tables as plain text: aligned columns that a pipe can cut, no colours, no boxes."""

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"[-+]?[\d.,]+%?|-|")


def render(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the table with columns two spaces apart; columns of numbers are aligned to the right.

    >>> print(render(["layer", "n"], [["bn1", "64"], ["layer1.bn1", "128"]]))
    layer         n
    ----------  ---
    bn1          64
    layer1.bn1  128
    """
    columns = list(zip(header, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    right = [bool(rows) and all(_NUMBER.fullmatch(cell) for cell in column[1:]) for column in columns]

    def line(cells: Sequence[str]) -> str:
        padded = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right, strict=True)]
        return "  ".join(padded).rstrip()

    return "\n".join([line(header), line(["-" * w for w in widths]), *map(line, rows)])
