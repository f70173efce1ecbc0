"""Where inputs to watch come from: a folder that fills, a camera, a film, standard input, a log of answers.

Each gives `Input`s as they come. A folder is looked at every second; a file is taken once it no longer grows.
"""

import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from leantta.errors import DataError, LeanTTAError
from leantta.files import existing
from leantta.modalities.modality import FileReader, Source
from leantta.monitor.frames import is_frames, open_frames
from leantta.monitor.log import read_lines
from leantta.runtime.inputs import fit_image
from leantta.runtime.metadata import Info

POLL_S = 1.0


class Answer(NamedTuple):
    """What a model said of an input, as `leantta run --json` and the log of a server tell it."""

    label: str
    probability: float
    shift: float
    distances: dict[str, float] | None = None


class Input(NamedTuple):
    """An input by name: its values as the model takes them, or what was said of it, or why it has neither."""

    name: str
    values: npt.NDArray[Any] | None = None
    answer: Answer | None = None
    error: LeanTTAError | None = None


def inputs_of(
    source: str,
    reader: FileReader,
    *,
    every_s: float = 0.0,
    once: bool = False,
    known: frozenset[str] = frozenset(),
) -> Iterator[Input]:
    """Give the inputs of a source; `once`: those that a folder holds now, else it is watched for ever.

    Names in `known` are left out of a folder: they were seen before.

    Raises:
        LeanTTAError: there is no such source, or a camera fails.
    """
    if is_frames(source):
        yield from _frames(source, reader.info, every_s)
    elif source == "-":
        yield from _lines(sys.stdin.buffer, reader)
    elif source.lower().endswith((".jsonl", ".ndjson")):
        yield from _answers(read_lines(Path(source)), source)
    elif existing(Path(source), "file or folder to watch").is_dir() and not once:
        yield from _filling(Path(source), reader, known)
    else:
        for name, read in reader.files(source):
            if name not in known:
                yield from _values((name, read))


def _frames(source: str, info: Info, every_s: float) -> Iterator[Input]:
    with open_frames(source, every_s=every_s) as frames:
        for number, frame in enumerate(frames, 1):
            yield Input(f"{source}#{number}", values=fit_image(frame, info))


def _lines(stream: Iterable[bytes], reader: FileReader) -> Iterator[Input]:
    """Give what lines name: a path each, or an answer as JSON."""
    for line in stream:
        if line.lstrip().startswith(b"{"):
            yield from _answers([_parsed(line)], "standard input")
        elif line.strip():
            for each in reader.named([line]):
                yield from _values(each)


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads(line)
    except ValueError:
        return {}
    return told


def _answers(lines: Iterable[dict[str, Any]], source: str) -> Iterator[Input]:
    """Give what lines tell; lines of a log that are no answers, such as its events, are left out."""
    for number, line in enumerate(lines, 1):
        if not {"watch", "event"}.isdisjoint(line):
            continue
        name = str(line.get("path", f"{source}:{number}"))
        if "error" in line:
            yield Input(name, error=DataError(str(line["error"])))
            continue
        shift = line.get("shift")
        if not isinstance(shift, int | float):
            raise DataError(
                f"line {number} of {source} has no shift, so it is no answer of a file that adapts. Lines "
                "are those of `leantta run --json`."
            )
        distances = line.get("distances")
        yield Input(
            name,
            answer=Answer(
                str(line.get("label", "")),
                float(line.get("probability", 0.0)),
                float(shift),
                {str(k): float(v) for k, v in distances.items()} if isinstance(distances, dict) else None,
            ),
        )


def _filling(folder: Path, reader: FileReader, known: frozenset[str]) -> Iterator[Input]:
    """Give the files of a folder, and those that come, each once it no longer grows."""
    done = set(known)
    growing: dict[str, int] = {}
    while True:
        try:
            there = list(reader.find(folder))
        except DataError:  # nothing in it yet
            there = []
        for path in there:
            name = str(path)
            if name in done:
                continue
            try:
                size = path.stat().st_size
            except OSError:  # it has gone again
                continue
            if growing.get(name) != size and time.time() - path.stat().st_mtime < POLL_S:
                growing[name] = size
                continue
            done.add(name)
            growing.pop(name, None)
            for source in reader.files(name):
                yield from _values(source)
        time.sleep(POLL_S)


def _values(source: Source) -> Iterator[Input]:
    name, read = source
    try:
        for start_s, values in read():
            yield Input(name if start_s is None else f"{name}@{start_s:g}s", values=np.asarray(values))
    except LeanTTAError as e:
        yield Input(name, error=e)
