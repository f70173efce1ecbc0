"""The table of delays in the documents is that of the record, and the record keeps what is promised."""

import re
from pathlib import Path

import pytest

import monitor_delays
from leantta.records.json_file import read_json

PAGE = Path(__file__).resolve().parents[2] / "docs" / "monitoring.md"


def test_the_page_shows_the_record() -> None:
    record = read_json(monitor_delays.OUTPUT, monitor_delays.KIND, monitor_delays.VERSION)
    shown = re.search(r"<!-- monitor delays -->\n(.*?)\n<!-- end -->", PAGE.read_text(), re.DOTALL)
    assert shown is not None
    assert shown[1] == monitor_delays.table(record)
    inputs = monitor_delays.STREAMS * monitor_delays.LENGTH
    assert record["false_alarms"] <= record["rate"] * inputs


def test_delays_are_counted_from_the_first_shifted_input() -> None:
    record = {"source_images": 1000, "clean": [0.1], "cells": {"fog 5": [2.0], "jpeg 1": [0.5]}}
    assert set(monitor_delays.delays(record, "fog 5")) == {5}  # of 25 inputs, five are needed
    assert set(monitor_delays.delays(record, "jpeg 1")) == {None}
    assert monitor_delays.false_alarms({"source_images": 1000, "clean": [0.1]}) == 0


@pytest.mark.parametrize("clean", [[2.0]])
def test_streams_of_shifted_images_alarm_once_each(clean: list[float]) -> None:
    assert monitor_delays.false_alarms({"source_images": 1000, "clean": clean}) == monitor_delays.STREAMS
