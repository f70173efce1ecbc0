"""Tables as text: aligned for a terminal or a pipe, or in Markdown. No colours, no box drawing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

MISSING = "-"

_NUMBER = re.compile(r"[+-]?\d[\d.,]*%?(±[\d.]+)?( \[.*\])?")


@dataclass(frozen=True)
class Table:
    """Cells of text, and what a reader must know about them."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the table for a terminal, the notes below it."""
        return "\n".join([render(self.header, self.rows), *self.notes])

    def markdown(self) -> str:
        """Return the table in Markdown, the notes below it."""
        notes = ["", " ".join(self.notes)] if self.notes else []
        return "\n".join([markdown(self.header, self.rows), *notes])


def render(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return aligned columns two spaces apart, columns of numbers to the right; no line ends with a space.

    >>> print(render(["method", "all"], [["none", "71.4"], ["leantta", "6.4"]]))
    method    all
    none     71.4
    leantta   6.4
    """
    cells = [[_plain(cell) for cell in row] for row in [header, *rows]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = _numeric(rows, len(header))
    lines = [
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, right, strict=True)
        )
        for row in cells
    ]
    return "\n".join(line.rstrip() for line in lines)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the table in Markdown, columns of numbers to the right.

    >>> print(markdown(["method", "all"], [["none", "71.4"]]))
    | method | all |
    |---|---:|
    | none | 71.4 |
    """
    rule = "|" + "|".join("---:" if number else "---" for number in _numeric(rows, len(header))) + "|"
    lines = [
        "| " + " | ".join(_markdown_cell(_plain(cell)) for cell in row) + " |" for row in [header, *rows]
    ]
    return "\n".join([lines[0], rule, *lines[1:]])


def _markdown_cell(cell: str) -> str:
    """Return the cell with what Markdown would eat kept: bars and leading spaces."""
    text = cell.strip()
    return "&nbsp;" * (len(cell.rstrip()) - len(text)) + text.replace("|", r"\|")


def _plain(cell: str) -> str:
    return re.sub(r"[\r\n\t]+", " ", cell)


def _numeric(rows: Sequence[Sequence[str]], columns: int) -> list[bool]:
    """Whether each column holds numbers, but for missing ones."""
    present = [[row[i] for row in rows if row[i] not in ("", MISSING)] for i in range(columns)]
    return [bool(cells) and all(_NUMBER.fullmatch(cell.strip()) for cell in cells) for cells in present]
