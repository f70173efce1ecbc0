"""Whether calibration inputs can be used, and what is said if not."""

import numpy as np
import numpy.typing as npt

from leantta.data.logmel import BANDS, Filling
from leantta.errors import DataError, SettingError
from leantta.graph.ir import Array

Floats = npt.NDArray[np.float32]
Statistics = tuple[tuple[float, ...], tuple[float, ...]]
"""Mean and standard deviation per channel of the training inputs."""

LEAST = 16
"""So many inputs a range and a quantile need at least; some hundreds are better."""


def check_calibration(images: Array, statistics: Statistics | None, kind: str) -> None:
    """Refuse calibration inputs that cannot tell what usual values are.

    Raises:
        DataError: too few, of a wrong type or shape, not finite, or all alike.
        SettingError: preprocessing is to be inside, but there is none.
    """
    if not isinstance(images, np.ndarray) or images.ndim < 2:
        given = f"shape {images.shape}" if isinstance(images, np.ndarray) else type(images).__name__
        raise DataError(f"calibration inputs are a numpy array (n, ...); this is {given}. Convert it first.")
    if statistics is None and kind == "image":
        raise SettingError("preprocessing inside the file needs the mean and std of the training images")
    if statistics is not None:
        _check_channels(images, len(statistics[0]), kind)
    if statistics is None and (images.dtype == np.uint8 or not np.issubdtype(images.dtype, np.floating)):
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


def check_sound(features: Array, sound: Filling | None, kind: str) -> None:
    """Refuse what cannot become a file that hears.

    Raises:
        SettingError: the wave is to go in, but the model is not told to hear; or an unknown filling.
        DataError: the calibration inputs are no log-mel features.
    """
    if sound is None:
        if kind == "waveform":
            raise SettingError(
                "a waveform as input needs a model for sound: give a folder of sound files as --calibration, "
                "or convert(..., sound='silence')"
            )
        return
    if sound not in ("silence", "repeat"):
        raise SettingError(f"unknown filling {sound!r}; known: silence, repeat.")
    if kind == "image" or features.ndim != 4 or features.shape[1::2] != (1, BANDS):
        raise DataError(
            f"a model for sound is calibrated with log-mel features (n, 1, frames, {BANDS}), and its file "
            f"takes those or a waveform; asked for were inputs {features.shape} and a file for {kind}s"
        )


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
        given = inputs.shape[1]
    elif inputs.dtype == np.uint8 and inputs.ndim == 4:
        given = inputs.shape[-1]
    else:
        raise DataError(
            f"with mean and std, calibration images are uint8 (n, height, width, channels) and signals float "
            f"(n, channels, time); these are {inputs.dtype} {inputs.shape}"
        )
    if given != channels:
        raise DataError(f"mean and std have {channels} channels, the calibration images {given}")


def as_float32(inputs: Array) -> Floats:
    """Return inputs as the file takes them.

    Raises:
        DataError: a value is too large for float32.
    """
    with np.errstate(over="ignore"):
        narrow = np.ascontiguousarray(inputs, np.float32)
    if not np.isfinite(narrow).all():
        raise DataError("a calibration input has a value too large for float32; scale the inputs")
    return narrow
