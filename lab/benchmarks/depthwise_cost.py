"""What depthwise convolutions cost, by our kernel and by ONNX Runtime's own operator.

    python lab/benchmarks/depthwise_cost.py [--output results/depthwise_cost.json]

Every layer of MobileNetV2 at 32 pixels and of EfficientNet-Lite0 at 224 is a session of equal nodes beside
one another, in one thread. The two take turns, and every raw value is kept. Their bytes are compared first.
All layers are measured, then all of them again, so that a moment of other work meets a part of each.
"""

import argparse
import os
import statistics
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

from leantta.graph.depthwise import DEPTHWISE, INPUTS
from leantta.graph.ir import CONTRIB, LOCAL, Array, Graph, Node, Tensor, write_graph
from leantta.records.json_file import write_json
from leantta.records.provenance import provenance_now
from leantta.runtime.kernel import describe, register

NODES = 8
TIMES, ROUNDS, WARM_UP, CALLS = 7, 24, 4, 2
OURS, OWN = "ours", "onnxruntime"


@dataclass(frozen=True)
class Layer:
    """A depthwise convolution of a network, and how often the network has it."""

    network: str
    side: int  # of the input
    channels: int
    kernel: int
    stride: int
    count: int


LAYERS = (
    Layer("mobilenet_v2", 32, 32, 3, 1, 1),
    Layer("mobilenet_v2", 32, 96, 3, 1, 1),
    Layer("mobilenet_v2", 32, 144, 3, 1, 1),
    Layer("mobilenet_v2", 32, 144, 3, 2, 1),
    Layer("mobilenet_v2", 16, 192, 3, 1, 2),
    Layer("mobilenet_v2", 16, 192, 3, 2, 1),
    Layer("mobilenet_v2", 8, 384, 3, 1, 4),
    Layer("mobilenet_v2", 8, 576, 3, 1, 2),
    Layer("mobilenet_v2", 8, 576, 3, 2, 1),
    Layer("mobilenet_v2", 4, 960, 3, 1, 3),
    Layer("efficientnet_lite0", 112, 32, 3, 1, 1),
    Layer("efficientnet_lite0", 112, 96, 3, 2, 1),
    Layer("efficientnet_lite0", 56, 144, 3, 1, 1),
    Layer("efficientnet_lite0", 56, 144, 5, 2, 1),
    Layer("efficientnet_lite0", 28, 240, 5, 1, 1),
    Layer("efficientnet_lite0", 28, 240, 3, 2, 1),
    Layer("efficientnet_lite0", 14, 480, 3, 1, 2),
    Layer("efficientnet_lite0", 14, 480, 5, 1, 1),
    Layer("efficientnet_lite0", 14, 672, 5, 1, 2),
    Layer("efficientnet_lite0", 14, 672, 5, 2, 1),
    Layer("efficientnet_lite0", 7, 1152, 5, 1, 3),
    Layer("efficientnet_lite0", 7, 1152, 3, 1, 1),
)


