"""The record of a benchmark: one JSON file with every raw value, and all that says what was run."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from leantta.errors import RecordError
from leantta.records.json_file import read_json, write_json
from leantta.records.provenance import Provenance

KIND, FORMAT = "leantta bench", 1

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class RowRecord:
    """What was measured of one row; what could not be measured is empty or None, with a note."""

    name: str
    summary: str
    unavailable: str | None = None  # why it was not measured
    engine: str | None = None
    adapts: str | None = None  # which layers: none, sixteen, half or all
    series: str | None = None  # the bars of the plot that it belongs to
    size_bytes: int | None = None  # of the file
    sha256: str | None = None  # of the file
    analytic_bytes: int | None = None  # the paper's figure
    agreement: float | None = None  # share of decisions that are those of torch in float32, adapting alike
    loads: int = 0  # how often it was loaded; some sessions share one that takes long
    every: int = 1  # it took part in each so-manieth round
    warm_up_ms: list[list[float]] = field(default_factory=list)  # by session, in order; so are these two:
    latency_ms: list[list[float]] = field(default_factory=list)
    throughput_ms: list[list[float]] = field(default_factory=list)  # of a call with the larger batch
    processes: list[dict[str, float | None]] = field(default_factory=list)  # fresh ones, see `probe`
    energy: list[dict[str, float]] = field(default_factory=list)  # blocks of calls, see `energy`
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class BenchRecord(Provenance):
    """A benchmark: what was asked, where it ran, what was measured."""

    model: str | None
    base: str  # the row that the others are compared with
    settings: Mapping[str, Any]
    kernel: str | None  # what our native kernel uses here
    noise: Mapping[str, Any]
    energy: Mapping[str, Any]
    rows: tuple[RowRecord, ...]
    notes: tuple[str, ...] = ()
    interrupted: bool = False

    def row(self, name: str) -> RowRecord | None:
        """Return the row of that name if it was measured."""
        return next((row for row in self.measured if row.name == name), None)

    @property
    def conditions(self) -> str:
        """How and on what was measured, for a line of text."""
        threads, cores = self.settings["threads"], self.settings["cores"]
        numbers = ", ".join(map(str, cores or []))
        place = "not pinned" if cores is None else f"on core{'s' if len(cores) > 1 else ''} {numbers}"
        return (
            f"batch {self.settings['batch']}, {threads} thread{'s' if threads > 1 else ''} {place}, "
            f"{self.machine['cpu']}, kernel {self.kernel}"
        )

    @property
    def measured(self) -> list[RowRecord]:
        """The rows that have times."""
        return [row for row in self.rows if any(row.latency_ms)]


def write_bench(record: BenchRecord, path: Path) -> None:
    """Write the record; the file appears whole or not at all.

    Raises:
        StorageError: it cannot be written.
    """
    write_json({"kind": KIND, "format": FORMAT, **asdict(record)}, path)


def read_bench(path: Path) -> BenchRecord:
    """Return the record in a file.

    Raises:
        MissingFileError: there is nothing at `path`.
        RecordError: it is no record of a benchmark, it is damaged, or a newer version wrote it.
    """
    content = read_json(path, KIND, FORMAT)
    try:
        rows = tuple(from_json(RowRecord, row) for row in content["rows"])
        return from_json(BenchRecord, {**content, "rows": rows, "notes": tuple(content["notes"])})
    except (KeyError, TypeError, AttributeError) as e:
        raise RecordError(f"{path} is damaged: {e}. Run the benchmark again.") from e


def from_json(kind: type[T], content: Mapping[str, Any]) -> T:
    """Return the dataclass of what was written; keys that this version does not know are left out."""
    known = {each.name for each in fields(kind)}  # type: ignore[arg-type] # it is a dataclass
    return kind(**{name: value for name, value in content.items() if name in known})
