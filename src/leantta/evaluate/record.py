"""Records: what a predictor said about a stream, and everything needed to know what was run.

A record file has one JSON value a line:

    {"record": 1, "recipe": {...}, "recipe_sha256": "...", "inputs": 9500, "domains": [["fog", 3], ...], ...}
    {"start": 0, "labels": [3, ...], "predictions": [5, ...], "domain": [17, ...]}    once per chunk
    {"resumed": "2025-01-31T11:00:00+00:00", "machine": {...}, "versions": {...}}     after a kill
    {"finished": "2025-01-31T12:00:00+00:00"}                                         at the end

Chunks may hold more: "ranks", how many classes score above the right one (0: it is the first), where there
are many classes; and "values", one number for each input by a measure of the user's own.

A last line without its end is what a killed run leaves behind, and does not count. Other damage is an error.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from leantta.errors import RecordError, SettingError
from leantta.files import existing
from leantta.records.provenance import Provenance, canonical, recipe_sha256
from leantta.streams.stream import Domain, Stream

SCHEMA = 1

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What the evaluation cannot see for itself of the predictor it is given."""

    model: str
    method: str
    dataset: str
    method_settings: Mapping[str, Any] = field(default_factory=dict)  # any JSON values
    weights_sha256: str | None = None
    threads: int | None = None  # None: not known


def recipe_of(settings: RunSettings, stream: Stream, batch_size: int) -> dict[str, Any]:
    """Return everything that decides the predictions, as plain JSON values.

    Raises:
        SettingError: a setting of the method is no JSON value.
    """
    recipe = {**asdict(settings), "batch_size": batch_size, "stream": stream.describe()}
    try:
        plain: dict[str, Any] = json.loads(canonical(recipe))
    except (TypeError, ValueError) as e:
        raise SettingError(f"the settings of {settings.method} must be plain JSON values: {e}.") from e
    return plain


@dataclass(frozen=True, kw_only=True)
class Header:
    """The first line of a record: what was run, over what, and where."""

    recipe: Mapping[str, Any]
    inputs: int
    domains: tuple[Domain, ...]
    provenance: Provenance

    @cached_property
    def recipe_sha256(self) -> str:
        """The hash by which the recipe is known."""
        return recipe_sha256(self.recipe)


class Chunk(NamedTuple):
    """What was said about a few inputs, the first of them at position `start` of the stream."""

    start: int
    labels: Integers
    predictions: Integers
    domain: Integers
    ranks: Integers | None = None
    values: Floats | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Record:
    """What was said about each input, in the order of the stream; shorter than the stream if not finished."""

    header: Header
    labels: Integers  # (n,)
    predictions: Integers  # (n,)
    domain: Integers  # (n,) position in header.domains
    finished: str | None  # when; None if it is not
    ranks: Integers | None = None  # (n,) how many classes score above the right one; None: not kept
    values: Floats | None = None  # (n,) of the user's own measure; None: there was none

    def __len__(self) -> int:
        """Return the number of inputs that were predicted."""
        return len(self.labels)

    @property
    def correct(self) -> npt.NDArray[np.bool_]:
        """Whether each prediction was right."""
        return np.asarray(self.labels == self.predictions, dtype=np.bool_)

    @property
    def model(self) -> str:
        """The name of the model."""
        return str(self.header.recipe["model"])

    @property
    def method(self) -> str:
        """The name of the method."""
        return str(self.header.recipe["method"])

    @property
    def stream(self) -> Mapping[str, Any]:
        """What the stream said of itself: name, seed, settings, order."""
        described: Mapping[str, Any] = self.header.recipe["stream"]
        return described


class Content(NamedTuple):
    """A record file as it lies: the whole chunks, and after which byte the next one belongs."""

    header: Header
    chunks: list[Chunk]
    finished: str | None
    end: int


def joined(header: Header, chunks: list[Chunk], finished: str | None) -> Record:
    """Return the record that the chunks add up to."""
    empty = np.zeros(0, dtype=np.int64)
    ranks = [chunk.ranks for chunk in chunks if chunk.ranks is not None]
    values = [chunk.values for chunk in chunks if chunk.values is not None]
    return Record(
        header=header,
        labels=np.concatenate([empty, *(chunk.labels for chunk in chunks)]),
        predictions=np.concatenate([empty, *(chunk.predictions for chunk in chunks)]),
        domain=np.concatenate([empty, *(chunk.domain for chunk in chunks)]),
        finished=finished,
        ranks=np.concatenate(ranks) if chunks and len(ranks) == len(chunks) else None,
        values=np.concatenate(values) if chunks and len(values) == len(chunks) else None,
    )


def read_record(path: Path) -> Record:
    """Return the record in a file; it may be that of a run that is still going on or was broken off.

    Raises:
        MissingFileError: there is nothing at `path`.
        RecordError: it is no record, or it is damaged.
    """
    return parse_record(_raw(path), path)


