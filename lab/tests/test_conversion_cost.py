"""The table of what a conversion takes is that of the record, and its aim of memory is held."""

import re
from pathlib import Path

import conversion_cost
from leantta.records.json_file import read_json

PAGE = Path(__file__).resolve().parents[2] / "docs" / "int8.md"
GIGABYTE = 1e9


def test_the_page_shows_the_record() -> None:
    record = read_json(conversion_cost.RECORD, conversion_cost.KIND, 1)
    shown = re.search(r"<!-- conversion cost -->\n(.*?)\n<!-- end -->", PAGE.read_text(), re.DOTALL)
    assert shown is not None
    assert shown[1] == conversion_cost.table(record)
    assert all(each["peak_rss_bytes"] < GIGABYTE for each in record["values"]["now"])
