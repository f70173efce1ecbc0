"""The demo: ResNet18 on corrupted images with nothing, the paper's method, ours, and as one int8 file."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from leantta.data.datasets import Inputs, Pixels, model_inputs
from leantta.disturbances.corruptions.names import FAMILIES
from leantta.evaluate.metrics import by_family, paired_difference
from leantta.evaluate.predictor import Predictor
from leantta.evaluate.record import Record
from leantta.export.convert import convert
from leantta.export.report import Conversion
from leantta.files import replacing
from leantta.methods.contenders import ModelFile
from leantta.methods.method import TorchPredictor
from leantta.methods.parse import parse_method
from leantta.modalities.cells import CLEAN
from leantta.modalities.datasets import dataset_info
from leantta.models.opening import pretrained
from leantta.nn import watch
from leantta.progress import Progress, silent
from leantta.report.show import show
from leantta.report.summary import summary
from leantta.runtime.prediction import probabilities
from leantta.streams.stream import Stream
from leantta.study import Prepared, Study, prepare_study, run_study
from leantta.surgery.adaptation import Adaptation, Selector
from leantta_lab.datasets.cifar import load_images
from leantta_lab.report.page import DemoPage, Example, Guess, render_page
from leantta_lab.samples import CIFAR10_SAMPLE

Floats = npt.NDArray[np.float32]

MODEL, DATASET, SEED = "resnet18", "cifar10", 0
WATCHED = 1000
"""How many images of the stream the mean distances are taken over."""

CLEAN_WATCHED = 200
CALIBRATION = 512
"""How many training images the int8 file is calibrated with."""

SHOWN = {(False, True): 6, (True, False): 2, (False, False): 2, (True, True): 2}
"""How many examples of each kind the page shows: (right without, right with) -> number."""


def run_demo(
    images: Path | None,
    weights: Path | None,
    layers: Selector,
    *,
    per_cell: int,
    output: Path,
    progress: Callable[[str], Progress] = lambda _: silent,
) -> str:
    """Return the tables of the demo; write its page to `output` and the int8 file beside it, as `.onnx`.

    Raises:
        LeanTTAError: the sample or the checkpoint is not there, or the page cannot be written.
    """
    file = output.with_suffix(".onnx")
    images = images or CIFAR10_SAMPLE
    with replacing(output) as part:  # first, so that a bad place shows before the work is done
        done = _convert(images, weights, layers, file, progress)
        ours = parse_method("leantta:filter", Adaptation(layers=layers))
        fitted = replace(ours, build=lambda subject: subject.predictor(done.adapted))  # as it is in the file
        study = Study(
            model=MODEL,
            dataset=DATASET,
            images=images,
            weights=weights,
            streams=("clean", "abrupt"),
            methods=(parse_method("none"), parse_method("leantta:half:paper"), fitted, ModelFile(file)),
            seeds=(SEED,),
            per_cell=per_cell,
            clean_images=10 * per_cell,
        )
        ready = prepare_study(study)
        records = list(run_study(ready, progress))
        part.write_text(render_page(_page(ready, records, progress("distances"))), encoding="utf-8")
    return show(records, by_family=True)


def _convert(
    images: Path, weights: Path | None, layers: Selector, file: Path, progress: Callable[[str], Progress]
) -> Conversion:
    """Write the model with the shift filter as one int8 file, fitted on the training images of the sample."""
    info = dataset_info(DATASET)
    return convert(
        pretrained(MODEL, DATASET, weights),
        load_images(images, DATASET, "train").samples[:CALIBRATION],
        file,
        layers=layers,
        gate="filter",
        mean=info.mean,
        std=info.std,
        classes=info.classes,
        name=MODEL,
        progress=lambda label: progress(f"convert: {label}"),
    )


def _page(ready: Prepared, records: Sequence[Record], progress: Progress) -> DemoPage:
    stream = next(stream for stream in ready.streams if stream.name == "abrupt")
    clean = load_images(ready.study.images, DATASET, "test").samples
    before, _, after, file = compared = [r for r in records if r.stream["name"] == stream.name]
    predictors = [contender.predictor for contender in ready.contenders]
    lean = predictors[2]
    assert isinstance(lean, TorchPredictor)  # the method leantta, put on a torch model
    usual = _readings(lean, model_inputs(clean[:CLEAN_WATCHED]))
    gain = paired_difference(before, after)
    families = {record.method: by_family(record, FAMILIES) for record in compared}
    return DemoPage(
        title="ResNet18 on corrupted CIFAR-10, adapting to each image alone",
        lead=f"{len(stream):,} images from 19 corruptions at 5 severities in random order, each on its own: "
        "no gradients, no history, no extra data.",
        headlines={
            "accuracy on corrupted images, no adaptation": f"{100 * before.correct.mean():.1f} %",
            f"the same images, {after.method}": f"{100 * after.correct.mean():.1f} %",
            "the same, int8, from one file": f"{100 * file.correct.mean():.1f} %",
            "gain in points, with its 95 % interval": gain.points,
        },
        summary=summary(records),
        family_names=list(FAMILIES),
        family_accuracy={
            method: [100 * tallies[family].accuracy for family in FAMILIES]
            for method, tallies in families.items()
        },
        layers=list(usual),
        distance_by_severity=_distances(lean, stream, usual, progress),
        examples=_examples(predictors, lean, stream, clean, compared),
        command=after.header.provenance.command,
    )


def _readings(lean: TorchPredictor, inputs: Inputs) -> dict[str, Floats]:
    """Return the distance of every adapting layer for every input, each (n,)."""
    with watch(lean.model) as readings:
        lean.predict(inputs)
    return {name: reading.distance.numpy() for name, reading in readings.items()}


def _distances(
    lean: TorchPredictor, stream: Stream, usual: Mapping[str, Floats], progress: Progress
) -> dict[str, list[float]]:
    """Return the mean distance per layer, for clean images and for each severity."""
    if not usual:
        return {}
    total = min(WATCHED, len(stream))
    seen: dict[int, list[Floats]] = {}
    done = 0
    for batch in stream.batches(50):
        distances = np.stack(list(_readings(lean, batch.inputs).values()), axis=1)  # (n, layers)
        for which, row in zip(batch.domain, distances, strict=True):
            seen.setdefault(stream.domains[which].severity, []).append(row)
        done += len(batch.labels)
        progress(min(done, total), total)
        if done >= total:
            break
    means = {f"severity {level}": np.mean(seen[level], axis=0).tolist() for level in sorted(seen)}
    return {CLEAN: [float(values.mean()) for values in usual.values()], **means}


def _examples(
    predictors: Sequence[Predictor],
    lean: TorchPredictor,
    stream: Stream,
    clean: Pixels,
    records: Sequence[Record],
) -> list[Example]:
    """Return the first images of each kind in the order of the stream."""
    kinds = list(zip(*(records[place].correct.tolist() for place in (0, 2)), strict=True))
    places = [
        place
        for kind, count in SHOWN.items()
        for place in [i for i, each in enumerate(kinds) if each == kind][:count]
    ]
    classes = dataset_info(DATASET).classes
    examples = []
    for place in places:
        inputs = stream.load(np.array([place]))
        label = int(stream.labels[place])
        guesses = []
        for record, predictor in zip(records, predictors, strict=True):
            scores = probabilities(predictor.predict(inputs)[0])
            guess = int(scores.argmax())
            guesses.append(
                Guess(
                    method=record.method,
                    name=classes[guess],
                    probability=float(scores[guess]),
                    right=guess == label,
                )
            )
        examples.append(
            Example(
                clean=clean[stream.index[place]],
                corrupted=np.rint(inputs[0].transpose(1, 2, 0) * 255).astype(np.uint8),
                domain=str(stream.domains[stream.domain[place]]).replace("_", " "),
                label=classes[label],
                guesses=tuple(guesses),
                distances={name: float(values[0]) for name, values in _readings(lean, inputs).items()},
            )
        )
    return examples
