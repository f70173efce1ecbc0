"""A benchmark as people ask for it and see it: of files, and with the laboratory of networks by name."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from leantta import plugins
from leantta.errors import SettingError
from leantta.measure.bench import SEED, BenchSettings, run_bench
from leantta.measure.candidates import file_candidates
from leantta.measure.plot import latency_picture
from leantta.measure.record import BenchRecord, read_bench, write_bench
from leantta.measure.results import bench_json, bench_table
from leantta.plotting import Picture
from leantta.progress import Progresses, silent
from leantta.records.json_file import kind_of
from leantta.tables import Table


@dataclass(frozen=True, kw_only=True)
class BenchRequest:
    """What to compare."""

    files: tuple[Path, ...] = ()
    engines: tuple[str, ...] = ("onnxruntime",)  # of the files
    shape: tuple[int, ...] | None = None  # of an input, where the model does not say
    base: str | None = None  # None: the first row
    settings: BenchSettings = BenchSettings()
    model: str | None = None  # the laboratory makes rows from it; the next three are for these
    rows: tuple[str, ...] = ("*",)  # names and globs
    weights: Path | None = None
    keep: Path | None = None  # folder for the files that are made; None: they are thrown away


class Shown(NamedTuple):
    """A record of any kind, as `leantta bench` shows and keeps it."""

    table: Callable[[], Table]
    figures: Callable[[], dict[str, Any]]  # JSON for machines
    picture: Callable[[], Picture]
    write: Callable[[Path], None]
    interrupted: bool = False


@dataclass(frozen=True, kw_only=True)
class NetworkBench:
    """What an entry point of the group `leantta.bench` holds: benchmarks of a network by its name."""

    run: Callable[[BenchRequest, Progresses], BenchRecord]  # of the rows made from it, beside the files
    list_rows: Callable[[], Table]
    picture: Callable[[BenchRecord], Picture]
    run_scaling: Callable[..., Shown]  # engine, sessions, rounds and progress: how the cost grows
    read_scaling: Callable[[Path], Shown]


def laboratory(asked: str) -> NetworkBench:
    """Return what measures networks.

    Raises:
        SettingError: the laboratory is not installed; the message says that it is needed for what was asked.
    """
    if "networks" not in plugins.brought("bench"):
        raise SettingError(
            f"{asked} is part of the laboratory: {plugins.LAB_INSTALL}. Files (.onnx) do not need it."
        )
    bench: NetworkBench = plugins.load("bench", "networks")
    return bench


def run_request(request: BenchRequest, progress: Progresses = lambda _: silent) -> BenchRecord:
    """Return the record of the benchmark that is asked for.

    Raises:
        LeanTTAError: something asked for does not exist, or nothing of it can be measured here.
    """
    if request.model is not None:
        return laboratory(f"measuring the model {request.model!r}").run(request, progress)
    if not request.files:
        raise SettingError("there is nothing to measure: name a model or files.")
    return run_bench(
        file_candidates(request.files, request.engines, request.shape, SEED),
        request.settings,
        base=request.base,
        about={"files": [str(path) for path in request.files]},
        progress=progress,
    )


def show_record(path: Path) -> Shown:
    """Return what a record in a file shows.

    Raises:
        MissingFileError: there is nothing at `path`.
        RecordError: it is no record of a benchmark, or it is damaged.
        SettingError: it is a record of the laboratory, which is not installed.
    """
    if kind_of(path) == "leantta scaling":
        return laboratory("a record of scaling").read_scaling(path)
    return show_bench(read_bench(path))


def show_bench(record: BenchRecord) -> Shown:
    """Return what a record of a benchmark shows."""

    def picture() -> Picture:
        if record.model is None:
            return latency_picture(record)
        return laboratory(f"the plot of the model {record.model!r}").picture(record)

    return Shown(
        table=partial(bench_table, record),
        figures=partial(bench_json, record),
        picture=picture,
        write=partial(write_bench, record),
        interrupted=record.interrupted,
    )
