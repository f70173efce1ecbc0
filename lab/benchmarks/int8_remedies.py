"""What int8 loses on photographs that it was not calibrated on, with each remedy, and ONNX Runtime's own.

    python lab/benchmarks/int8_remedies.py imagenet-sample

takes EfficientNet-Lite0 without adaptation, all photographs of a sample of ImageNet, and five folds: four
fifths calibrate, the rest is decided on. All rows have the same folds. What was decided goes to
results/int8_remedies.json, after each fold. `--show` prints the table.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import torch
from onnxruntime.quantization import (
    CalibrationDataReader,
    CalibrationMethod,
    QuantFormat,
    QuantType,
    quantize_static,
)

from kept_rows import keep_rows, rows_of
from leantta.data.datasets import Dataset
from leantta.evaluate.intervals import paired_share
from leantta.export.convert import adapt_source
from leantta.export.preprocessing import normalized
from leantta.export.source import read_source
from leantta.export.trace import trace_adapted
from leantta.gates.table import gate_of
from leantta.graph.ir import Graph, write_graph
from leantta.graph.run import run_graph
from leantta.modalities.datasets import dataset_info
from leantta.models.opening import pretrained
from leantta.pixels import floats
from leantta.progress import Bar
from leantta.quantize.calibrate import Ranges, counted, decided, seen_ranges
from leantta.quantize.choice import Images, Prepared, prepare
from leantta.quantize.correction import corrected, layer_errors
from leantta.quantize.equalisation import equalised
from leantta.quantize.lowering import Int8Graph
from leantta.quantize.nhwc import write_nhwc
from leantta.quantize.observers import OBSERVERS
from leantta.surgery.adaptation import parse_selector
from leantta.tables import markdown
from leantta_lab.datasets.imagenet import load_photographs

OUTPUT = Path(__file__).resolve().parents[2] / "results" / "int8_remedies.json"
MODEL, DATASET, FOLDS = "efficientnet_lite0", "imagenet", 5
CHOOSING = 32
"""Of the images that calibrate, those that only choose, for `auto`."""

SAMPLE = 96
"""Images whose values the percentile calibrator of ONNX Runtime keeps: it holds every map of each."""

Floats = npt.NDArray[np.float32]
Decisions = npt.NDArray[np.intp]


class Reader(CalibrationDataReader):  # type: ignore[misc] # it has no types
    """Gives ONNX Runtime images one by one."""

    def __init__(self, inputs: Floats) -> None:
        self.rest = iter(inputs[:, None])

    def get_next(self) -> dict[str, Floats] | None:
        """Return the next image, None after the last."""
        return next(({"input": image} for image in self.rest), None)


def of_onnx_runtime(graph: Graph, inputs: Floats, tested: Floats, method: CalibrationMethod) -> Floats:
    """Return the scores of a file that ONNX Runtime made int8, in QDQ form with a scale per channel."""
    with TemporaryDirectory() as folder:
        exact, int8 = Path(folder) / "exact.onnx", Path(folder) / "int8.onnx"
        onnx.save(write_graph(graph, "graph"), exact)
        quantize_static(
            exact,
            int8,
            Reader(inputs),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            calibrate_method=method,
        )
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 3
        session = ort.InferenceSession(int8, options)
        return np.concatenate([session.run(None, {"input": image[None]})[0] for image in tested])


def scores_by_way(graph: Graph, images: Images, tested: Floats) -> Iterator[tuple[str, Floats]]:
    """Yield the name of each way to int8 with its scores."""

    def write(graph: Graph, ranges: Ranges, left: Any = ()) -> Int8Graph:
        return write_nhwc(graph, ranges, last=False, left=left)

    def scores(of: Graph, ranges: Ranges) -> Floats:
        spans = {**ranges.spans, of.inputs[0]: images.span} if images.span else ranges.spans
        found: Floats = run_graph(write(of, replace(ranges, spans=spans)).graph, tested, [of.outputs[0]])[0]
        return found

    seen = seen_ranges(graph, images.fitting)
    yield "min-max", scores(graph, seen)
    unbiased = corrected(graph, layer_errors(graph, seen.spans, images.watched()))
    yield "min-max, biases corrected", scores(unbiased, seen)
    counts = counted(graph, images.watched(), seen)
    for name in ("percentile", "mse"):
        ranges = decided(seen, counts, OBSERVERS[name])
        yield name, scores(graph, ranges)
        yield f"{name}, biases corrected", scores(unbiased, ranges)
    even = equalised(graph, seen.channels)
    reach = seen_ranges(even, images.watched())
    yield "min-max, channels equalised", scores(even, reach)
    auto: Prepared = prepare(graph, images, write, observer="auto", float_budget=0.05)
    int8 = write(auto.graph, auto.ranges, auto.left)
    yield "auto", run_graph(int8.graph, tested, [graph.outputs[0]])[0]
    both = np.concatenate([np.asarray(images.fitting), np.asarray(images.choosing)[:CHOOSING]])
    for name, method, count in (
        ("ONNX Runtime, min-max", CalibrationMethod.MinMax, len(both)),
        ("ONNX Runtime, percentile", CalibrationMethod.Percentile, SAMPLE),
    ):
        yield name, of_onnx_runtime(graph, both[:count], tested, method)


def measure(data: Dataset) -> None:
    """Run all folds, and keep what each decided."""
    info = dataset_info(DATASET)
    source = read_source(data.samples[:32], (info.mean, info.std), None, "image")
    model = pretrained(MODEL, DATASET, None)
    adapted = adapt_source(model, source.tensors(), parse_selector("none"), gate_of("paper"))
    graph = trace_adapted(adapted.model, adapted.plan, source.tensors()).graph
    order = np.random.default_rng(0).permutation(len(data.labels))
    rows: list[dict[str, Any]] = []
    progress = Bar("folds")
    for fold in range(FOLDS):
        held = order[fold::FOLDS]
        rest = np.setdiff1d(order, held)
        np.random.default_rng(fold).shuffle(rest)
        inputs, tested = (normalized(data.samples[which], info.mean, info.std) for which in (rest, held))
        clean = torch.from_numpy(inputs[:CHOOSING])
        known = source.disturbances()
        assert known is not None  # they are images
        choosing = torch.cat([clean, floats(known.copies(clean, seed=0).inputs)])  # as `leantta convert` does
        images = Images(inputs[CHOOSING:], choosing.numpy(), source.input_range())
        wanted = run_graph(graph, tested, [graph.outputs[0]])[0]
        row: dict[str, Any] = {
            "fold": fold,
            "labels": data.labels[held].tolist(),
            "float32": {"decisions": wanted.argmax(1).tolist()},
        }
        for name, found in scores_by_way(graph, images, tested):
            error = float((found - wanted).std() / wanted.std())
            row[name] = {"decisions": found.argmax(1).tolist(), "error": error}
        rows.append(row)
        keep_rows(OUTPUT, rows)
        progress(fold + 1, FOLDS)


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the record in Markdown: all folds together."""
    ways = [name for name in rows[0] if name not in ("fold", "labels")]
    labels = np.concatenate([row["labels"] for row in rows])
    exact = np.concatenate([row["float32"]["decisions"] for row in rows])
    body = []
    for way in ways:
        found = np.concatenate([row[way]["decisions"] for row in rows])
        right, before = found == labels, exact == labels
        lost = paired_share(int((right & ~before).sum()), int((before & ~right).sum()), len(labels))
        error = np.mean([row[way].get("error", 0.0) for row in rows])
        against = (
            ["-", "-", "-"]
            if way == "float32"
            else [lost.points, f"{100 * (found == exact).mean():.1f}", f"{100 * error:.1f}"]
        )
        body.append([way, f"{100 * right.mean():.1f}", *against])
    head = ["int8", "accuracy", "less float32, points", "same decision, %", "error of scores, %"]
    return markdown(head, body)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("images", type=Path, nargs="?", help="folder of a sample of ImageNet")
    parser.add_argument("--show", action="store_true", help="print the table, run nothing")
    told = parser.parse_args()
    if not told.show:
        if told.images is None:
            parser.error("which images?")
        parts = [load_photographs(told.images, DATASET, split) for split in ("train", "test")]
        both = [np.concatenate([getattr(part, key) for part in parts]) for key in ("samples", "labels")]
        measure(replace(parts[0], samples=both[0], labels=both[1]))
    print(table(rows_of(OUTPUT)))
