"""What is asked for: a candidate is a file for an engine, if both are here.

Engines are those of `leantta.runtime.engines`, which take files of ours, and plain ONNX Runtime, which takes
anybody's. A candidate may bring another way to open its file, such as with torch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leantta.errors import ArtifactError, SettingError
from leantta.files import existing
from leantta.runtime.container import INFO_KEY, read_container
from leantta.runtime.engines import ENGINES, Engine, Port, PortableOnnxRuntime, open_engine

Array = NDArray[Any]
Decisions = NDArray[np.int64]

PLAIN = "plain"
"""ONNX Runtime without anything of ours: for files that are not ours, and to compare with."""


class PlainOnnxRuntime(PortableOnnxRuntime):
    """Anybody's file with one input, whatever its name."""

    def __init__(self, path: Path, threads: int) -> None:
        super().__init__(str(path), threads, None)
        if len(self.inputs) != 1:
            raise SettingError(f"{path} has {len(self.inputs)} inputs; files with one can be measured.")
        self._input = self.inputs[0].name

    def run(self, images: Array, memory: Array | None = None) -> dict[str, Array]:
        """Return each output by its name; such a file remembers nothing."""
        del memory
        return dict(zip(self._names, self._session.run(self._names, {self._input: images}), strict=True))


def open_file(path: Path, engine: str, threads: int) -> Engine:
    """Return the engine of that name with the file loaded.

    Raises:
        LeanTTAError: it cannot be loaded or the engine is not here; the message says why.
    """
    return PlainOnnxRuntime(path, threads) if engine == PLAIN else open_engine(engine, path, threads=threads)


def scores(engine: Engine, inputs: Array) -> Array:
    """Return the first output for these inputs."""
    return next(iter(engine.run(inputs).values()))


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """What is asked for: a file on an engine, if what that needs is here."""

    name: str
    summary: str
    engine: str
    file: Callable[[], Path]  # makes it, if it is not there yet
    inputs: Callable[[Sequence[Port], int], Array]  # so many, for these ports
    open: Callable[[Path, str, int], Engine] = open_file  # file, engine, threads; a function of a module
    stays_open: bool = False  # it takes seconds to start, so it is opened once and has one fresh process
    lacks: Callable[[], str | None] = lambda: None  # why it cannot run here; None if it can
    adapts: str | None = None
    series: str | None = None
    analytic_bytes: int | None = None
    check: tuple[Array, Callable[[], Decisions]] | None = None  # inputs, and what is right to decide on them


def file_candidates(
    paths: Sequence[Path], engines: Sequence[str], shape: tuple[int, ...] | None, seed: int
) -> list[Candidate]:
    """Return each file on each engine; on ONNX Runtime, one that is not ours runs without anything of ours.

    Raises:
        MissingFileError: there is no such file.
        SettingError: there is no such engine, or two files have one name.
    """
    known = (*ENGINES, PLAIN)
    unknown = next((engine for engine in engines if engine not in known), None)
    if unknown is not None:
        raise SettingError(f"no engine is called {unknown!r}; the engines are {', '.join(known)}.")
    candidates = []
    for path in paths:
        existing(path, "model file")
        for engine in engines:
            plain = engine == "onnxruntime" and not is_ours(path)
            candidates.append(
                Candidate(
                    name=path.name if len(engines) == 1 else f"{path.name} {engine}",
                    summary=f"{path} on {'plain ONNX Runtime, as it is not ours' if plain else engine}",
                    engine=PLAIN if plain else engine,
                    file=lambda path=path: path,  # type: ignore[misc] # mypy knows no default of a lambda
                    inputs=lambda ports, count: inputs_for(ports[0], count, seed, shape),
                )
            )
    names = [each.name for each in candidates]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SettingError(f"two of the files are called {twice!r}; rename one, so that the table is clear.")
    return candidates


def absent(name: str, summary: str, reason: str) -> Candidate:
    """Return a candidate that cannot run here."""
    return Candidate(
        name=name,
        summary=summary,
        engine="",
        file=Path,
        inputs=lambda ports, count: np.empty((count, len(ports))),
        lacks=lambda: reason,
    )


def inputs_for(port: Port, batch: int, seed: int, shape: tuple[int, ...] | None = None) -> Array:
    """Return a random batch that the port takes: bytes or normal floats; `shape` is without the batch.

    Raises:
        SettingError: the port leaves a size open and no shape is given, or it takes something else.
    """
    sizes = port.shape[1:] if shape is None else shape
    fixed = [size for size in sizes if size is not None]
    if len(fixed) < len(sizes) or not sizes:
        raise SettingError(f"its input {port.name!r} leaves sizes open: say them with --shape C,H,W.")
    random = np.random.default_rng(seed)
    if port.dtype == "uint8":
        return random.integers(0, 256, (batch, *fixed), dtype=np.uint8)
    if port.dtype != "float32":
        raise SettingError(f"its input {port.name!r} is {port.dtype}; float32 and uint8 can be measured.")
    return random.standard_normal((batch, *fixed), np.float32)


def is_ours(path: Path) -> bool:
    """Tell whether `leantta convert` made the file.

    Raises:
        MissingFileError: there is nothing at `path`.
    """
    try:
        return INFO_KEY in read_container(path).metadata
    except ArtifactError:  # such as weights in another file, which plain ONNX Runtime may run
        return False
