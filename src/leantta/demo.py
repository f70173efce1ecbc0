"""The demo: a trained ResNet18 on clean and corrupted images, without and with LeanTTA, as table and page."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from leantta.data.cells import CLEAN, CachedCells, GeneratedCells
from leantta.data.cifar import load_images
from leantta.data.corruptions.names import FAMILIES
from leantta.data.datasets import Inputs, Pixels, dataset_info, model_inputs
from leantta.data.stream_builders import abrupt
from leantta.data.streams import Stream
from leantta.errors import MissingFileError
from leantta.evaluate.metrics import by_family, paired_difference
from leantta.evaluate.record import Record
from leantta.files import replacing
from leantta.methods.table import MethodOptions
from leantta.methods.torch_predictor import TorchPredictor
from leantta.models.pretrained import pretrained
from leantta.nn import watch
from leantta.progress import Progress, silent
from leantta.report.page import Example, Guess, Page, render_page
from leantta.report.show import show
from leantta.report.summary import summary
from leantta.study import Study, run_study
from leantta.surgery.apply import adapt
from leantta.surgery.select import Selector

Floats = npt.NDArray[np.float32]

SAMPLE = Path("examples/cifar10_sample.npz")
MODEL, DATASET, SEED = "resnet18", "cifar10", 0
WATCHED = 1000
"""How many images of the stream the mean distances are taken over."""

CLEAN_WATCHED = 200

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
    """Return the tables of the demo, and write its page to `output`.

    Raises:
        LeanTTAError: the sample or the checkpoint is not there, or the page cannot be written.
    """
    source = images or find_sample()
    study = Study(
        model=MODEL,
        images=source,
        weights=weights,
        streams=("clean", "abrupt"),
        methods=("none", "leantta"),
        seeds=(SEED,),
        per_cell=per_cell,
        clean_images=10 * per_cell,
        options=MethodOptions(layers=layers),
    )
    with replacing(output) as part:  # first, so that a bad place shows before the work is done
        records = list(run_study(study, progress))
        page = _page(study, records, layers, progress("distances"))
        part.write_text(render_page(page), encoding="utf-8")
    return show(records, by_family=True)


def find_sample() -> Path:
    """Return the sample of images that the repository carries.

    Raises:
        MissingFileError: leantta does not run from a clone of the repository.
    """
    places = [Path.cwd(), Path(__file__).resolve().parents[2]]
    for place in places:
        if (place / SAMPLE).is_file():
            return place / SAMPLE
    raise MissingFileError(
        f"no {SAMPLE} in {' or '.join(map(str, places))}. Run the demo in a clone of the repository, "
        "or give CIFAR-10 with --images."
    )


def _page(study: Study, records: Sequence[Record], layers: Selector, progress: Progress) -> Page:
    info = dataset_info(DATASET)
    clean = load_images(study.images, DATASET, "test")
    cells = CachedCells(GeneratedCells(clean))
    assert study.per_cell is not None
    stream = abrupt(cells, study.per_cell, seed=SEED)
    before, after = (record for record in records if record.stream["name"] == "abrupt")
    model = pretrained(MODEL, DATASET, study.weights)
    plain = TorchPredictor(model, mean=info.mean, std=info.std)
    example = plain.normalized(model_inputs(clean.images[:2]))
    lean = TorchPredictor(adapt(model, example, layers), mean=info.mean, std=info.std)
    usual = _readings(lean, model_inputs(clean.images[:CLEAN_WATCHED]))
    gain = paired_difference(before, after)
    families = {record.method: by_family(record, FAMILIES) for record in (before, after)}
    return Page(
        title="ResNet18 on corrupted CIFAR-10, adapting to each image alone",
        lead=f"{len(stream):,} images from 19 corruptions at 5 severities in random order, each on its own: "
        "no gradients, no history, no extra data.",
        figures={
            "accuracy on corrupted images, no adaptation": f"{100 * before.correct.mean():.1f} %",
            f"the same images, {after.method}": f"{100 * after.correct.mean():.1f} %",
            "gain in points, with its 95 % interval": "{:+.1f} [{:+.1f}, {:+.1f}]".format(
                *(100 * v for v in gain)
            ),
        },
        summary=summary(records),
        family_names=list(FAMILIES),
        family_accuracy={
            method: [100 * tallies[family].accuracy for family in FAMILIES]
            for method, tallies in families.items()
        },
        layers=list(usual),
        distance_by_severity=_distances(lean, stream, usual, progress),
        examples=_examples(plain, lean, stream, clean.images, (before, after)),
        command=after.header.command,
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
    plain: TorchPredictor, lean: TorchPredictor, stream: Stream, clean: Pixels, records: Sequence[Record]
) -> list[Example]:
    """Return the first images of each kind in the order of the stream."""
    kinds = list(zip(*(record.correct.tolist() for record in records), strict=True))
    places = [
        place
        for kind, count in SHOWN.items()
        for place in [i for i, found in enumerate(kinds) if found == kind][:count]
    ]
    classes = dataset_info(DATASET).classes
    examples = []
    for place in places:
        inputs = stream.load(np.array([place]))
        label = int(stream.labels[place])
        guesses = []
        for record, predictor in zip(records, (plain, lean), strict=True):
            scores = torch.from_numpy(predictor.predict(inputs)).softmax(1)[0]
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
