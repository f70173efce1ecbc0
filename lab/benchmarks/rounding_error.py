"""How far int8 is from float32, and what two parts of the conversion do about it.

    python lab/benchmarks/rounding_error.py resnet18 cifar10 cifar10.npz

converts the network in float32 and in int8: with weights rounded each to the nearest, rounded so that errors
cancel, and with steps for each channel in front of adaptive layers besides, which is how the product does it.
The files run on training inputs, as they are and shifted; the errors of the scores go to
results/rounding_error.json. `--show` prints the table.
"""

import argparse
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from kept_rows import keep_rows, rows_of
from leantta.data.datasets import Dataset
from leantta.disturbances.camera import shifted
from leantta.disturbances.corruptions.names import SEVERITIES
from leantta.evaluate.predictor import decided
from leantta.export.convert import convert
from leantta.export.options import FileOptions
from leantta.files import sha256_of
from leantta.graph.ir import Graph
from leantta.modalities.datasets import dataset_info, load_data, modality_of
from leantta.models.opening import pretrained
from leantta.progress import Bar
from leantta.quantize.calibrate import Ranges
from leantta.quantize.evening import Evened
from leantta.runtime.session import load
from leantta.tables import markdown
from leantta_lab.models.checkpoints import find_weights

OUTPUT = Path(__file__).resolve().parents[2] / "results" / "rounding_error.json"
CALIBRATION, INPUTS, BATCH = 512, 500, 20
"""The first of the training inputs give the ranges; the last ones are compared on."""

LAYERS = ("none", "sixteen")


def as_it_is(graph: Graph, ranges: Ranges) -> Evened:
    """Return the graph without factors."""
    return Evened(graph, ranges.spans, {})


BALANCED, EVENED = "leantta.quantize.params.balanced", "leantta.quantize.nhwc.evened"
INSTEAD: Mapping[str, Mapping[str, Any]] = {
    "nearest": {BALANCED: np.rint, EVENED: as_it_is},
    "balanced": {EVENED: as_it_is},
    "and evened": {},
}
"""By name of an int8 form: what stands in for which function of the product."""

Floats = npt.NDArray[np.float32]
Array = npt.NDArray[Any]


def scores(path: Path, inputs: Array, label: str) -> Floats:
    """Return what a file says of each input: (n, classes)."""
    session, progress, found = load(path, threads=1), Bar(label), []
    for start in range(0, len(inputs), BATCH):
        found.append(session.predict(inputs[start : start + BATCH]))
        progress(min(start + BATCH, len(inputs)), len(inputs))
    return np.concatenate(found)


def inputs_of(data: Dataset) -> tuple[Array, dict[str, Array]]:
    """Return what files are calibrated with, and what they are compared on, as sessions take it."""
    last = data.samples[-INPUTS:]
    modality = modality_of(data.name)
    if modality.as_bytes:
        return data.samples[:CALIBRATION], {"clean": last, "shifted": shifted(last)}
    change = modality.corruptor(data)
    kinds = [(name, severity) for name in modality.corruptions for severity in SEVERITIES]
    changed = [
        modality.inputs(change(last[i : i + 1], *kinds[i % len(kinds)], seed=0, first=i))
        for i in range(len(last))
    ]
    sets = {"clean": modality.inputs(last), "shifted": np.concatenate(changed)}
    return modality.inputs(data.samples[:CALIBRATION]), sets


def compared(model: str, data: Dataset, layers: str) -> dict[str, Any]:
    """Return the errors of one network's scores in each form."""
    info, network = dataset_info(data.name), pretrained(model, data.name)
    source, sets = inputs_of(data)

    def run(form: str, options: FileOptions) -> dict[str, Floats]:
        with TemporaryDirectory() as folder, ExitStack() as patches:
            for name, other in INSTEAD.get(form, {}).items():
                patches.enter_context(patch(name, other))
            path = Path(folder) / "model.onnx"
            convert(network, source, path, layers=layers, options=options, mean=info.mean, std=info.std)
            label = f"{model} {data.name} {layers} {form}"
            return {name: scores(path, inputs, f"{label}, {name}") for name, inputs in sets.items()}

    wanted = run("float32", FileOptions(precision="fp32"))
    row: dict[str, Any] = {
        "model": model,
        "dataset": data.name,
        "layers": layers,
        "weights_sha256": sha256_of(find_weights(model, data.name)),
        "inputs": len(wanted["clean"]),
        "spread": {name: float(exact.std()) for name, exact in wanted.items()},
    }
    for form in INSTEAD:
        found = run(form, FileOptions())
        row[form] = {name: _differences(found[name], exact) for name, exact in wanted.items()}
    return row


def _differences(found: Floats, exact: Floats) -> dict[str, float]:
    error = found.astype(np.float64) - exact
    return {
        "error": float(np.sqrt((error**2).mean())),
        "mean error": float(np.sqrt((error.mean(axis=0) ** 2).mean())),
        "other decisions": int((decided(found) != decided(exact)).sum()),
    }


def keep(row: dict[str, Any]) -> None:
    """Write a row to the record, in the place of an older one of that network."""
    same = ("model", "dataset", "layers")
    others = [each for each in rows_of(OUTPUT) if any(each[key] != row[key] for key in same)]
    keep_rows(OUTPUT, [*others, row])


def table() -> str:
    """Return the record in Markdown: errors in percent of the scores' spread, decisions that differ."""
    body = []
    for row in rows_of(OUTPUT):
        for name, spread in row["spread"].items():
            cells = [f"{row['model']} {row['dataset']}", row["layers"], name]
            for form in INSTEAD:
                found = row[form][name]
                cells.append(f"{100 * found['error'] / spread:.1f} ({found['other decisions']})")
            body.append(cells)
    return markdown(["network", "adapting", "inputs", *INSTEAD], body)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", nargs="?")
    parser.add_argument("dataset", nargs="?")
    parser.add_argument("images", type=Path, nargs="?", help="the dataset's file or folder")
    parser.add_argument("--show", action="store_true", help="print the table, run nothing")
    told = parser.parse_args()
    if not told.show:
        if told.images is None:
            parser.error("which model, dataset and images?")
        training = load_data(told.images, told.dataset, "train")
        for each in LAYERS:
            keep(compared(told.model, training, each))
    print(table())
