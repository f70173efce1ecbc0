"""What a model file costs: latency, peak memory, size and start-up, as ratios to plain int8 inference.

    python benchmarks/artifact_cost.py [--model resnet18] [--output results/artifact_cost_resnet18.json]

Files: ours with no, half of and all layers adapting (none, half, all), the same network rounded by ONNX
Runtime's own static quantizer (ort), and in float32 (fp32). One thread, batch 1. Files take turns in one run
after a warm-up, in several sessions each, and every raw value is kept. Memory and start-up are those of fresh
processes. Machines are noisy: read the ratios, not the times.
"""

import argparse
import json
import logging
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnxruntime as ort
import torch
from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

from leantta.evaluate.machine import describe_machine, loaded_versions
from leantta.export.convert import FileOptions, convert
from leantta.files import replacing
from leantta.models.table import MODELS, build
from leantta.models.weights import load_weights
from leantta.progress import Bar

ADAPT = ("none", "half", "all")
WARM_UP = 20
SESSIONS = 12

PLAIN = """
import sys, numpy, onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(sys.argv[1], options)
x = numpy.zeros((1, *map(int, sys.argv[2].split(","))), numpy.float32)
for _ in range(3): session.run(["logits"], {"input": x})
"""
OURS = """
import sys, numpy, leantta
session = leantta.load(sys.argv[1], threads=1)
x = numpy.zeros((1, *map(int, sys.argv[2].split(","))), numpy.float32)
for _ in range(3): session.predict(x)
"""
PEAK = """
status = open("/proc/self/status").read()  # getrusage would count the parent's memory before exec, too
print(int(status.split("VmHWM:")[1].split()[0]) * 1024)
"""
START_PLAIN = """
import sys, time, numpy, onnxruntime
start = time.perf_counter()
onnxruntime.InferenceSession(sys.argv[1])
print((time.perf_counter() - start) * 1e3)
"""
START_OURS = """
import sys, time, numpy, onnxruntime
start = time.perf_counter()
import leantta
leantta.load(sys.argv[1])
print((time.perf_counter() - start) * 1e3)
"""


def make_files(model_name: str, weights: Path | None, folder: Path) -> dict[str, Path]:
    """Return the files to compare, made from one network."""
    torch.manual_seed(0)
    model = build(model_name).eval()
    if weights is not None:
        load_weights(model, weights)
    shape = MODELS[model_name].input_shape
    source = np.random.default_rng(0).standard_normal((128, *shape), np.float32)
    files = {}
    for adapt in ADAPT:
        files[adapt] = folder / f"{adapt}.onnx"
        convert(model, source, files[adapt], layers=adapt, progress=lambda label: Bar(f"convert: {label}"))
    files["fp32"] = folder / "fp32.onnx"
    convert(model, source, files["fp32"], layers="none", options=FileOptions(precision="fp32"))
    files["ort"] = folder / "ort.onnx"
    ready = folder / "ready.onnx"
    quant_pre_process(files["fp32"], ready, skip_symbolic_shape=True)
    quantize_static(
        ready, files["ort"], Reader(source), activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8
    )
    return files


class Reader(CalibrationDataReader):  # type: ignore[misc] # onnxruntime has no types
    """Gives the calibration inputs to ONNX Runtime's quantizer."""

    def __init__(self, inputs: np.ndarray[Any, Any]) -> None:
        self.batches: Iterator[dict[str, Any]] = iter(
            [{"input": inputs[start : start + 16]} for start in range(0, len(inputs), 16)]
        )

    def get_next(self) -> dict[str, Any] | None:
        """Return the next batch, None at the end."""
        return next(self.batches, None)


