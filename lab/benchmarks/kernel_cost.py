"""What the parts of the native kernel cost: its passes per value, and what ONNX Runtime adds per node.

    python lab/benchmarks/kernel_cost.py [--output results/kernel_cost.json]

Passes are timed by kernel_passes.cpp beside this file, which is compiled with the kernel and also has the
ways of writing bytes that were tried and left out. Nodes are timed in chains of 10 and of 110: a node costs
a hundredth of the difference. Everything takes turns, and every raw value is kept.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnxruntime as ort

from leantta.graph.functions import called, int8_constants
from leantta.graph.ir import BATCH, CONTRIB, LOCAL, Array, Graph, Node, Tensor, write_graph
from leantta.records.json_file import write_json
from leantta.records.provenance import provenance_now
from leantta.runtime.kernel import describe, register

ROOT = Path(__file__).resolve().parents[2]
SHORT, LONG, ROUNDS = 10, 110, 400
CHANNELS, SIDE = 64, 4
BYTES = Tensor(np.dtype(np.uint8), (BATCH, SIDE, SIDE, CHANNELS))
KINDS = ("adaptive norm", "adaptive norm without its distance", "ONNX Runtime's QLinearLeakyRelu")


def passes() -> list[dict[str, Any]]:
    """Return the nanoseconds per value of every pass."""
    with TemporaryDirectory() as folder:
        subprocess.run(["cmake", "-S", ROOT / "native", "-B", folder], check=True, capture_output=True)
        subprocess.run(["cmake", "--build", folder, "--target", "paths"], check=True, capture_output=True)
        objects = sorted(map(str, Path(folder).rglob("*.o")))
        program = Path(folder) / "passes"
        source = Path(__file__).with_name("kernel_passes.cpp")
        flags = ["-O3", "-std=c++17"]
        if any("avx2" in name for name in objects):
            flags += ["-DLEANTTA_AVX2", "-DLEANTTA_AVX512"]
        subprocess.run(["c++", *flags, str(source), *objects, "-o", str(program)], check=True)
        lines = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in lines.splitlines()]


def chain(kind: str, length: int) -> ort.InferenceSession:
    """Return a session of equal nodes in a row on a small map."""
    ones = [np.ones(CHANNELS, np.float32)] * 4
    shaped = int8_constants((CHANNELS, SIDE, SIDE), ones)
    constants: dict[str, Array] = {"scale": np.asarray(0.03, np.float32), "zero": np.asarray(128, np.uint8)}
    constants |= dict(zip(("average", "flat", "gamma", "beta", "ratio", "weight"), shaped, strict=True))
    range_of: tuple[str, ...] = ("scale", "zero", "scale", "zero")
    nodes = []
    for i in range(length):
        inputs: tuple[str, ...] = (f"y{i}", *range_of)
        if kind == KINDS[2]:
            node = Node("QLinearLeakyRelu", inputs, (f"y{i + 1}",), {"alpha": 0.1}, f"n{i}", CONTRIB)
        else:
            outputs = (f"y{i + 1}", f"d{i}") if kind == KINDS[0] else (f"y{i + 1}",)
            inputs += ("average", "flat", "gamma", "beta", "ratio", "weight")
            attributes = {"low": 0.1, "room": 0.1, "rate": -0.1, "layer": "bn"}
            node = Node("QLinearAdaptiveNorm", inputs, outputs, attributes, f"n{i}", LOCAL)
        nodes.append(node)
    tensors = {"y0": BYTES, f"y{length}": BYTES}
    graph = Graph(tuple(nodes), constants, tensors, ("y0",), (f"y{length}",)).without_unused_constants()
    functions = called(graph.nodes, graph.constants) if kind != KINDS[2] else ()
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    if not register(options):
        sys.exit("this installation has no native kernel: nothing to measure")
    return ort.InferenceSession(write_graph(graph, "chain", functions).SerializeToString(), options)


def nodes_us() -> dict[str, list[float]]:
    """Return the microseconds of a node of each kind, in each round."""
    sessions = {(kind, length): chain(kind, length) for kind in KINDS for length in (SHORT, LONG)}
    x = np.random.default_rng(0).integers(0, 256, (1, SIDE, SIDE, CHANNELS)).astype(np.uint8)
    took: dict[tuple[str, int], list[float]] = defaultdict(list)
    for number in range(ROUNDS + 20):
        for key, session in sessions.items():
            start = time.perf_counter()
            session.run(None, {"y0": x})
            if number >= 20:
                took[key].append((time.perf_counter() - start) * 1e6)
    per_node = LONG - SHORT
    return {
        kind: [(b - a) / per_node for a, b in zip(took[kind, SHORT], took[kind, LONG], strict=True)]
        for kind in KINDS
    }


def main() -> None:
    """Measure, print medians and keep the raw values."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    of_passes, of_nodes = passes(), nodes_us()
    for row in of_passes:
        shape, ns = f"{row['rows']} x {row['channels']}", statistics.median(row["ns"])
        print(f"{shape:>11s}  {row['pass']:26s} {ns:.3f} ns/value")
    for kind, values in of_nodes.items():
        print(f"{kind:36s} {statistics.median(values):.2f} us/node")
    if chosen.output:
        command = " ".join(["python lab/benchmarks/kernel_cost.py", *sys.argv[1:]])
        measured = {"kernel": describe(), "passes": of_passes, "nodes_us": of_nodes}
        provenance = asdict(replace(provenance_now(), command=command))
        write_json({"benchmark": "kernel_cost", **provenance, **measured}, chosen.output)


if __name__ == "__main__":
    main()
