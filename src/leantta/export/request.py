"""A conversion as people ask for it: names and paths instead of modules and arrays."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from leantta.data.audio import holds_sounds
from leantta.data.collection.labels import read_classes
from leantta.data.collection.opening import is_collection
from leantta.data.datasets import Dataset
from leantta.data.logmel import FRAMES, Filling
from leantta.data.npz import read_array
from leantta.data.preprocess import Preprocessing
from leantta.errors import DataError, SettingError
from leantta.export.accuracy import accuracy_of
from leantta.export.convert import convert
from leantta.export.folders import fit_images, read_features, read_images
from leantta.export.options import FileOptions
from leantta.export.report import Conversion
from leantta.files import existing
from leantta.gates.gate import Gate
from leantta.gates.table import DEFAULT_GATE
from leantta.graph.ir import Array
from leantta.methods.method import TorchPredictor
from leantta.modalities.datasets import dataset_info, load_data, modality_of
from leantta.modalities.kinds import MODALITIES
from leantta.models.named import ModelEntry, default_dataset, is_named, model_entry
from leantta.models.opened import OpenedModel
from leantta.models.opening import open_model
from leantta.progress import Progresses, silent
from leantta.runtime.session import load
from leantta.surgery.adaptation import DEFAULT_LAYERS, Selector

PerChannel = tuple[float, ...]

TESTED = 1000
"""How many labelled inputs the accuracy is measured on, at most."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """Which model becomes which file."""

    model: str
    calibration: Path
    output: Path
    field: Path | None = None  # inputs from where the file will run, for the shift filter
    weights: Path | None = None
    prefix: str | None = None  # of the names that are meant in the file of weights; None: what fits best
    dataset: str | None = None  # None: the one that a named model is meant for, or the user's own
    layers: Selector = DEFAULT_LAYERS
    gate: Gate = DEFAULT_GATE
    options: FileOptions = FileOptions()
    images: int = 1000  # calibration images to use, at most; and field images
    size: tuple[int, int] | None = None  # height and width of the input, which images are scaled to cover
    preprocessing: Preprocessing | None = None  # None: the model's own, or what `size` says
    mean: PerChannel | None = None
    std: PerChannel | None = None
    filling: Filling = "repeat"  # what follows a sound that is too short
    classes: Path | None = None
    test: Path | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Calibration:
    """What a model is calibrated and tested with, as `convert` takes it."""

    inputs: Array
    noun: str  # what people call the inputs
    mean: PerChannel | None = None
    std: PerChannel | None = None
    sound: Filling | None = None
    classes: tuple[str, ...] | None = None
    labelled: Dataset | None = None


def run_request(request: Request, progress: Progresses = lambda _: silent) -> Conversion:
    """Write the file that is asked for, and return what was done, with its accuracy if labels are at hand.

    Raises:
        LeanTTAError: something asked for does not exist or cannot be used.
    """
    if request.images < 1:
        raise SettingError(f"a number of calibration images is at least 1, got {request.images}")
    request = replace(request, dataset=request.dataset or default_dataset(request.model))
    opened = open_model(
        request.model, dataset=request.dataset, weights=request.weights, prefix=request.prefix
    )
    asked, request = request.preprocessing, _completed(request, opened)
    source = READERS[kind_of(request)](request, progress)
    field = None if request.field is None else _field(request, request.field, source, progress)
    done = convert(
        opened.module,
        source.inputs,
        request.output,
        field=field,
        layers=request.layers,
        gate=request.gate,
        options=request.options,
        mean=source.mean,
        std=source.std,
        preprocessing=asked if source.mean is None else request.preprocessing,
        sound=source.sound,
        classes=read_classes(request.classes) if request.classes else source.classes or opened.classes,
        name=request.model,
        weights_sha256=opened.weights_sha256,
        progress=progress,
    )
    done = replace(done, noun=source.noun)
    labelled = [each.head.role for each in done.compared] == [
        "classes"
    ]  # labels are of inputs, not of pixels
    if not labelled or source.labelled is None or source.mean is None or source.std is None:
        return done
    outside = TorchPredictor(done.adapted, mean=source.mean, std=source.std)
    with load(request.output) as session:
        torch_ = accuracy_of(outside, source.labelled, progress("accuracy, torch"))
        file = accuracy_of(session, source.labelled, progress("accuracy, file"))
    return replace(done, accuracy=(torch_, file, len(source.labelled.labels)))


def _completed(request: Request, opened: OpenedModel) -> Request:
    """Return the request with what the model says of its images where nobody said it."""
    asked, told = request.preprocessing, opened.preprocessing if request.dataset is None else None
    if asked is not None and request.size is not None:
        raise SettingError("--size covers what --resize, --crop and the like say; give one or the other")
    knows = told if asked is None or asked.mean is None else asked
    if request.mean is None and request.std is None and knows is not None:
        request = replace(request, mean=knows.mean, std=knows.std)
    return request if asked or request.size else replace(request, preprocessing=told)


def _field(request: Request, path: Path, source: Calibration, progress: Progresses) -> Array:
    """Read inputs from where the file will run as the calibration inputs were read."""
    alike = replace(
        request, calibration=existing(path, "field inputs"), mean=source.mean, std=source.std, test=None
    )
    return READERS[kind_of(alike)](alike, progress).inputs


def kind_of(request: Request) -> str:
    """Return how the calibration inputs come: as `sounds`, `images` or `samples` of a dataset of others."""
    path = request.calibration
    if path.suffix.lower() not in (".npy", ".npz"):
        asked = request.options.input == "waveform" or _takes_sound(_entry(request))
        if asked or (not is_collection(path) and holds_sounds(path)):
            return "sounds"
    dataset = request.dataset
    return "images" if dataset is None or modality_of(dataset).as_bytes else "samples"


def _entry(request: Request) -> ModelEntry | None:
    """Return what is known of a named model; None if it is the user's own."""
    return model_entry(request.model) if is_named(request.model) else None


