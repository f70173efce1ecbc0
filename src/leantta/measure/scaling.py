"""How the cost of adapting grows with channels, resolution, batch, threads and the share of adapting layers.

A small network of equal 3x3 convolutions is made for each point, once with nothing adapting and once
adapting; both take turns. One thing is changed at a time, the others are those of `USUAL`.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from leantta.evaluate.machine import command_line, describe_machine, loaded_versions
from leantta.measure.noise import cpu_time, judge_noise
from leantta.measure.pinning import pinned, usable_cores
from leantta.measure.prepare import Ready
from leantta.measure.scaling_record import Point, PointRecord, ScalingRecord
from leantta.measure.sessions import Loaded, one_session
from leantta.measure.subjects import Subject
from leantta.progress import Progress, silent
from leantta.runtime.kernel import describe

LAYERS = 8

USUAL = Point()

AXES: Mapping[str, tuple[int | float, ...]] = {
    "channels": (8, 16, 32, 64, 128, 256),
    "resolution": (4, 8, 16, 32, 64),
    "batch": (1, 2, 4, 8, 16, 32),
    "threads": (1, 2, 4, 8, 16),  # as many as there are cores
    "share": (0.0, 0.25, 0.5, 0.75, 1.0),
}


def run_scaling(
    *,
    engine: str = "onnxruntime",
    axes: Mapping[str, tuple[int | float, ...]] = AXES,
    usual: Point = USUAL,
    sessions: int = 5,
    rounds: int = 60,
    warm_up: int = 10,
    progress: Callable[[str], Progress] = lambda _: silent,
) -> ScalingRecord:
    """Return the record of the cost of adapting along each axis.

    Raises:
        LeanTTAError: a network cannot be converted, or the engine is not here.
    """
    from leantta.measure.torch_scaling import write_network

    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    cores = len(usable_cores())
    points = [
        PointRecord(axis=axis, point=replace(usual, **{axis: value}))  # type: ignore[arg-type] # of its own type
        for axis, values in axes.items()
        for value in values
        if axis != "threads" or value <= cores
    ]
    before = cpu_time()
    with TemporaryDirectory(prefix="leantta-scaling-") as place:
        files: dict[tuple[int, int, float], Path] = {}
        wanted = {
            (p.point.channels, p.point.resolution, share) for p in points for share in (0, p.point.share)
        }
        bar = progress("convert")
        for done, (channels, resolution, share) in enumerate(sorted(wanted)):
            bar(done, len(wanted))
            path = Path(place) / f"{channels}-{resolution}-{share}.onnx"
            files[channels, resolution, share] = path
            write_network(path, channels, resolution, LAYERS, share, portable=engine == "openvino")
        bar(len(wanted), len(wanted))
        bar = progress("latency")
        for done, found in enumerate(points):
            bar(done, len(points))
            _measure(found, files, engine, sessions, rounds, warm_up)
        bar(len(points), len(points))
    base = next(found for found in points if found.point == usual)
    return ScalingRecord(
        settings={
            "engine": engine,
            "layers": LAYERS,
            "usual": asdict(usual),
            "sessions": sessions,
            "rounds": rounds,
            "warm_up": warm_up,
        },
        machine=describe_machine(),
        versions=loaded_versions(),
        kernel=describe(),
        command=command_line(),
        started=started,
        noise=judge_noise(base.plain_ms, before, cpu_time()),
        points=tuple(points),
    )


def _measure(
    found: PointRecord,
    files: Mapping[tuple[int, int, float], Path],
    engine: str,
    sessions: int,
    rounds: int,
    warm_up: int,
) -> None:
    """Add the times of a point to its record."""
    point, random = found.point, np.random.default_rng(0)
    inputs = random.standard_normal((point.batch, 3, point.resolution, point.resolution), np.float32)
    both = {"plain": 0.0, "adapting": point.share}
    ready = {
        name: Ready(Subject(files[point.channels, point.resolution, share], engine), inputs)
        for name, share in both.items()
    }
    with pinned(point.threads), Loaded(ready, point.threads, random) as loaded:
        for number in range(sessions):
            times = one_session(
                ready,
                loaded.for_session(number),
                dict.fromkeys(ready, 1),
                random,
                rounds=rounds,
                warm_up=warm_up,
                settle=0,  # two files fit into the caches together
                throughput_rounds=0,
            )
            found.plain_ms.append(times["plain"].latency)
            found.adapting_ms.append(times["adapting"].latency)
