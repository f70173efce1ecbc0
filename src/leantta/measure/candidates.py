"""Who takes part: rows of the table on a network, and model files on engines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from leantta.errors import SettingError
from leantta.files import existing
from leantta.measure.rows import ROWS, Lack
from leantta.measure.subjects import PLAIN, Array, Subject, inputs_for, is_ours
from leantta.runtime.engines import ENGINES, Port

if TYPE_CHECKING:
    from leantta.measure.torch_network import Network

Decisions = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """Something that may take part, if what it needs is here."""

    name: str
    summary: str
    make: Callable[[], Subject]
    inputs: Callable[[Port | None, int], Array]  # for the port, so many
    missing: Lack = lambda: None
    adapts: str | None = None
    series: str | None = None
    analytic_bytes: int | None = None
    check: tuple[Array, Callable[[], Decisions]] | None = None  # inputs, and what torch decides on them


def from_network(network: "Network", names: Sequence[str], batch: int = 1) -> list[Candidate]:
    """Return these rows of the table, made from a network; the memory figure is that of the batch."""

    def inputs(port: Port | None, count: int) -> Array:
        del port  # all take the same
        return np.ascontiguousarray(np.resize(network.held_out, (count, *network.shape)))

    def check(adapts: str | None) -> tuple[Array, Callable[[], Decisions]] | None:
        if adapts is None or not network.trained:
            return None
        return network.held_out, lambda: network.decisions(adapts)

    def candidate(name: str) -> Candidate:
        row = ROWS[name]
        return Candidate(
            name=name,
            summary=row.summary,
            make=lambda: row.make(network),
            inputs=inputs,
            missing=row.missing,
            adapts=row.adapts,
            series=row.series,
            analytic_bytes=row.memory(network.footprint, batch),
            check=check(row.adapts),
        )

    return [candidate(name) for name in names]


def unavailable(names: Sequence[str], reason: str) -> list[Candidate]:
    """Return these rows of the table as not available."""
    return [
        Candidate(
            name=name,
            summary=ROWS[name].summary,
            make=partial(_same, Subject(Path(), "")),  # neither of these is asked
            inputs=partial(_from_port, seed=0, shape=None),
            missing=lambda: reason,
        )
        for name in names
    ]


def from_files(
    paths: Sequence[Path], engines: Sequence[str], shape: tuple[int, ...] | None, seed: int
) -> list[Candidate]:
    """Return each file on each engine; on ONNX Runtime, one that is not ours runs without anything of ours.

    Raises:
        MissingFileError: there is no such file.
        SettingError: there is no such engine, or two files have one name.
    """
    unknown = next((engine for engine in engines if engine not in (*ENGINES, PLAIN)), None)
    if unknown is not None:
        raise SettingError(
            f"no engine is called {unknown!r}; the engines are {', '.join((*ENGINES, PLAIN))}."
        )
    found = []
    for path in paths:
        existing(path, "model file")
        for engine in engines:
            plain = engine == "onnxruntime" and not is_ours(path)
            subject = Subject(path, PLAIN if plain else engine)
            found.append(
                Candidate(
                    name=path.name if len(engines) == 1 else f"{path.name} {engine}",
                    summary=f"{path} on {'plain ONNX Runtime, as it is not ours' if plain else engine}",
                    make=partial(_same, subject),
                    inputs=partial(_from_port, seed=seed, shape=shape),
                )
            )
    names = [each.name for each in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SettingError(f"two of the files are called {twice!r}; rename one, so that the table is clear.")
    return found


def _same(subject: Subject) -> Subject:
    return subject


def _from_port(port: Port | None, count: int, *, seed: int, shape: tuple[int, ...] | None) -> Array:
    assert port is not None  # every engine of files has one
    return inputs_for(port, count, seed, shape)