def parse_record(raw: bytes, where: Path | str) -> Record:
    """Return the record that a file holds; errors say that it is `where`.

    Raises:
        RecordError: it is no record, or it is damaged.
    """
    content = parse(raw, where)
    return joined(content.header, content.chunks, content.finished)


def scan(path: Path) -> Content:
    """Return what is in a record file, checked line by line.

    Raises:
        MissingFileError: there is nothing at `path`.
        RecordError: it is no record, or it is damaged.
    """
    return parse(_raw(path), path)


def _raw(path: Path) -> bytes:
    if existing(path, "record").is_dir():
        raise RecordError(f"{path} is a folder, not a record. Name a file in it.")
    return path.read_bytes()


def parse(raw: bytes, path: Path | str) -> Content:
    """Return what the bytes of a record file hold, checked line by line; errors say that it is at `path`.

    Raises:
        RecordError: it is no record, or it is damaged.
    """
    end = raw.rfind(b"\n") + 1
    lines = raw[:end].split(b"\n")[:-1]
    header = _header(path, _parsed(path, 1, lines[0]) if lines else None)
    chunks: list[Chunk] = []
    finished: str | None = None
    done = 0
    for number, line in enumerate(lines[1:], start=2):
        value = _parsed(path, number, line)
        if finished is not None or not isinstance(value, dict):
            raise _damaged(path, number, "nothing may follow the end")
        if "finished" in value:
            finished = str(value["finished"])
            continue
        if "resumed" in value:  # for whoever wonders about a change in the middle
            continue
        chunk = _chunk(path, number, value, header)
        if chunk.start != done:
            raise _damaged(path, number, f"it starts at {chunk.start}, not at {done}; did two runs write it?")
        done += len(chunk.labels)
        chunks.append(chunk)
    if done > header.inputs or (finished is not None and done != header.inputs):
        raise _damaged(path, len(lines), f"it has {done} inputs of {header.inputs}")
    return Content(header, chunks, finished, end)


def _damaged(path: Path | str, number: int, why: str) -> RecordError:
    return RecordError(f"{path}, line {number}, is damaged: {why}. Remove the file and run again.")


def _parsed(path: Path | str, number: int, line: bytes) -> object:
    try:
        value: object = json.loads(line)
    except ValueError as e:
        if number == 1:
            return None  # then it is no record at all, and is said to be none
        raise _damaged(path, number, "it is not JSON") from e
    return value


def _header(path: Path | str, value: object) -> Header:
    if not isinstance(value, dict) or "record" not in value:
        raise RecordError(f"{path} is not a record of leantta. Name another file.")
    if value["record"] != SCHEMA:
        raise RecordError(f"{path} has the schema {value['record']}; this version reads {SCHEMA}. Run again.")
    try:
        header = Header(
            recipe=value["recipe"],
            inputs=int(value["inputs"]),
            domains=tuple(
                Domain(str(corruption), int(severity)) for corruption, severity in value["domains"]
            ),
            provenance=Provenance(
                command=str(value["command"]),
                machine=dict(value["machine"]),
                versions=dict(value["versions"]),
                started=str(value["started"]),
            ),
        )
        _ = header.recipe["model"], header.recipe["method"], header.recipe["stream"]["name"]
        own = header.recipe_sha256
        stated = value["recipe_sha256"]
    except (KeyError, TypeError, ValueError) as e:
        raise _damaged(path, 1, f"the header lacks or garbles {e}") from e
    if stated != own:
        raise _damaged(path, 1, "the recipe does not match its hash")
    return header


def _chunk(path: Path | str, number: int, value: Mapping[str, Any], header: Header) -> Chunk:
    start = value.get("start")
    labels, predictions, domain = (_integers(value.get(key)) for key in ("labels", "predictions", "domain"))
    if type(start) is not int or not len(labels) or not len(labels) == len(predictions) == len(domain):
        raise _damaged(path, number, "labels, predictions and domain must be as many whole numbers each")
    if domain.min() < 0 or domain.max() >= len(header.domains):
        raise _damaged(path, number, f"it names a domain outside 0 to {len(header.domains) - 1}")
    ranks = _integers(value["ranks"]) if "ranks" in value else None
    values = _numbers(value["values"]) if "values" in value else None
    if any(extra is not None and len(extra) != len(labels) for extra in (ranks, values)):
        raise _damaged(path, number, "ranks and values must be as many numbers as there are labels")
    return Chunk(start, labels, predictions, domain, ranks, values)


def _integers(value: object) -> Integers:
    """Return a list of whole numbers as an array; an empty one if it is anything else."""
    whole = isinstance(value, list) and all(type(item) is int and abs(item) < 2**31 for item in value)
    return np.array(value if whole else [], dtype=np.int64)


def _numbers(value: object) -> Floats:
    """Return a list of numbers as an array; an empty one if it is anything else."""
    real = isinstance(value, list) and all(type(item) in (int, float) for item in value)
    return np.array(value if real else [], dtype=np.float64)
