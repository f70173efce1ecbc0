"""The record of how the cost of adapting grows: one JSON file, and its table."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from leantta.errors import RecordError
from leantta.evaluate.intervals import Interval
from leantta.measure.figures import flat, median, ratio
from leantta.measure.record import read_json, write_json
from leantta.tables import Table

KIND, FORMAT = "leantta scaling", 1


@dataclass(frozen=True, kw_only=True)
class Point:
    """A network and how it runs; `share` of its layers adapt, the first ones."""

    channels: int = 64
    resolution: int = 16
    batch: int = 1
    threads: int = 1
    share: float = 1.0


@dataclass(frozen=True, kw_only=True)
class PointRecord:
    """What was measured at one point, in ms, by session and in order."""

    axis: str
    point: Point
    plain_ms: list[list[float]] = field(default_factory=list)
    adapting_ms: list[list[float]] = field(default_factory=list)

    @property
    def value(self) -> float:
        """Where on its axis the point lies."""
        return float(getattr(self.point, self.axis))

    @property
    def ratio(self) -> Interval:
        """Adapting to not adapting, in the same round."""
        return ratio(self.adapting_ms, self.plain_ms)

    @property
    def added_us(self) -> float:
        """What adapting adds to a call: the median of the differences in a round."""
        pairs = zip(flat(self.adapting_ms), flat(self.plain_ms), strict=True)
        return 1e3 * median([a - b for a, b in pairs])


@dataclass(frozen=True, kw_only=True)
class ScalingRecord:
    """The cost of adapting along every axis."""

    settings: Mapping[str, Any]
    machine: Mapping[str, Any]
    versions: Mapping[str, str]
    kernel: str | None
    command: str
    started: str
    noise: Mapping[str, Any]
    points: tuple[PointRecord, ...]


def scaling_table(record: ScalingRecord) -> Table:
    """Return a line for each point."""
    usual, settings = record.settings["usual"], record.settings
    rows = tuple(
        (
            found.axis,
            f"{found.value:g}",
            f"{median(flat(found.plain_ms)):.3f}",
            f"{median(flat(found.adapting_ms)):.3f}",
            "{:.3f} [{:.3f}, {:.3f}]".format(*found.ratio),
            f"{found.added_us:.1f}",
        )
        for found in record.points
    )
    others = ", ".join(f"{name} {value:g}" for name, value in usual.items())
    notes = [
        f"{settings['layers']} convolutions 3x3 with BatchNorm and ReLU, int8, engine {settings['engine']}, "
        f"{record.machine['cpu']}; kernel: {record.kernel}. One thing changes at a time, else {others}.",
    ]
    if record.noise["noisy"]:
        notes.append(f"WARNING: the machine was noisy: {'; '.join(record.noise['reasons'])}.")
    header = ("axis", "value", "plain ms", "adapting ms", "ratio [95 %]", "added us")
    return Table(header, rows, tuple(notes))


def write_scaling(record: ScalingRecord, path: Path) -> None:
    """Write the record; the file appears whole or not at all."""
    write_json({"kind": KIND, "format": FORMAT, **asdict(record)}, path)


def read_scaling(path: Path) -> ScalingRecord:
    """Return the record in a file.

    Raises:
        MissingFileError: there is nothing at `path`.
        RecordError: it is no record of scaling, or it is damaged.
    """
    content = read_json(path, KIND, FORMAT)
    try:
        points = tuple(PointRecord(**{**each, "point": Point(**each["point"])}) for each in content["points"])
        known = {name: content[name] for name in ScalingRecord.__dataclass_fields__}
        return ScalingRecord(**{**known, "points": points})
    except (KeyError, TypeError) as e:
        raise RecordError(f"{path} is damaged: {e}. Run the benchmark again.") from e