def latencies_ms(files: Mapping[str, Path], shape: tuple[int, ...], rounds: int) -> dict[str, list[float]]:
    """Return the time of each call in each round, the files taking turns."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    x = np.random.default_rng(1).standard_normal((1, *shape), np.float32)
    raw: dict[str, list[float]] = {name: [] for name in files}
    order = np.random.default_rng(2)
    for _ in range(
        SESSIONS
    ):  # where a session's memory lies is worth some percent, and the first gets the worst
        sessions = {n: ort.InferenceSession(files[n], options) for n in order.permutation(list(files))}
        for number in range(rounds + WARM_UP):
            for name in order.permutation(list(files)):  # what ran before leaves its traces in the caches
                start = time.perf_counter()
                sessions[name].run(["logits"], {"input": x})
                if number >= WARM_UP:
                    raw[name].append((time.perf_counter() - start) * 1e3)
    return raw


def printed(code: str, *arguments: str) -> float:
    """Return the number that a fresh process prints."""
    command = [sys.executable, "-c", code, *arguments]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    """Measure, print the ratios and keep the raw values."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", default="resnet18", choices=["resnet18", "mobilenet_v2"])
    parser.add_argument("--weights", type=Path, help="checkpoint; times do not depend on it")
    parser.add_argument(
        "--rounds", type=int, default=100, help=f"calls per file in each of {SESSIONS} sessions"
    )
    parser.add_argument("--processes", type=int, default=7, help="fresh processes per memory and start-up")
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args()
    logging.disable(logging.WARNING)
    shape = MODELS[chosen.model].input_shape
    sizes = ",".join(map(str, shape))
    with TemporaryDirectory() as place:
        files = make_files(chosen.model, chosen.weights, Path(place))
        raw = latencies_ms(files, shape, chosen.rounds)
        peaks: dict[str, list[int]] = {}
        starts: dict[str, list[float]] = {"plain": [], "leantta": []}
        for _ in range(chosen.processes):
            peaks.setdefault("plain none", []).append(int(printed(PLAIN + PEAK, str(files["none"]), sizes)))
            for name in ADAPT:
                peaks.setdefault(f"leantta {name}", []).append(
                    int(printed(OURS + PEAK, str(files[name]), sizes))
                )
            starts["plain"].append(printed(START_PLAIN, str(files["half"])))
            starts["leantta"].append(printed(START_OURS, str(files["half"])))
        size_bytes = {name: path.stat().st_size for name, path in files.items()}
    record = {
        "benchmark": "artifact_cost",
        "model": chosen.model,
        "threads": 1,
        "batch": 1,
        "machine": describe_machine(),
        "versions": loaded_versions(),
        "command": " ".join(["python benchmarks/artifact_cost.py", *sys.argv[1:]]),
        "latency_ms": raw,
        "peak_rss_bytes": peaks,
        "start_ms": starts,
        "size_bytes": size_bytes,
    }
    report(record)
    if chosen.output:
        with replacing(chosen.output) as part:
            part.write_text(json.dumps(record, indent=1))


def report(record: Mapping[str, Any]) -> None:
    """Print the ratios."""
    raw, peaks, starts = record["latency_ms"], record["peak_rss_bytes"], record["start_ms"]
    print(f"{record['model']}, one thread, batch 1; ratios to our non-adapting int8 file")
    for name, values in raw.items():
        pairs = [a / b for a, b in zip(values, raw["none"], strict=True)]
        low, _, high = statistics.quantiles(pairs, n=4)
        print(
            f"  {name:5s} {statistics.median(values):7.3f} ms  x{statistics.median(pairs):.2f} "
            f"(quartiles {low:.2f}-{high:.2f})  {record['size_bytes'][name] / 1e6:6.2f} MB"
        )
    base = statistics.median(peaks["plain none"])
    for name, values in peaks.items():
        peak = statistics.median(values)
        print(f"  peak memory {name:13s} {peak / 2**20:6.1f} MB  x{peak / base:.3f}")
    plain, ours = statistics.median(starts["plain"]), statistics.median(starts["leantta"])
    print(f"  start after importing numpy and onnxruntime: onnxruntime {plain:.0f} ms, leantta {ours:.0f} ms")


if __name__ == "__main__":
    main()
