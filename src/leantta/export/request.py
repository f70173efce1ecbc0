"""A conversion as people ask for it: names and paths instead of modules and arrays."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from leantta.data.datasets import Dataset, Samples, dataset_info
from leantta.data.imagefiles import find_images, read_image
from leantta.data.logmel import FRAMES, Filling
from leantta.data.modalities import load_data, modality_of
from leantta.data.npz import read_array
from leantta.data.resize import cover, luminance
from leantta.data.sound import SOUND
from leantta.data.soundfiles import holds_sounds
from leantta.errors import DataError, SettingError
from leantta.evaluate.predictor import Predictor
from leantta.export.convert import FileOptions, convert
from leantta.export.report import Conversion
from leantta.export.sound import read_features
from leantta.files import existing, sha256_of
from leantta.gates import DEFAULT_GATE, CalibratedGate, Gate
from leantta.graph.ir import Array
from leantta.methods.torch_predictor import TorchPredictor
from leantta.models.pretrained import pretrained
from leantta.models.reference import resolve
from leantta.models.table import MODELS
from leantta.models.weights import checkpoint_sha256, find_weights, load_weights
from leantta.progress import Progress, silent
from leantta.runtime.session import load
from leantta.surgery.apply import adapt
from leantta.surgery.select import DEFAULT_LAYERS, Selector

Mean = tuple[float, ...]

TESTED = 1000
"""How many labelled images the accuracy is measured on, at most."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """Which model becomes which file."""

    model: str
    calibration: Path
    output: Path
    weights: Path | None = None
    dataset: str = "cifar10"
    layers: Selector = DEFAULT_LAYERS
    gate: Gate = DEFAULT_GATE
    options: FileOptions = FileOptions()
    images: int = 512  # calibration images to use, at most
    size: tuple[int, int] | None = None  # height and width of the input, for image files
    mean: Mean | None = None
    std: Mean | None = None
    filling: Filling = "repeat"  # what follows a sound that is too short
    classes: Path | None = None
    test: Path | None = None


def run_request(request: Request, progress: Callable[[str], Progress] = lambda _: silent) -> Conversion:
    """Write the file that is asked for, and return what was done, with its accuracy if labels are at hand.

    Raises:
        LeanTTAError: something asked for does not exist or cannot be used.
    """
    if request.images < 1:
        raise SettingError(f"a number of calibration images is at least 1, got {request.images}")
    if _hears(request):
        return _convert_sound(request, progress)
    modality = modality_of(request.dataset)
    model = pretrained(request.model, request.dataset, request.weights)
    source = _calibration(request) if _has_images(request) else modality.inputs(_samples(request))
    mean, std = _normalization(request, source)
    done = convert(
        model,
        source,
        request.output,
        layers=request.layers,
        gate=request.gate,
        options=request.options,
        mean=mean,
        std=std,
        classes=_classes(request, source),
        name=request.model,
        weights_sha256=checkpoint_sha256(request.model, request.dataset, request.weights),
        progress=progress,
    )
    done = replace(done, noun=modality.noun)
    labelled = _labelled(request)
    if labelled is None or mean is None or std is None:
        return done
    outside = TorchPredictor(model, mean=mean, std=std)
    example = outside.normalized(modality.inputs(labelled.images[:2]))
    calibration = None
    if isinstance(request.gate, CalibratedGate):
        calibration = outside.normalized(modality.inputs(source) if _has_images(request) else source)
    lean = adapt(model, example, request.layers, gate=request.gate, calibration=calibration)
    with load(request.output) as session:
        found = [
            _accuracy(predictor, labelled, progress(f"accuracy, {label}"))
            for label, predictor in (
                ("torch", TorchPredictor(lean, mean=mean, std=std)),
                ("file", session),
            )
        ]
    return replace(done, accuracy=(found[0], found[1], len(labelled.labels)))


def _has_images(request: Request) -> bool:
    return dataset_info(request.dataset).modality == "image"


def _samples(request: Request) -> Samples:
    """Return the calibration samples of a dataset that is no images: its train split, or an .npy of them."""
    if request.size is not None:
        raise SettingError(f"--size is for images; {request.dataset} has none. Leave it out.")
    path = existing(request.calibration, f"calibration {modality_of(request.dataset).noun}")
    if path.suffix.lower() == ".npy":
        return read_array(path)[: request.images]
    return load_data(path, request.dataset, "train").images[: request.images]


def _hears(request: Request) -> bool:
    """Tell whether the model is for sound: by its name, by its input, or by a folder of sound files."""
    path = request.calibration
    from_files = path.suffix.lower() not in (".npy", ".npz")
    told = request.model == "vggish" or request.options.input == "waveform"
    return from_files and (told or (not _is_image_folder(path) and holds_sounds(path)))


def _sound_dataset(request: Request) -> str:
    """Return the dataset that is named, or the one whose detector the repository has."""
    return request.dataset if dataset_info(request.dataset).modality == "sound" else "esc50"


def _convert_sound(request: Request, progress: Callable[[str], Progress]) -> Conversion:
    """Write the file of a model for sound, calibrated with sound files."""
    model = resolve(request.model)
    weights = request.weights
    if weights is None and request.model in MODELS:
        weights = find_weights(request.model, _sound_dataset(request))
    if weights is not None:
        load_weights(model, weights)
    frames = MODELS[request.model].input_shape[1] if request.model in MODELS else FRAMES
    source = read_features(
        request.calibration, request.images, request.filling, frames=frames, progress=progress("sound")
    )
    named = None if request.model not in MODELS else dataset_info(_sound_dataset(request)).classes
    done = convert(
        model,
        source,
        request.output,
        layers=request.layers,
        gate=request.gate,
        options=request.options,
        sound=request.filling,
        classes=named if request.classes is None else _classes(request, source),
        name=request.model,
        weights_sha256=None if weights is None else sha256_of(weights),
        progress=progress,
    )
    return replace(done, noun=SOUND.noun)


def _calibration(request: Request) -> Array:
    """Return the calibration inputs: uint8 images, or what an .npy file holds."""
    path = existing(request.calibration, "calibration images")
    if path.suffix.lower() == ".npy":
        return read_array(path)[: request.images]
    if path.suffix.lower() == ".npz" or not _is_image_folder(path):
        pixels = load_data(path, request.dataset, "train").images[: request.images]
        return pixels if request.size is None else np.stack([cover(each, *request.size) for each in pixels])
    paths = find_images(path)[: request.images]
    images = [read_image(each) for each in paths]
    shape = MODELS[request.model].input_shape if request.model in MODELS else (3, 0, 0)
    if len(shape) != 3:
        raise SettingError(
            f"{request.model} takes inputs of shape {shape}, not images. Name its --dataset, or give an .npy."
        )
    channels, height, width = shape
    if request.size is not None:
        height, width = request.size
    elif not height:
        height, width = images[0].shape[:2]
        odd = next((i for i, image in enumerate(images) if image.shape != images[0].shape), None)
        if odd is not None:
            raise DataError(
                f"{paths[0]} and {paths[odd]} have different sizes; say with --size H,W what the model takes"
            )
    sized = [cover(image, height, width) for image in images]
    return np.stack([luminance(image) for image in sized] if channels == 1 else sized)


def _is_image_folder(path: Path) -> bool:
    """Tell whether a folder holds image files itself, rather than a dataset."""
    if not path.is_dir():
        return False
    try:
        find_images(path)
    except DataError:
        return False
    return True


def _normalization(request: Request, source: Array) -> tuple[Mean | None, Mean | None]:
    if source.dtype != np.uint8 and _has_images(request):
        return None, None
    if request.mean is not None or request.std is not None:
        return request.mean, request.std
    if _is_image_folder(request.calibration) and request.model not in MODELS:
        raise SettingError(
            "image files do not say how the model was trained: give --mean and --std, e.g. "
            "--mean 0.485,0.456,0.406 --std 0.229,0.224,0.225"
        )
    info = dataset_info(request.dataset)
    return info.mean, info.std


def _classes(request: Request, source: Array) -> tuple[str, ...] | None:
    if request.classes is not None:
        text = existing(request.classes, "file of class names").read_text(encoding="utf-8")
        return tuple(line.strip() for line in text.splitlines() if line.strip())
    if _has_images(request) and (source.dtype != np.uint8 or _is_image_folder(request.calibration)):
        return None
    return dataset_info(request.dataset).classes


def _labelled(request: Request) -> Dataset | None:
    if request.test is not None:
        found = load_data(request.test, request.dataset, "test")
    else:
        path = request.calibration
        if path.suffix.lower() == ".npy" or _is_image_folder(path):
            return None
        try:
            found = load_data(path, request.dataset, "test")
        except DataError:
            return None  # a file with the train split alone will do for calibration
    images = found.images[:TESTED]
    if request.size is not None:
        images = np.stack([cover(image, *request.size) for image in images])
    return replace(found, images=images, labels=found.labels[:TESTED])


def _accuracy(predictor: Predictor, data: Dataset, progress: Progress) -> float:
    inputs = modality_of(data.name).inputs
    right = 0
    for start in range(0, len(data.labels), 50):
        logits = predictor.predict(inputs(data.images[start : start + 50]))
        right += int((logits.argmax(axis=1) == data.labels[start : start + 50]).sum())
        progress(min(start + 50, len(data.labels)), len(data.labels))
    return right / len(data.labels)
