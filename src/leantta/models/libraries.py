"""Networks of timm and torchvision, where the user has them: built, loaded, and described by themselves.

Neither is a dependency. What they say of a network's images (size, mean, std, interpolation) is kept as
`Preprocessing`, so nobody has to look it up.
"""

import importlib
import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from math import floor
from typing import Any, get_args

from torch import nn

from leantta.data.preprocess import Preprocessing
from leantta.data.words import Interpolation
from leantta.errors import DownloadError, MissingExtraError, SettingError
from leantta.models.opened import OpenedModel
from leantta.models.request import Asked
from leantta.models.weights import load_weights, stored_classes

PROPORTION = 0.5
"""How much of a name must be alike for it to be suggested."""


def open_timm(asked: Asked) -> OpenedModel:
    """Return a network of timm, with the weights given or those that timm downloads."""
    timm, data = _library("timm", asked), _library("timm.data", asked)
    if ":" not in asked.name:  # else it is on a hub, which timm asks
        _check_known(asked, timm.is_model(asked.name.partition(".")[0]), timm.list_models())
    module = _filled(
        asked,
        lambda classes: timm.create_model(
            asked.name, **({} if classes is None else {"num_classes": classes})
        ),
        lambda: timm.create_model(asked.name, pretrained=True),
    )
    config = data.resolve_model_data_config(module)
    usual = getattr(module, "pretrained_cfg", {}).get("num_classes")
    return OpenedModel(
        spec=asked.spec,
        module=module.eval(),
        preprocessing=timm_preprocessing(config),
        classes=_timm_classes(data, module) if usual == getattr(module, "num_classes", None) else None,
        input_shape=tuple(config["input_size"]),
    )


def timm_preprocessing(config: dict[str, Any]) -> Preprocessing:
    """Return what timm does to an image for evaluation, from its data configuration.

    >>> timm_preprocessing({"input_size": (3, 224, 224), "crop_pct": 0.875}).resize
    256
    """
    channels, height, width = config["input_size"]
    part = config.get("crop_pct") or 1.0
    scaled = floor(height / part), floor(width / part)
    mean, std = _numbers(config.get("mean")), _numbers(config.get("std"))
    how = Preprocessing(
        resize=scaled[0],
        interpolation=_interpolation(config.get("interpolation")),
        crop=(height, width),
        colours="grey" if channels == 1 else "rgb",
        mean=mean,
        std=std,
    )
    if config.get("crop_mode") == "squash" or height != width:
        return replace(how, resize=scaled)
    if config.get("crop_mode") != "border":
        return how
    fill = tuple(round(255 * each) for each in mean or (0.0,))
    return replace(how, side="long", pad=(height, width), fill=fill[0] if len(fill) == 1 else fill)


def open_torchvision(asked: Asked) -> OpenedModel:
    """Return a network of torchvision, with the weights given or those that torchvision downloads."""
    models = _library("torchvision.models", asked)
    _check_known(asked, asked.name in models.list_models(), models.list_models())
    # A backbone has weights of its own, which would be downloaded only to be replaced.
    whole = "weights_backbone" in inspect.signature(models.get_model_builder(asked.name)).parameters
    bare = {"weights": None, **({"weights_backbone": None} if whole else {})}
    module = _filled(
        asked,
        lambda classes: models.get_model(
            asked.name, **bare, **({} if classes is None else {"num_classes": classes})
        ),
        lambda: models.get_model(asked.name, weights="DEFAULT"),
    )
    published = models.get_model_weights(asked.name).DEFAULT
    preprocessing = torchvision_preprocessing(published.transforms())
    names = tuple(map(str, published.meta.get("categories", ())))
    size = preprocessing.crop
    return OpenedModel(
        spec=asked.spec,
        module=module.eval(),
        preprocessing=preprocessing,
        classes=names if names and len(names) == _outputs(module) else None,
        input_shape=None if size is None else (3, *size),
    )


def torchvision_preprocessing(transforms: Any) -> Preprocessing:
    """Return what the transforms of torchvision's weights do to an image."""
    resize, crop = (_sizes(getattr(transforms, name, None)) for name in ("resize_size", "crop_size"))
    interpolation = getattr(transforms, "interpolation", None)
    return Preprocessing(
        resize=None if resize is None else resize[0] if len(resize) == 1 else (resize[0], resize[1]),
        interpolation=_interpolation(getattr(interpolation, "value", interpolation)),
        crop=None if crop is None else (crop[0], crop[-1]),
        mean=_numbers(getattr(transforms, "mean", None)),
        std=_numbers(getattr(transforms, "std", None)),
    )


def _library(name: str, asked: Asked) -> Any:
    """Return a module of a library.

    Raises:
        MissingExtraError: it is not installed, or lacks a package that it needs itself.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as e:
        package = (e.name or name).partition(".")[0]
        raise MissingExtraError(
            f"{asked.spec} needs the package {package!r}, which is not installed: pip install {package}"
        ) from e


def _check_known(asked: Asked, known: bool, names: Iterable[str]) -> None:
    if known:
        return
    near = get_close_matches(asked.name, [*names], n=3, cutoff=PROPORTION)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    raise SettingError(f"{asked.spec.partition(':')[0]} has no model {asked.name!r}.{hint}")


def _filled(
    asked: Asked, bare: Callable[[int | None], nn.Module], trained: Callable[[], nn.Module]
) -> nn.Module:
    """Return a network with the weights that are asked for; `bare` takes the number of classes.

    Raises:
        CheckpointError: the weights given do not fit.
        DownloadError: none were given, and the library has none or cannot fetch them.
    """
    if asked.weights is not None:
        module = bare(None)
        classes = stored_classes(module, asked.weights, prefix=asked.prefix)
        if classes is not None:  # trained further, on classes of the user's own
            module = bare(classes)
        load_weights(module, asked.weights, prefix=asked.prefix)
        return module
    if asked.untrained:
        return bare(None)
    try:
        return trained()
    except Exception as e:  # libraries and hubs raise errors of many kinds
        reason = (str(e).strip().splitlines() or [type(e).__name__])[0]
        raise DownloadError(
            f"the trained weights of {asked.spec} could not be fetched: {reason.rstrip('.')}. Fetch them "
            "on a machine that is online and give the file with --weights FILE."
        ) from e


def _timm_classes(data: Any, module: nn.Module) -> tuple[str, ...] | None:
    """Return the names of ImageNet's classes if timm knows that the network has them."""
    subset = data.infer_imagenet_subset(module)
    if not subset:
        return None
    info = data.ImageNetInfo(subset)
    return tuple(str(info.index_to_description(index)) for index in range(info.num_classes()))


def _outputs(module: nn.Module) -> int | None:
    """Return the number of values of the last linear layer, as classifiers of torchvision end in one."""
    linear = [layer for layer in module.modules() if isinstance(layer, nn.Linear)]
    return linear[-1].out_features if linear else None


def _interpolation(told: object) -> Interpolation:
    known: tuple[Interpolation, ...] = get_args(Interpolation)
    return next((name for name in known if name == told), "bilinear")


def _numbers(values: Sequence[float] | None) -> tuple[float, ...] | None:
    return None if values is None else tuple(float(value) for value in values)


def _sizes(told: Any) -> tuple[int, ...] | None:
    if told is None:
        return None
    return (int(told),) if isinstance(told, int) else tuple(int(value) for value in told)
