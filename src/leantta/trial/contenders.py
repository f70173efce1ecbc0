"""What a trial needs before the first image is judged: opened models, parted images, fitted methods."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from leantta.data.collection.collection import Collection, listed
from leantta.data.collection.labels import read_classes
from leantta.data.collection.opening import open_collection
from leantta.data.datasets import Inputs
from leantta.data.preprocess import Preprocessing
from leantta.errors import SettingError, UnsupportedModelError
from leantta.methods.contenders import Contender, ModelFile, from_file, put_on
from leantta.modalities.cells import CLEAN
from leantta.modalities.photos import PhotoCells
from leantta.progress import Progresses
from leantta.runtime.session import Session
from leantta.trial.command import convert_command, described
from leantta.trial.metric import metric_id
from leantta.trial.model import completed, of_file, open_torch
from leantta.trial.photos import MOST_FITTED, parted, some

if TYPE_CHECKING:
    from torch import Tensor, nn

    from leantta.models.opened import OpenedModel
    from leantta.trial.request import Trial

MODALITY = "image"


class Ready(NamedTuple):
    """A trial with everything opened and fitted."""

    report: Collection  # the images to report on
    how: Preprocessing
    contenders: list[Contender]  # in the order of the settings
    outputs: int | None  # scores; None: the model gives something else
    listed: bool  # whether the classes are named in the order of the scores
    notes: tuple[str, ...]  # what people should know of it
    command: str | None  # how to convert the model, without the setting and the output


def get_ready(trial: "Trial", progress: Progresses) -> Ready:
    """Return a trial with its models opened, its images parted and its methods fitted.

    Raises:
        LeanTTAError: something does not exist or does not fit.
    """
    dataset = trial.images.resolve().name
    opened = None if trial.model is None else open_torch(trial.model, trial.weights, trial.prefix)
    files = {
        setting.runs: from_file(setting.runs, dataset, trial.threads)
        for setting in trial.settings
        if isinstance(setting.runs, ModelFile)
    }
    known, names = _told(trial, opened, files)
    photos = open_collection(trial.images, layout=trial.layout, classes=names)
    if trial.corrupt is not None and photos.layout == "imagenet-c":
        raise SettingError(f"{trial.images} has corrupted images already; leave --corrupt out.")
    how, assumed = completed(_asked(trial, known), lambda: photos.read(0).shape[:2])
    notes = [photos.describe()]
    if assumed is not None:
        notes.append(
            f"Nobody said which {assumed} the model was trained with; taken: {described(how)}. If that is "
            "wrong, say it with --resize, --crop, --mean and --std."
        )
    fit, report, told = _fit_and_report(trial, photos, progress)
    notes += told
    outputs = None
    if opened is not None:
        if how.layout == "channels_last":
            from leantta.models.layout import channels_first

            opened = replace(opened, module=channels_first(opened.module))
        example = _inputs(PhotoCells(report, how), 2)
        put, outputs = _on_torch(trial, opened, how, dataset, fit, example, progress)
    else:
        put = []
        outputs = next(iter(sessions(files))).info.outputs
    torch_ones = iter(put)
    contenders = [
        files[setting.runs] if isinstance(setting.runs, ModelFile) else next(torch_ones)
        for setting in trial.settings
    ]
    if trial.metric is not None:
        contenders = [_telling(each, metric_id(trial.metric)) for each in contenders]
    return Ready(
        report,
        how,
        contenders,
        outputs,
        names is not None,
        tuple(notes),
        convert_command(trial, how, assumed is not None),
    )


def _asked(trial: "Trial", known: Preprocessing | None) -> Preprocessing | None:
    """Return how the model takes images as people say, else as it says itself; None if nobody says."""
    how = trial.preprocessing or known
    if how is None and trial.mean is None and trial.std is None:
        return None
    own = known or Preprocessing()
    how = how or own
    return replace(how, mean=trial.mean or how.mean or own.mean, std=trial.std or how.std or own.std)


def sessions(files: dict[ModelFile, Contender]) -> list[Session]:
    """Return the model files that are loaded."""
    return [each.predictor for each in files.values() if isinstance(each.predictor, Session)]


def _told(
    trial: "Trial", opened: "OpenedModel | None", files: dict[ModelFile, Contender]
) -> tuple[Preprocessing | None, tuple[str, ...] | None]:
    """Return how the models take images, and the names of the classes, as far as anybody said.

    Raises:
        SettingError: the models take images of different sizes.
    """
    infos = [session.info for session in sessions(files)]
    ways = [of_file(info) for info in infos]
    classes = [info.classes for info in infos]
    if opened is not None:
        ways = [*([opened.preprocessing] if opened.preprocessing else []), *ways]
        classes = [opened.classes, *classes]
    sizes = {way.size for way in ways}
    if len(sizes) > 1:
        raise SettingError(f"the models take images of different sizes: {sizes}. Try them one by one.")
    if trial.classes is not None:
        return next(iter(ways), None), read_classes(trial.classes)
    return next(iter(ways), None), next((names for names in classes if names), None)


def _fit_and_report(
    trial: "Trial", photos: Collection, progress: Progresses
) -> tuple[Collection | None, Collection, list[str]]:
    """Return the images to fit on, if any are needed, and those to report on; with what to say of them."""
    methods = [setting.runs for setting in trial.settings if not isinstance(setting.runs, ModelFile)]
    fit: Collection | None = None
    notes: list[str] = []
    if trial.calibration is not None:
        fit = open_collection(trial.calibration, layout="unlabelled").spread(MOST_FITTED)
        notes.append(f"Fitted on {len(fit)} images of {trial.calibration}.")
    elif any(method.label != "none" for method in methods):
        fit, photos = parted(photos)
        notes.append(
            f"Fitted on {len(fit)} of them, which are not reported on; better are images that the model was "
            "trained on (--calibration)."
        )
    photos = some(photos, trial.most, trial.seed)
    if trial.skip_unreadable:
        photos, bad = photos.readable(progress("looking at the images"))
        if fit is not None:
            fit, more = fit.readable(progress("looking at the images to fit on"))
            bad = (*bad, *more)
        if bad:
            notes.append(f"{len(bad)} images cannot be read and were left out: {listed(bad)}.")
    return fit, photos, notes


def _inputs(cells: PhotoCells, count: int) -> Inputs:
    """Return the first so many images as the model takes them, before normalization; fewer begin anew."""
    return cells.inputs(cells.cell(CLEAN, 0, np.arange(count) % len(cells.labels), 0))


def _on_torch(
    trial: "Trial",
    opened: "OpenedModel",
    how: Preprocessing,
    dataset: str,
    fit: Collection | None,
    example: Inputs,
    progress: Progresses,
) -> tuple[list[Contender], int | None]:
    """Return the methods on the torch model, and how many scores it gives; None if it gives no scores."""
    import torch

    from leantta.methods.method import SourceModel, TorchPredictor

    if trial.threads is not None:
        torch.set_num_threads(trial.threads)
    assert how.mean is not None  # as it is completed
    assert how.std is not None
    asked: list[int] = []

    def source(count: int) -> Inputs:
        if fit is None:
            raise SettingError("no images to fit on: give some with --calibration.")
        asked.append(count)
        return _inputs(PhotoCells(fit, how), min(count, len(fit)))

    normalized = TorchPredictor(opened.module, mean=how.mean, std=how.std).normalized(example)
    outputs = _scores(opened.module, normalized)
    subject = SourceModel(
        model=opened.module,
        example=normalized,
        mean=how.mean,
        std=how.std,
        classes=outputs or 0,
        source=source,
        modality=MODALITY,
        progress=progress,
    )
    contenders: list[Contender] = []
    for setting in trial.settings:
        if isinstance(setting.runs, ModelFile):
            continue
        asked.clear()
        (made,) = put_on(
            subject,
            [setting.runs],
            model=trial.model or "",
            dataset=dataset,
            weights_sha256=opened.weights_sha256 or _state_sha256(opened.module),
        )
        told = {"preprocessing": how.to_json()}
        contenders.append(_telling(made, told | ({"fitted_on": fit.fingerprint} if asked and fit else {})))
    return contenders, outputs


def _telling(contender: Contender, told: Mapping[str, Any]) -> Contender:
    """Return a contender whose records say more of what decides them."""
    settings = contender.settings
    more = {**settings.method_settings, **told}
    return contender._replace(settings=replace(settings, method_settings=more))


def _state_sha256(module: "nn.Module") -> str:
    """Return the hash of a model's weights, by which records of one tell it from another of the same name."""
    from torch import Tensor

    from leantta.digests import tensors_sha256

    state = module.state_dict()
    return tensors_sha256({name: value for name, value in state.items() if isinstance(value, Tensor)})


def _scores(module: "nn.Module", example: "Tensor") -> int | None:
    """Return how many scores a model gives for an image; None if it gives something else.

    Raises:
        UnsupportedModelError: it does not run on images of this size.
    """
    import torch

    from leantta.outputs import role_of
    from leantta.surgery.trial import advice

    try:
        with torch.inference_mode():
            given = module(example)
    except Exception as e:  # the model is foreign code and may raise anything
        first = str(e).strip().splitlines()
        raise UnsupportedModelError(
            f"the model does not run on a batch {tuple(example.shape)}: {first[0] if first else e!r}. "
            f"{advice(module, (example,))}"
        ) from e
    scored = isinstance(given, torch.Tensor) and role_of(given.shape[1:], example.shape[1:]) == "classes"
    return given.shape[1] if scored else None
