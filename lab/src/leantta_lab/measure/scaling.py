"""How the cost of adapting grows with channels, resolution, batch, threads and the share of adapting layers.

A small network of equal 3x3 convolutions is made for each point, once with nothing adapting and once
adapting; both take turns. One thing is changed at a time, the others are those of `USUAL`.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from leantta.errors import RecordError
from leantta.evaluate.intervals import Interval
from leantta.measure.candidates import file_candidates
from leantta.measure.figures import flat, median, ratio
from leantta.measure.machine import cpu_time, judge_noise, pinned, usable_cores
from leantta.measure.record import from_json
from leantta.measure.request import Shown
from leantta.measure.running import Running, calls_of, closing, load_for_session, take_turns
from leantta.progress import Progresses, silent
from leantta.records.json_file import read_json, write_json
from leantta.records.provenance import Provenance, provenance_now, time_now
from leantta.runtime.kernel import describe
from leantta.tables import Table

KIND, FORMAT = "leantta scaling", 1
LAYERS = 8


@dataclass(frozen=True, kw_only=True)
class Point:
    """A network and how it runs; `share` of its layers adapt, the first ones."""

    channels: int = 64
    resolution: int = 16
    batch: int = 1
    threads: int = 1
    share: float = 1.0


USUAL = Point()

AXES: Mapping[str, tuple[int | float, ...]] = {
    "channels": (8, 16, 32, 64, 128, 256),
    "resolution": (4, 8, 16, 32, 64),
    "batch": (1, 2, 4, 8, 16, 32),
    "threads": (1, 2, 4, 8, 16),  # as many as there are cores
    "share": (0.0, 0.25, 0.5, 0.75, 1.0),
}


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
class ScalingRecord(Provenance):
    """The cost of adapting along every axis."""

    settings: Mapping[str, Any]
    kernel: str | None
    noise: Mapping[str, Any]
    points: tuple[PointRecord, ...]

    @property
    def conditions(self) -> str:
        """What was measured on what, for a line of text."""
        others = ", ".join(f"{name} {value:g}" for name, value in self.settings["usual"].items())
        return (
            f"{self.settings['layers']} convolutions 3x3 with BatchNorm and ReLU, int8, engine "
            f"{self.settings['engine']}, {self.machine['cpu']}; kernel: {self.kernel}. "
            f"One thing changes at a time, else {others}."
        )


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
        return from_json(ScalingRecord, {**content, "points": points})
    except (KeyError, TypeError) as e:
        raise RecordError(f"{path} is damaged: {e}. Run the benchmark again.") from e


def scaling_table(record: ScalingRecord) -> Table:
    """Return a line for each point."""
    rows = tuple(
        (
            each.axis,
            f"{each.value:g}",
            f"{median(flat(each.plain_ms)):.3f}",
            f"{median(flat(each.adapting_ms)):.3f}",
            "{:.3f} [{:.3f}, {:.3f}]".format(*each.ratio),
            f"{each.added_us:.1f}",
        )
        for each in record.points
    )
    notes = [record.conditions]
    if record.noise["noisy"]:
        notes.append(f"WARNING: the machine was noisy: {'; '.join(record.noise['reasons'])}.")
    header = ("axis", "value", "plain ms", "adapting ms", "ratio [95 %]", "added us")
    return Table(header, rows, tuple(notes))


def show_scaling(record: ScalingRecord) -> Shown:
    """Return what the record shows."""
    from leantta_lab.measure.scaling_plot import scaling_picture

    return Shown(
        table=partial(scaling_table, record),
        figures=partial(asdict, record),
        picture=partial(scaling_picture, record),
        write=partial(write_scaling, record),
    )


def run_scaling(
    *,
    engine: str = "onnxruntime",
    axes: Mapping[str, tuple[int | float, ...]] = AXES,
    usual: Point = USUAL,
    sessions: int = 5,
    rounds: int = 60,
    warm_up: int = 10,
    progress: Progresses = lambda _: silent,
) -> ScalingRecord:
    """Return the record of the cost of adapting along each axis.

    Raises:
        LeanTTAError: a network cannot be converted, or the engine is not here.
    """
    started = time_now()
    cores = len(usable_cores())
    points = [
        PointRecord(axis=axis, point=replace(usual, **{axis: value}))  # type: ignore[arg-type] # of its own type
        for axis, values in axes.items()
        for value in values
        if axis != "threads" or value <= cores
    ]
    before = cpu_time()
    with TemporaryDirectory(prefix="leantta-scaling-") as folder:
        files: dict[tuple[int, int, float], Path] = {}
        networks = {
            (p.point.channels, p.point.resolution, share) for p in points for share in (0, p.point.share)
        }
        bar = progress("convert")
        for done, (channels, resolution, share) in enumerate(sorted(networks)):
            bar(done, len(networks))
            path = Path(folder) / f"{channels}-{resolution}-{share}.onnx"
            files[channels, resolution, share] = path
            _write_network(path, channels, resolution, share, portable=engine == "openvino")
        bar(len(networks), len(networks))
        bar = progress("latency")
        for done, each in enumerate(points):
            bar(done, len(points))
            place = (each.point.channels, each.point.resolution)
            _measure(
                each, files[(*place, 0)], files[(*place, each.point.share)], engine, sessions, rounds, warm_up
            )
        bar(len(points), len(points))
    base = next(each for each in points if each.point == usual)
    return ScalingRecord(
        **asdict(replace(provenance_now(), started=started)),
        settings={
            "engine": engine,
            "layers": LAYERS,
            "usual": asdict(usual),
            "sessions": sessions,
            "rounds": rounds,
            "warm_up": warm_up,
        },
        kernel=describe(),
        noise=judge_noise(base.plain_ms, before, cpu_time()),
        points=tuple(points),
    )


def _measure(
    record: PointRecord, plain: Path, adapting: Path, engine: str, sessions: int, rounds: int, warm_up: int
) -> None:
    """Add the times of a point to its record."""
    point, random = record.point, np.random.default_rng(0)
    inputs = random.standard_normal((point.batch, 3, point.resolution, point.resolution), np.float32)
    running = {}
    for name, path in (("plain", plain), ("adapting", adapting)):
        (candidate,) = file_candidates([path], [engine], None, seed=0)
        running[name] = Running(candidate, path, point.threads, inputs)
    with pinned(point.threads), closing(running):
        for number in range(sessions):
            load_for_session(running, number, random)
            calls, every = calls_of(running), dict.fromkeys(running, 1)
            take_turns(calls, warm_up, every, random)
            times = take_turns(calls, rounds, every, random)  # none settles: both files fit into the caches
            record.plain_ms.append(times["plain"])
            record.adapting_ms.append(times["adapting"])


def _write_network(path: Path, channels: int, resolution: int, share: float, *, portable: bool) -> None:
    """Write a network of equal layers as an int8 file in which the first `share` of them adapts."""
    import torch
    from torch import nn

    from leantta.export.convert import convert
    from leantta.export.options import FileOptions

    torch.manual_seed(0)
    steps: OrderedDict[str, nn.Module] = OrderedDict()
    for i in range(LAYERS):
        steps[f"conv{i}"] = nn.Conv2d(channels if i else 3, channels, 3, padding=1, bias=False)
        steps[f"norm{i}"] = nn.BatchNorm2d(channels)
        steps[f"relu{i}"] = nn.ReLU()
    steps |= {"pool": nn.AdaptiveAvgPool2d(1), "flat": nn.Flatten(), "head": nn.Linear(channels, 10)}
    model = nn.Sequential(steps).eval()
    source = np.random.default_rng(0).standard_normal((32, 3, resolution, resolution), np.float32)
    selected = float(share) if 0 < share < 1 else "all" if share else "none"
    convert(model, source, path, layers=selected, options=FileOptions(portable=portable))