def model_of(layer: Layer, way: str, nodes: int = NODES) -> bytes:
    """Return an ONNX file of nodes side by side: one input x, an output from each, weights of its own."""
    random = np.random.default_rng(0)
    shared: dict[str, Array] = {
        "x_scale": np.asarray(0.02, np.float32),
        "x_zero": np.asarray(0, np.uint8),
        "w_zero": np.asarray(0, np.int8),
        "y_scale": np.asarray(0.03, np.float32),
        "y_zero": np.asarray(101, np.uint8),
    }
    constants, made = dict(shared), []
    attributes: dict[str, Any] = {
        "kernel_shape": [layer.kernel] * 2,
        "strides": [layer.stride] * 2,
        "pads": [layer.kernel // 2] * 4,
        "group": layer.channels,
        **({"channels_last": 1} if way == OWN else {}),
    }
    for i in range(nodes):
        shape = (layer.channels, 1, layer.kernel, layer.kernel)
        constants[f"w{i}"] = random.integers(-127, 128, shape, np.int8)
        constants[f"w_scale{i}"] = random.uniform(5e-4, 2e-3, layer.channels).astype(np.float32)
        constants[f"bias{i}"] = random.integers(-20000, 20000, layer.channels).astype(np.int32)
        names = tuple(name if name == "x" or name in shared else f"{name}{i}" for name in INPUTS)
        op, domain = ("QLinearConv", CONTRIB) if way == OWN else (DEPTHWISE, LOCAL)
        made.append(Node(op, names, (f"y{i}",), attributes, f"layer{i}", domain))
    outputs = tuple(f"y{i}" for i in range(nodes))
    tensors = {name: Tensor(np.dtype(np.uint8), None) for name in outputs}
    tensors["x"] = Tensor(np.dtype(np.uint8), (1, layer.side, layer.side, layer.channels))
    graph = Graph(tuple(made), constants, tensors, ("x",), outputs)
    return bytes(write_graph(graph, "layers").SerializeToString())


def input_of(layer: Layer) -> Array:
    """Return bytes to convolve."""
    shape = (1, layer.side, layer.side, layer.channels)
    return np.random.default_rng(1).integers(0, 256, shape).astype(np.uint8)


def opened(layer: Layer, way: str) -> ort.InferenceSession:
    """Return a session in one thread."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    if not register(options):
        sys.exit("this installation has no native kernel: nothing to measure")
    return ort.InferenceSession(model_of(layer, way), options, providers=["CPUExecutionProvider"])


def measure(layer: Layer) -> dict[str, list[float]]:
    """Return the microseconds of a node, in each round, by ours and by ONNX Runtime's own."""
    x = input_of(layer)
    sessions = {way: opened(layer, way) for way in (OURS, OWN)}
    for one, other in zip(*(session.run(None, {"x": x}) for session in sessions.values()), strict=True):
        np.testing.assert_array_equal(one, other)
    took: dict[str, list[float]] = {way: [] for way in sessions}
    for number in range(ROUNDS + WARM_UP):
        for way, session in sessions.items():
            session.run(None, {"x": x})  # brings its memory back into the caches
            start = time.perf_counter()
            for _ in range(CALLS):
                session.run(None, {"x": x})
            if number >= WARM_UP:
                took[way].append((time.perf_counter() - start) * 1e6 / CALLS / NODES)
    return took


def ratio(took: dict[str, list[float]]) -> float:
    """Return the median over rounds of our time to ONNX Runtime's own."""
    return statistics.median(a / b for a, b in zip(took[OURS], took[OWN], strict=True))


def main() -> None:
    """Measure, print medians and keep the raw values."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    measured: list[dict[str, list[float]]] = [{OURS: [], OWN: []} for _ in LAYERS]
    for _ in range(TIMES):
        for layer, all_of_it in zip(LAYERS, measured, strict=True):
            for way, values in measure(layer).items():
                all_of_it[way] += values
    for layer, took in zip(LAYERS, measured, strict=True):
        size = f"{layer.side} x {layer.side} x {layer.channels}"
        shape = f"{size}, {layer.kernel} x {layer.kernel} / {layer.stride}"
        medians = "  ".join(f"{way} {statistics.median(values):8.2f} us" for way, values in took.items())
        print(f"{layer.network:20s} {shape:28s} {medians}  ratio {ratio(took):.3f}", flush=True)
    if chosen.output:
        command = " ".join(["python lab/benchmarks/depthwise_cost.py", *sys.argv[1:]])
        provenance = asdict(replace(provenance_now(), command=command))
        rows = [{**asdict(layer), "us": took} for layer, took in zip(LAYERS, measured, strict=True)]
        content = {"kernel": describe(), "layers": rows}
        write_json({"benchmark": "depthwise_cost", **provenance, **content}, chosen.output)


if __name__ == "__main__":
    main()
