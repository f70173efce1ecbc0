"""What the laboratory brings to `leantta bench`: rows made from a network, and how their cost grows."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from leantta.errors import StorageError
from leantta.extras import missing_extra
from leantta.measure.bench import SEED, run_bench
from leantta.measure.candidates import absent, file_candidates
from leantta.measure.record import BenchRecord
from leantta.measure.request import BenchRequest, NetworkBench, Shown
from leantta.progress import Progresses
from leantta.tables import Table
from leantta_lab.measure.fusion_plot import fusion_picture
from leantta_lab.measure.rows import ROWS, choose_rows
from leantta_lab.measure.scaling import read_scaling, run_scaling, show_scaling


def run_networks(request: BenchRequest, progress: Progresses) -> BenchRecord:
    """Return the record of the rows made from the request's model, and of its files.

    Raises:
        LeanTTAError: something asked for does not exist, or nothing of it can be measured here.
    """
    assert request.model is not None  # files alone are the tool's
    names = choose_rows(request.rows)
    files = file_candidates(request.files, request.engines, request.shape, SEED)
    about: dict[str, Any] = {"files": [str(path) for path in request.files]}
    notes = []
    with _folder(request.keep) as folder:
        try:
            from leantta_lab.measure.network import Network
        except ModuleNotFoundError as e:
            rows = [absent(name, ROWS[name].summary, str(missing_extra(e))) for name in names]
        else:
            network = Network(request.model, request.weights, request.shape, folder)
            about |= network.about
            if network.weights_sha256 is None:
                notes.append(f"Weights: {network.weights_are}.")
            rows = [ROWS[name].on(name, network, request.settings.batch) for name in names]
        return run_bench(
            [*rows, *files],
            request.settings,
            model=request.model,
            base=request.base,
            about=about,
            notes=notes,
            progress=progress,
        )


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """Give a folder for the files that are made: the one to keep them in, or one that goes with them."""
    if keep is None:
        with TemporaryDirectory(prefix="leantta-bench-") as folder:
            yield Path(folder)
        return
    try:
        keep.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise StorageError(f"cannot make the folder {keep}: {e.strerror or e}. Choose another.") from e
    yield keep


def list_rows() -> Table:
    """Return the rows that can be asked for, and whether they are available here."""
    lines = tuple((name, row.summary, row.missing() or "yes") for name, row in ROWS.items())
    return Table(("row", "what", "available here"), lines)


def _run_scaling(engine: str, sessions: int, rounds: int, progress: Progresses) -> Shown:
    return show_scaling(run_scaling(engine=engine, sessions=sessions, rounds=rounds, progress=progress))


NETWORKS = NetworkBench(
    run=run_networks,
    list_rows=list_rows,
    picture=fusion_picture,
    run_scaling=_run_scaling,
    read_scaling=lambda path: show_scaling(read_scaling(path)),
)
