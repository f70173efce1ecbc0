"""Which layers should adapt, from which floor to which ceiling, found without the corruptions of the tables.

    python lab/benchmarks/tune_gate.py resnet18 cifar100 --images cifar100.npz [--weights FILE]

runs the gates on training images, as they are and with the shifts of `leantta.disturbances.camera`, and
writes what each got right to results/gate_tuning.json; what is there already is not run again. `--show`
prints the table.
"""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from kept_rows import keep_rows, rows_of
from leantta.data.datasets import Dataset, Inputs, Labels, model_inputs
from leantta.disturbances.camera import shifted
from leantta.evaluate.predictor import Predictor, decided
from leantta.files import sha256_of
from leantta.gates.calibrated import CalibratedGate
from leantta.methods.method import SourceModel, TorchPredictor
from leantta.methods.parse import parse_method
from leantta.modalities.datasets import dataset_info
from leantta.models.opening import pretrained
from leantta.nn import AdaptiveNorm, watch
from leantta.progress import Bar
from leantta.surgery.adaptation import Adaptation
from leantta.tables import markdown
from leantta_lab.datasets.cifar import load_images
from leantta_lab.models.checkpoints import find_weights

OUTPUT = Path(__file__).resolve().parents[2] / "results" / "gate_tuning.json"
FIRST, SHIFTED, CLEAN, BATCH = 30_000, 2000, 3000, 50
"""Training images: from which on, how many shifted, and how many of the next as they are."""

WATCHED = 200

METHODS = (
    "none",
    "leantta:half:paper",
    *(
        f"leantta:{layers}:calibrated:floor={floor}:ceiling=0.4"
        for layers, floor in (("half", 0), ("half", 0.1), ("sixteen", 0), ("sixteen", 0.075))
    ),
    "leantta:sixteen:calibrated",
)

Sets = Mapping[str, tuple[Inputs, Labels]]
"""By name: inputs as a stream gives them, with their labels."""


class Tuning(NamedTuple):
    """What is compared, on which sets of images, and where the outcome is kept."""

    output: Path
    methods: tuple[str, ...]
    sets: tuple[str, ...]


class Loaded(NamedTuple):
    """A trained network and its training images."""

    model: str
    data: Dataset
    weights_sha256: str
    subject: SourceModel


def right(predictor: Predictor, inputs: Inputs, labels: Labels, label: str) -> str:
    """Return a 1 for each input that is classified correctly, a 0 for the others."""
    predictor.reset()
    found = []
    progress = Bar(label)
    for start in range(0, len(labels), BATCH):
        logits = predictor.predict(inputs[start : start + BATCH])
        found.append(decided(logits) == labels[start : start + BATCH])
        progress(min(start + BATCH, len(labels)), len(labels))
    return "".join("1" if each else "0" for each in np.concatenate(found))


def mean_weight(predictor: Predictor, inputs: Inputs) -> float:
    """Return the mean weight of the adapting layers, over some of the inputs: how far they follow."""
    assert isinstance(predictor, TorchPredictor)
    with watch(predictor.model) as readings:
        predictor.predict(inputs[:WATCHED])
    return float(np.mean([float(reading.weight.mean()) for reading in readings.values()] or [0.0]))


def ceiling(predictor: Predictor) -> float | None:
    """Return the ceiling of the calibrated gate, which may have been lowered to fit the network."""
    assert isinstance(predictor, TorchPredictor)
    gates = [layer.gate for layer in predictor.model.modules() if isinstance(layer, AdaptiveNorm)]
    return gates[0].ceiling if gates and isinstance(gates[0], CalibratedGate) else None


def loaded(told: argparse.Namespace) -> Loaded:
    """Return the network and the images that the arguments name."""
    torch.set_num_threads(1)
    data, info = load_images(told.images, told.dataset, "train"), dataset_info(told.dataset)
    checkpoint = told.weights or find_weights(told.model, told.dataset)
    network = pretrained(told.model, told.dataset, checkpoint)
    outside = TorchPredictor(network, mean=info.mean, std=info.std)
    subject = SourceModel(
        model=network,
        example=outside.normalized(model_inputs(data.samples[:2])),
        mean=info.mean,
        std=info.std,
        classes=info.num_classes,
        source=lambda count: model_inputs(data.samples[:count]),
    )
    return Loaded(told.model, data, sha256_of(checkpoint), subject)


def clean_and_shifted(data: Dataset) -> Sets:
    """Return what gates are compared on: images with a shift, and others as they are."""
    middle, last = FIRST + SHIFTED, FIRST + SHIFTED + CLEAN
    return {
        "shifted": (model_inputs(shifted(data.samples[FIRST:middle])), data.labels[FIRST:middle]),
        "clean": (model_inputs(data.samples[middle:last]), data.labels[middle:last]),
    }


def run_rows(tuning: Tuning, network: Loaded, sets: Sets) -> None:
    """Run what the output has not, keeping it after each method."""
    model, data, sha256, subject = network
    for method in tuning.methods:
        done = rows_of(tuning.output)
        if any(row["weights_sha256"] == sha256 and row["method"] == method for row in done):
            continue
        predictor = parse_method(method, Adaptation()).build(subject)
        row: dict[str, Any] = {
            "model": model,
            "dataset": data.name,
            "method": method,
            "weights_sha256": sha256,
            "ceiling": ceiling(predictor),
        }
        for name, (inputs, labels) in sets.items():
            row[f"{name} weight"] = mean_weight(predictor, inputs)
            row[name] = right(predictor, inputs, labels, f"{model} {data.name} {method} {name}")
        keep_rows(tuning.output, [*rows_of(tuning.output), row])


def table_of(tuning: Tuning, base: str) -> str:
    """Return what the output says, in Markdown: points gained over the base on each set."""
    rows = rows_of(tuning.output)
    models = dict.fromkeys((row["model"], row["dataset"], row["weights_sha256"]) for row in rows)
    found = {(row["weights_sha256"], row["method"]): row for row in rows}
    done = [method for method in tuning.methods if all((sha256, method) in found for *_, sha256 in models)]
    body = []
    for method in done:
        if method == base:
            continue
        gains = [
            [_gain(found[sha256, method][name], found[sha256, base][name]) for name in tuning.sets]
            for *_, sha256 in models
        ]
        cells = [" / ".join(f"{gain:+.1f}" for gain in each) for each in [*gains, np.mean(gains, axis=0)]]
        body.append([method.removeprefix("leantta:"), *cells])
    names = [f"{model} {dataset}" for model, dataset, _ in models]
    return markdown(["layers and gate", *names, "mean"], body)


def _gain(one: str, other: str) -> float:
    return 100 * (one.count("1") - other.count("1")) / len(one)


def main(doc: str | None, tuning: Tuning, base: str, make: Callable[[Dataset], Sets]) -> None:
    """Run what the command line asks for, and print the table."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?")
    parser.add_argument("dataset", nargs="?", default="cifar100")
    parser.add_argument("--images", type=Path, default=Path("cifar100.npz"))
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--show", action="store_true", help="print the table, run nothing")
    told = parser.parse_args()
    if not told.show:
        if told.model is None:
            parser.error("which model?")
        network = loaded(told)
        run_rows(tuning, network, make(network.data))
    print(table_of(tuning, base))


if __name__ == "__main__":
    main(__doc__, Tuning(OUTPUT, METHODS, ("shifted", "clean")), "none", clean_and_shifted)
