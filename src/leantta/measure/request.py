"""A benchmark as people ask for it: a model's name, rows, files and engines."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from leantta.errors import SettingError, StorageError
from leantta.extras import missing_extra
from leantta.measure.bench import SEED, BenchSettings, run_bench
from leantta.measure.candidates import Candidate, from_files, from_network, unavailable
from leantta.measure.record import BenchRecord
from leantta.measure.rows import ROWS, choose_rows
from leantta.progress import Progress, silent
from leantta.tables import Table


@dataclass(frozen=True, kw_only=True)
class BenchRequest:
    """What to compare."""

    model: str | None = None  # the rows of the table are made from it
    rows: tuple[str, ...] = ("*",)  # names and globs
    weights: Path | None = None
    files: tuple[Path, ...] = ()
    engines: tuple[str, ...] = ("onnxruntime",)  # of the files
    shape: tuple[int, ...] | None = None  # of an input, where the model does not say
    base: str | None = None  # None: the first row
    keep: Path | None = None  # folder for the files that are made; None: they are thrown away
    settings: BenchSettings = BenchSettings()


def run_request(request: BenchRequest, progress: Callable[[str], Progress] = lambda _: silent) -> BenchRecord:
    """Return the record of the benchmark that is asked for.

    Raises:
        LeanTTAError: something asked for does not exist, or nothing of it can be measured here.
    """
    if request.model is None and not request.files:
        raise SettingError("there is nothing to measure: name a model or files.")
    names = choose_rows(request.rows)
    files = from_files(request.files, request.engines, request.shape, SEED)
    with ExitStack() as stack:
        folder = (
            _made(request.keep)
            if request.keep
            else Path(stack.enter_context(TemporaryDirectory(prefix="leantta-bench-")))
        )
        about: dict[str, Any] = {"files": [str(path) for path in request.files]}
        notes: list[str] = []
        rows = [] if request.model is None else _rows(request.model, request, names, folder, about, notes)
        return run_bench(
            [*rows, *files],
            request.settings,
            model=request.model,
            base=request.base,
            about=about,
            notes=notes,
            progress=progress,
        )


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise StorageError(f"cannot make the folder {folder}: {e.strerror or e}. Choose another.") from e
    return folder


def _rows(
    model: str,
    request: BenchRequest,
    names: Sequence[str],
    folder: Path,
    about: dict[str, Any],
    notes: list[str],
) -> list[Candidate]:
    """Return the rows on the model, adding to `about` and `notes` what it is."""
    try:
        from leantta.measure.torch_network import Network
    except ModuleNotFoundError as e:
        return unavailable(names, str(missing_extra(e)))
    network = Network(model, request.weights, request.shape, folder)
    about |= {
        "weights": network.weights_are,
        "weights_sha256": network.weights_sha256,
        "inputs": network.inputs_are,
        "parameters": network.footprint.parameters,
        "footprint": network.footprint._asdict(),
    }
    if network.weights_sha256 is None:
        notes.append(f"Weights: {network.weights_are}.")
    return from_network(network, names, request.settings.batch)


def list_rows() -> Table:
    """Return the rows that can be asked for, and whether they are available here."""
    lines = tuple((name, row.summary, row.missing() or "yes") for name, row in ROWS.items())
    return Table(("row", "what", "available here"), lines)