def _takes_sound(entry: ModelEntry | None) -> bool:
    return entry is not None and "waveform" in modality_of(entry.trained_on).file_inputs


def _named_dataset(request: Request) -> str:
    """Return the name of the dataset that a file is to be read as.

    Raises:
        SettingError: none was given, and the model does not say one.
    """
    if request.dataset is None:
        raise SettingError(
            f"{request.calibration} holds a dataset, but nobody said which: give --dataset NAME, or a folder "
            "of images, or an .npy of inputs"
        )
    return request.dataset


def _sounds(request: Request, progress: Progresses) -> Calibration:
    entry = _entry(request)
    frames = FRAMES if entry is None else entry.input_shape[1]
    return Calibration(
        inputs=read_features(
            request.calibration, request.images, request.filling, frames=frames, progress=progress("sound")
        ),
        noun="clips",
        sound=request.filling,
        classes=None if request.dataset is None else dataset_info(request.dataset).classes,
    )


def _samples(request: Request, progress: Progresses) -> Calibration:
    """Read samples of a dataset that is no images: its train split, or an .npy of them."""
    del progress  # it is read at once
    dataset = _named_dataset(request)
    if request.size is not None:
        raise SettingError(f"--size is for images; {dataset} has none. Leave it out.")
    modality, info = modality_of(dataset), dataset_info(dataset)
    path = existing(request.calibration, f"calibration {modality.noun}")
    array = path.suffix.lower() == ".npy"
    samples = read_array(path) if array else load_data(path, dataset, "train").samples
    mean, std = _statistics(request)
    return Calibration(
        inputs=modality.inputs(samples[: request.images]),
        noun=modality.noun,
        mean=mean,
        std=std,
        classes=info.classes,
        labelled=_labelled(request, None if array else path),
    )


def _images(request: Request, progress: Progresses) -> Calibration:
    """Read images of a dataset or of a folder, or what an .npy file holds."""
    del progress
    noun = MODALITIES["image"].noun
    path = existing(request.calibration, "calibration images")
    array, folder = path.suffix.lower() == ".npy", is_collection(path) and not _is_dataset(path, request)
    if array:
        inputs = read_array(path)[: request.images]
    elif folder:
        channels, size = _image_shape(request)
        inputs = read_images(path, request.images, channels, size, request.preprocessing)
    else:
        data = load_data(path, _named_dataset(request), "train")
        inputs = fit_images(data.samples[: request.images], request.size, request.preprocessing)
    if inputs.dtype != np.uint8:  # as the model takes them
        return Calibration(inputs=inputs, noun=noun)
    if folder and request.mean is None and request.std is None and _entry(request) is None:
        raise _no_statistics()
    mean, std = _statistics(request)
    return Calibration(
        inputs=inputs,
        noun=noun,
        mean=mean,
        std=std,
        classes=None if folder or request.dataset is None else dataset_info(request.dataset).classes,
        labelled=_labelled(request, None if array or folder else path),
    )


def _is_dataset(path: Path, request: Request) -> bool:
    """Tell whether a folder of images is the dataset that was asked for, with labels and a split."""
    return request.dataset is not None and dataset_info(request.dataset).is_folder(path)


READERS: Mapping[str, Callable[[Request, Progresses], Calibration]] = {
    "images": _images,
    "samples": _samples,
    "sounds": _sounds,
}


def _statistics(request: Request) -> tuple[PerChannel | None, PerChannel | None]:
    """Return the mean and std that are given, or those of the dataset.

    Raises:
        SettingError: neither is there.
    """
    if request.mean is not None or request.std is not None:
        return request.mean, request.std
    if request.dataset is None:
        raise _no_statistics()
    info = dataset_info(request.dataset)
    return info.mean, info.std


def _no_statistics() -> SettingError:
    return SettingError(
        "image files do not say how the model was trained: give --mean and --std, e.g. "
        "--mean 0.485,0.456,0.406 --std 0.229,0.224,0.225"
    )


def _image_shape(request: Request) -> tuple[int, tuple[int, int] | None]:
    """Return the channels that the model takes, and the height and width if they are known."""
    entry = _entry(request)
    if entry is None:
        return 3, request.size
    if len(entry.input_shape) != 3:
        raise SettingError(
            f"{request.model} takes inputs of shape {entry.input_shape}, not images. Name its --dataset, or "
            "give an .npy."
        )
    channels, height, width = entry.input_shape
    return channels, request.size or (height, width)


def _labelled(request: Request, beside: Path | None) -> Dataset | None:
    """Return labelled inputs: those that are named, or those that lie beside the calibration inputs."""
    if request.test is not None:
        data = load_data(request.test, _named_dataset(request), "test")
    elif beside is None:
        return None
    else:
        try:
            data = load_data(beside, _named_dataset(request), "test")
        except DataError:
            return None  # a file with the train split alone will do for calibration
    samples = fit_images(data.samples[:TESTED], request.size, request.preprocessing)
    return replace(data, samples=samples, labels=data.labels[:TESTED])
