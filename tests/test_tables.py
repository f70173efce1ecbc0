"""Text tables: aligned, plain, and with every cell in its column."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantta.tables import Table, markdown, render

words = st.from_regex(r"[a-z][^\s\x00-\x1f]{0,10}", fullmatch=True)
numbers = st.floats(-100, 100).map(lambda value: f"{value:+.1f}")


@given(st.lists(st.tuples(words, numbers, st.sampled_from(["-", "7", "71.4±0.9"])), min_size=1, max_size=8))
def test_columns_are_aligned(rows: list[tuple[str, str, str]]) -> None:
    lines = render(["name", "value", "last"], rows).split("\n")
    assert len(lines) == len(rows) + 1
    assert all(line == line.rstrip() for line in lines)
    end = {line.index(row[1], len(row[0])) + len(row[1]) for line, row in zip(lines[1:], rows, strict=True)}
    assert len(end) == 1  # numbers end below one another
    assert all(line.startswith(row[0] + " ") for line, row in zip(lines[1:], rows, strict=True))
    assert all(line.split("  ")[-1].strip() == row[2] for line, row in zip(lines[1:], rows, strict=True))


def test_text_is_left_and_numbers_are_right() -> None:
    assert render(["a", "b"], [["long text", "7"], ["x", "-12.5"], ["  y", "-"]]) == (
        "a              b\n"
        "long text      7\n"
        "x          -12.5\n"
        "  y            -"
    )  # fmt: skip


def test_line_breaks_do_not_break_lines() -> None:
    assert render(["a"], [["x\ny\tz"]]) == "a\nx y z"
    assert markdown(["a"], [["x\r\ny|z"]]) == "| a |\n|---|\n| x y\\|z |"


def test_an_empty_table_is_its_header() -> None:
    assert render(["a", "b"], []) == "a  b"
    assert markdown(["a", "b"], []) == "| a | b |\n|---|---|"


def test_a_row_of_another_length_is_a_bug() -> None:
    with pytest.raises(ValueError, match="zip"):
        render(["a", "b"], [["1"]])


def test_notes_come_below() -> None:
    table = Table(("a",), (("1",),), ("First.", "Second."))
    assert table.text() == "a\n1\nFirst.\nSecond."
    assert table.markdown() == "| a |\n|---:|\n| 1 |\n\nFirst. Second."


def test_names_that_begin_with_a_digit_are_no_numbers() -> None:
    assert render(["fed by"], [["0 (Conv2d)"], ["10 (Conv2d)"]]).splitlines()[1] == "0 (Conv2d)"
    assert render(["gain"], [["+1.0 [+0.5, +1.5]"], ["9.0±0.1"]]).splitlines()[2] == "          9.0±0.1"
