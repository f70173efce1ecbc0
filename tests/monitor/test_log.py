"""The log: whole lines, gone on with, never larger than it may be."""

import json
from pathlib import Path

import pytest

from leantta.errors import DataError, StorageError
from leantta.monitor.log import Log, is_log, read_lines
from leantta.monitor.monitor import Event

EVENT = Event(kind="alarm", input=7, shifted=3, inputs=5, chance=1e-5, moved={"bn1": 2.34567})


def test_lines_come_back_in_order(tmp_path: Path) -> None:
    log = Log(tmp_path / "deep" / "watch.jsonl", {"model": "m"})
    log.add({"path": "a", "shift": 0.5})
    log.event(EVENT)
    log.close()
    header, first, event = read_lines(tmp_path / "deep" / "watch.jsonl")
    assert (header["model"], first["path"], first["shift"]) == ("m", "a", 0.5)
    assert (event["event"], event["input"], event["moved"]) == ("alarm", 7, {"bn1": 2.346})
    assert is_log(tmp_path / "deep" / "watch.jsonl")


def test_a_line_that_was_cut_off_is_left_out_and_the_next_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "watch.jsonl"
    log = Log(path, {})
    log.add({"path": "a"})
    log.close()
    path.write_bytes(path.read_bytes()[:-5])
    log = Log(path, {})
    log.add({"path": "b"})
    log.close()
    assert [line.get("path") for line in read_lines(path)] == [None, None, "b"]


def test_a_full_log_becomes_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "watch.jsonl"
    log = Log(path, {"model": "m"}, most_bytes=600)
    for number in range(40):
        log.add({"path": str(number)})
    log.close()
    assert path.stat().st_size <= 600
    assert (tmp_path / "watch.jsonl.1").stat().st_size <= 600
    assert list(read_lines(path))[-1]["path"] == "39"
    assert "watch" in next(read_lines(path))


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError):
        Log(tmp_path / "file" / "watch.jsonl", {})


def test_a_folder_is_no_log(tmp_path: Path) -> None:
    assert not is_log(tmp_path)
    with pytest.raises(DataError):
        list(read_lines(tmp_path))
    (tmp_path / "other.jsonl").write_text(json.dumps({"record": 1}))
    assert not is_log(tmp_path / "other.jsonl")
