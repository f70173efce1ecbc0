"""What a conversion is given: calibration inputs, their normalisation, and the weights by their hash."""

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from leantta.errors import DataError, SettingError
from leantta.graph.ir import Array
from leantta.surgery.layers import unwrap

LEAST = 16
"""So many inputs a range and a quantile need at least; some hundreds are better."""


def check_calibration(
    images: Array, pixels: tuple[tuple[float, ...], tuple[float, ...]] | None, kind: str
) -> None:
    """Refuse calibration inputs that cannot tell what usual values are.

    Raises:
        DataError: too few, of a wrong type or shape, not finite, or all alike.
        SettingError: preprocessing is to be inside, but there is none.
    """
    if not isinstance(images, np.ndarray) or images.ndim < 2:
        found = f"shape {images.shape}" if isinstance(images, np.ndarray) else type(images).__name__
        raise DataError(f"calibration inputs are a numpy array (n, ...); this is {found}. Convert it first.")
    if pixels is None and kind == "image":
        raise SettingError("preprocessing inside the file needs the mean and std of the training images")
    if pixels is not None:
        _check_channels(images, len(pixels[0]), kind)
    if pixels is None and (images.dtype == np.uint8 or not np.issubdtype(images.dtype, np.floating)):
        raise DataError(
            f"without mean and std, calibration inputs are floats as the model takes them; these are "
            f"{images.dtype}. Pass mean and std for uint8 images."
        )
    if len(images) < LEAST:
        raise DataError(
            f"{len(images)} calibration inputs were given; ranges need at least {LEAST}, some hundreds are "
            "better. Take training images."
        )
    if not np.isfinite(images).all():
        raise DataError("a calibration input has NaN or infinite values; repair or remove it")
    flat = images.reshape(len(images), -1)
    if bool((flat == flat[:1]).all()):
        raise DataError(f"all {len(images)} calibration inputs are the same; take different training images")
    if bool((flat == flat[:, :1]).all()):
        raise DataError("every calibration input has one value only; take real training images")


def is_signal(inputs: Array) -> bool:
    """Tell whether calibration inputs that come with a mean and std are signals: floats, but no images.

    Images are given as bytes; as floats nobody knows whether they are normalized already.
    """
    looks_like_images = inputs.ndim == 4 and inputs.shape[1] == 3
    return bool(np.issubdtype(inputs.dtype, np.floating)) and inputs.ndim >= 3 and not looks_like_images


def _check_channels(inputs: Array, channels: int, kind: str) -> None:
    """Refuse inputs that a mean and std of so many channels cannot belong to."""
    if is_signal(inputs) and kind == "image":
        raise SettingError(
            f"preprocessing inside the file is for uint8 images; these inputs are {inputs.dtype}. Leave "
            f"--input image out."
        )
    if is_signal(inputs):
        found = inputs.shape[1]
    elif inputs.dtype == np.uint8 and inputs.ndim == 4:
        found = inputs.shape[-1]
    else:
        raise DataError(
            f"with mean and std, calibration images are uint8 (n, height, width, channels) and signals float "
            f"(n, channels, time); these are {inputs.dtype} {inputs.shape}"
        )
    if found != channels:
        raise DataError(f"mean and std have {channels} channels, the calibration images {found}")


def as_float32(inputs: Array) -> npt.NDArray[np.float32]:
    """Return inputs as the file takes them.

    Raises:
        DataError: a value is too large for float32.
    """
    with np.errstate(over="ignore"):
        narrow = np.ascontiguousarray(inputs, np.float32)
    if not np.isfinite(narrow).all():
        raise DataError("a calibration input has a value too large for float32; scale the inputs")
    return narrow


def pixel_statistics(
    mean: Sequence[float] | None, std: Sequence[float] | None
) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """Return mean and std per channel of the training inputs, None if the model takes them as they are.

    Raises:
        SettingError: one without the other, or numbers that cannot be.
    """
    if mean is None and std is None:
        return None
    given = [np.asarray([] if values is None else values, np.float64) for values in (mean, std)]
    numbers = np.isfinite(np.concatenate(given)).all() and (given[1] > 0).all()
    if mean is None or std is None or not len(mean) == len(std) > 0 or not numbers:
        raise SettingError(f"mean and std go together, one each per channel, std above 0; got {mean}, {std}")
    return tuple(mean), tuple(std)


def state_sha256(model: nn.Module) -> str:
    """Return a hash of all parameters and buffers by name."""
    digest = hashlib.sha256()
    for key, value in sorted(unwrap(model).state_dict().items()):
        digest.update(key.encode())
        digest.update(
            value.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes()
            if value.dim()
            else str(value.item()).encode()
        )
    return digest.hexdigest()
