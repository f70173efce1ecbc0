"""A conversion as people ask for it: names and paths instead of modules and arrays."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from leantta.data.cifar import load_images
from leantta.data.datasets import Dataset, dataset_info, model_inputs
from leantta.data.imagefiles import find_images, read_image
from leantta.data.npz import read_array
from leantta.data.resize import cover, luminance
from leantta.errors import DataError, SettingError
from leantta.evaluate.predictor import Predictor
from leantta.export.convert import FileOptions, convert
from leantta.export.report import Conversion
from leantta.files import existing
from leantta.gates import CalibratedGate, Gate
from leantta.graph.ir import Array
from leantta.methods.torch_predictor import TorchPredictor
from leantta.models.pretrained import pretrained
from leantta.models.table import MODELS
from leantta.models.weights import checkpoint_sha256
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
    gate: Gate = CalibratedGate()
    options: FileOptions = FileOptions()
    images: int = 512  # calibration images to use, at most
    size: tuple[int, int] | None = None  # height and width of the input, for image files
    mean: Mean | None = None
    std: Mean | None = None
    classes: Path | None = None
    test: Path | None = None


def run_request(request: Request, progress: Callable[[str], Progress] = lambda _: silent) -> Conversion:
    """Write the file that is asked for, and return what was done, with its accuracy if labels are at hand.

    Raises:
        LeanTTAError: something asked for does not exist or cannot be used.
    """
    if request.images < 1:
        raise SettingError(f"a number of calibration images is at least 1, got {request.images}")
    model = pretrained(request.model, request.dataset, request.weights)
    source = _calibration(request)
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
    labelled = _labelled(request)
    if labelled is None or mean is None or std is None:
        return done
    example = TorchPredictor(model, mean=mean, std=std).normalized(model_inputs(labelled.images[:2]))
    calibration = None
    if isinstance(request.gate, CalibratedGate):
        calibration = TorchPredictor(model, mean=mean, std=std).normalized(model_inputs(source))
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


def _calibration(request: Request) -> Array:
    """Return the calibration inputs: uint8 images, or what an .npy file holds."""
    path = existing(request.calibration, "calibration images")
    if path.suffix.lower() == ".npy":
        return read_array(path)[: request.images]
    if path.suffix.lower() == ".npz" or not _is_image_folder(path):
        pixels = load_images(path, request.dataset, "train").images[: request.images]
        return pixels if request.size is None else np.stack([cover(each, *request.size) for each in pixels])
    paths = find_images(path)[: request.images]
    images = [read_image(each) for each in paths]
    channels, height, width = MODELS[request.model].input_shape if request.model in MODELS else (3, 0, 0)
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
    if source.dtype != np.uint8:
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
    if source.dtype != np.uint8 or _is_image_folder(request.calibration):
        return None
    return dataset_info(request.dataset).classes


def _labelled(request: Request) -> Dataset | None:
    if request.test is not None:
        found = load_images(request.test, request.dataset, "test")
    else:
        path = request.calibration
        if path.suffix.lower() == ".npy" or _is_image_folder(path):
            return None
        try:
            found = load_images(path, request.dataset, "test")
        except DataError:
            return None  # a file with the train split alone will do for calibration
    images = found.images[:TESTED]
    if request.size is not None:
        images = np.stack([cover(image, *request.size) for image in images])
    return replace(found, images=images, labels=found.labels[:TESTED])


def _accuracy(predictor: Predictor, data: Dataset, progress: Progress) -> float:
    right = 0
    for start in range(0, len(data.labels), 50):
        logits = predictor.predict(model_inputs(data.images[start : start + 50]))
        right += int((logits.argmax(axis=1) == data.labels[start : start + 50]).sum())
        progress(min(start + 50, len(data.labels)), len(data.labels))
    return right / len(data.labels)
