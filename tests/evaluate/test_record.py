"""A damaged record is an error that says where; never a wrong figure."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leantta.errors import MissingFileError, RecordError
from leantta.evaluate.journal import chunk_line, finished_line, header_line
from leantta.evaluate.record import Chunk, Header, joined, read_record, scan
from leantta.records.provenance import Provenance
from leantta.streams.stream import Domain

RECIPE: dict[str, Any] = {
    "model": "m",
    "method": "none",
    "dataset": "d",
    "stream": {"name": "s", "seed": 0, "settings": {}},
}
HEADER = Header(
    recipe=RECIPE,
    inputs=6,
    domains=(Domain("fog", 3), Domain("snow", 5)),
    provenance=Provenance(
        command="leantta run",
        machine={"cpu": "a", "cores": 1},
        versions={"python": "3"},
        started="2025-01-01T00:00:00+00:00",
    ),
)


def chunk(start: int, *labels: int) -> Chunk:
    values = np.array(labels)
    return Chunk(start, values, values + 1, values % 2)


CHUNKS = [chunk(0, 1, 2, 3), chunk(3, 4, 5), chunk(5, 6)]
LINES = [header_line(HEADER), *map(chunk_line, CHUNKS), finished_line("2025-01-02")]


def written(path: Path, lines: list[bytes]) -> Path:
    path.write_bytes(b"".join(lines))
    return path


def test_a_record_survives_its_file(tmp_path: Path) -> None:
    record = read_record(written(tmp_path / "r", LINES))
    assert record.header == HEADER
    assert record.labels.tolist() == [1, 2, 3, 4, 5, 6]
    assert record.predictions.tolist() == [2, 3, 4, 5, 6, 7]
    assert record.domain.tolist() == [1, 0, 1, 0, 1, 0]
    assert record.finished == "2025-01-02"
    assert (record.model, record.method, record.stream["name"]) == ("m", "none", "s")
    assert not record.correct.any()


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, sum(map(len, LINES))))
def test_a_torn_record_counts_to_the_last_whole_line(cut: int, tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(b"".join(LINES)[:cut])
    whole = sum(cut >= end for end in np.cumsum([len(line) for line in LINES]))
    if whole == 0:
        with pytest.raises(RecordError, match="is not a record"):
            scan(tmp_path / "r")
        return
    content = scan(tmp_path / "r")
    assert len(content.chunks) == min(whole - 1, 3)
    assert (content.finished is not None) == (whole == 5)
    assert content.end == sum(len(line) for line in LINES[:whole])
    assert len(joined(content.header, content.chunks, None)) == sum(len(c.labels) for c in content.chunks)


def edited(line: bytes, **changes: object) -> bytes:
    return json.dumps({**json.loads(line), **changes}).encode() + b"\n"


def changed(number: int, **changes: object) -> Callable[[], list[bytes]]:
    return lambda: [*LINES[:number], edited(LINES[number], **changes), *LINES[number + 1 :]]


DAMAGES: dict[str, tuple[Callable[[], list[bytes]], str]] = {
    "no JSON": (lambda: [*LINES[:2], b"junk\n", *LINES[2:]], "line 3, is damaged: it is not JSON"),
    "zeros": (lambda: [*LINES[:2], bytes(50) + b"\n", *LINES[2:]], "line 3"),
    "a list": (lambda: [*LINES[:2], b"[]\n"], "line 3"),
    "a chunk twice": (lambda: [*LINES[:2], LINES[1]], "it starts at 0, not at 3; did two runs write it"),
    "a chunk missing": (lambda: [LINES[0], *LINES[2:]], "it starts at 3, not at 0"),
    "an early end": (lambda: [*LINES[:3], LINES[4]], "5 inputs of 6"),
    "more after the end": (lambda: [*LINES, chunk_line(chunk(6, 1))], "nothing may follow the end"),
    "too many inputs": (lambda: [*LINES[:4], chunk_line(chunk(6, 1))], "7 inputs of 6"),
    "fewer predictions": (changed(1, predictions=[1]), "as many whole numbers each"),
    "no labels": (changed(1, labels=None), "as many whole numbers each"),
    "labels of text": (changed(1, labels=["a", "b", "c"]), "as many whole numbers each"),
    "labels with a fraction": (changed(1, labels=[1, 2, 3.5]), "as many whole numbers each"),
    "huge labels": (changed(1, labels=[1, 2, 10**30]), "as many whole numbers each"),
    "nested labels": (changed(1, labels=[[1], [2], [3]]), "as many whole numbers each"),
    "an unknown domain": (changed(1, domain=[0, 1, 2]), "a domain outside 0 to 1"),
    "a start of text": (changed(1, start="0"), "whole numbers"),
    "no start": (changed(1, start=None), "whole numbers"),
    "another recipe": (changed(0, recipe={**RECIPE, "model": "n"}), "does not match its hash"),
    "no recipe": (changed(0, recipe=None), "line 1, is damaged"),
    "odd domains": (changed(0, domains=[["fog"]]), "line 1, is damaged"),
    "another schema": (changed(0, record=2), "has the schema 2; this version reads 1"),
    "no header": (lambda: LINES[1:], "is not a record"),
    "nothing": (lambda: [], "is not a record"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_found(name: str, tmp_path: Path) -> None:
    damaged, message = DAMAGES[name]
    with pytest.raises(RecordError, match=message):
        read_record(written(tmp_path / "r", damaged()))


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no record at"):
        read_record(tmp_path / "absent")


def test_records_with_and_without_ranks_and_values_are_read(tmp_path: Path) -> None:
    assert read_record(written(tmp_path / "plain", LINES)).ranks is None
    full = [each._replace(ranks=each.labels % 3, values=each.labels / 8) for each in CHUNKS]
    lines = [LINES[0], *map(chunk_line, full), LINES[-1]]
    record = read_record(written(tmp_path / "full", lines))
    assert record.ranks is not None
    assert record.values is not None
    assert record.ranks.tolist() == [1, 2, 0, 1, 2, 0]
    assert record.values.tolist() == [0.125, 0.25, 0.375, 0.5, 0.625, 0.75]
    mixed = read_record(written(tmp_path / "mixed", [LINES[0], chunk_line(full[0]), *LINES[2:]]))
    assert mixed.ranks is None
    with pytest.raises(RecordError, match="as many numbers"):
        read_record(written(tmp_path / "bad", [LINES[0], chunk_line(full[0]._replace(values=np.ones(1)))]))
