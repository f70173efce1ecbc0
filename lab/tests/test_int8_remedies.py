"""The table of remedies in the documents is that of the record."""

import re
from pathlib import Path

import int8_remedies
from kept_rows import rows_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "int8.md"


def test_the_page_shows_the_record() -> None:
    shown = re.search(r"<!-- int8 remedies -->\n(.*?)\n<!-- end -->", PAGE.read_text(), re.DOTALL)
    assert shown is not None
    assert shown[1] == int8_remedies.table(rows_of(int8_remedies.OUTPUT))
