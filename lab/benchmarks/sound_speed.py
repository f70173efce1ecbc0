"""How much faster than real time a clip is heard: the front end and int8 VGGish, on one core.

    python lab/benchmarks/sound_speed.py [--weights FILE] [--output results/sound_speed.json] [--show]

Ten seconds of noise at 32 kHz go through the log-mel features of numpy and the network, and through a file
that has the spectrogram inside. Weights do not change the speed, so without a checkpoint an untrained network
is taken whose BatchNorms have seen the calibration clips. Everything takes turns; every raw value is kept.
`--show` prints the record's table.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from leantta.data.logmel import SAMPLE_RATE, Features, clip_samples, log_mel
from leantta.tables import Table

if TYPE_CHECKING:
    from torch import nn

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "results" / "sound_speed.json"
SECONDS = clip_samples() / SAMPLE_RATE
WARM_UP, ROUNDS = 5, 40
CALIBRATION = 32
ADAPT = ("none", "half", "all")


def steps(folder: Path, weights: Path | None) -> dict[str, Callable[[], object]]:
    """Return what is timed, by name."""
    from leantta.export.convert import convert
    from leantta.export.options import FileOptions
    from leantta.models.named import build
    from leantta.models.weights import load_weights
    from leantta.runtime.inputs import hear
    from leantta.runtime.session import load

    draw = np.random.default_rng(0)
    wave = draw.normal(size=clip_samples()).astype(np.float32)
    source = np.stack([log_mel(np.cumsum(draw.normal(size=clip_samples()))) for _ in range(CALIBRATION)])
    model = build("vggish")
    if weights is not None:
        load_weights(model, weights)
    else:
        _see_(model, source[:, np.newaxis])
    found: dict[str, Callable[[], object]] = {"front end": lambda: log_mel(wave)}
    features = log_mel(wave)[np.newaxis, np.newaxis]
    for layers in ADAPT:
        path = folder / f"{layers}.onnx"
        convert(model, source[:, np.newaxis], path, layers=layers, sound="silence", name="vggish")
        session = load(path, threads=1)
        found[f"network, {layers} adapt"] = lambda session=session: session.predict(features)  # type: ignore[misc] # bound now
    path = folder / "waveform.onnx"
    options = FileOptions(input="waveform")
    convert(model, source[:, np.newaxis], path, options=options, sound="silence", name="vggish")
    inside = load(path, threads=1)
    given = hear(wave, inside.info)[np.newaxis]
    found["waveform file, half adapt"] = lambda: inside.predict(given)
    return found


def _see_(model: "nn.Module", source: Features) -> None:
    """Give the BatchNorms of an untrained network the statistics of some clips."""
    import torch
    from torch import nn

    for layer in model.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.momentum = None  # the plain mean
    with torch.no_grad():
        model.train()(torch.from_numpy(source))
    model.eval()


def measure(timed: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    """Return the milliseconds of each step in each round; the first rounds are not kept."""
    took: dict[str, list[float]] = defaultdict(list)
    for number in range(WARM_UP + ROUNDS):
        for name, step in timed.items():
            start = time.perf_counter()
            step()
            if number >= WARM_UP:
                took[name].append((time.perf_counter() - start) * 1000)
    return dict(took)


def table(record: dict[str, Any]) -> str:
    """Return the medians of a record, and how many times faster than real time they are."""
    took: dict[str, list[float]] = record["ms"]
    rows = [(name, values) for name, values in took.items()]
    whole = [a + b for a, b in zip(took["front end"], took["network, half adapt"], strict=True)]
    rows.append(("front end and network, half adapt", whole))
    body = []
    for name, values in rows:
        middle, late = statistics.median(values), float(np.percentile(values, 95))
        body.append((name, f"{middle:.1f}", f"{late:.1f}", f"{1000 * record['seconds'] / middle:.0f}x"))
    return Table(("step", "median ms", "p95 ms", "real time"), tuple(body)).markdown()


def main() -> None:
    """Measure, print the table and keep the raw values; or print the table of the record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--show", action="store_true")
    chosen = parser.parse_args()
    if chosen.show:
        print(table(json.loads(RECORD.read_text())))
        return
    from leantta.files import replacing, sha256_of
    from leantta.records.provenance import describe_machine, loaded_versions
    from leantta.runtime.kernel import describe

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with TemporaryDirectory() as folder:
        took = measure(steps(Path(folder), chosen.weights))
    record = {
        "benchmark": "sound_speed",
        "machine": describe_machine(),
        "versions": loaded_versions(),
        "kernel": describe(),
        "command": " ".join(["python lab/benchmarks/sound_speed.py", *sys.argv[1:]]),
        "weights_sha256": None if chosen.weights is None else sha256_of(chosen.weights),
        "seconds": SECONDS,
        "threads": 1,
        "batch": 1,
        "warm_up": WARM_UP,
        "ms": took,
    }
    print(table(record))
    if chosen.output:
        with replacing(chosen.output) as part:
            part.write_text(json.dumps(record, indent=None, separators=(",", ":")))


if __name__ == "__main__":
    main()
