"""What a caller gives, as the model takes it; or an error that says what to do with it first.

Images are uint8 (n, h, w, c), or float (n, c, h, w) between 0 and 1: pixels / 255, before normalization.
Models that are not for images take float (n, *shape), finite, of any range; a signal is in its own unit, and
is normalized here.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from leantta.data.datasets import per_channel
from leantta.data.logmel import Wave, check_wave, fit_wave, log_mel
from leantta.data.preprocess import fitted
from leantta.data.resize import MAX_PIXELS, Pixels, cover, luminance
from leantta.errors import DataError, SettingError
from leantta.runtime.input_info import InputInfo, SoundInfo
from leantta.runtime.metadata import Info

Array = npt.NDArray[Any]

AT_ONCE_BYTES = 8_388_608
"""Of float32 inputs that a model computes at once: 13 of 3 x 224 x 224. Layers need some ten times that."""


def prepare(images: npt.ArrayLike, info: InputInfo) -> Array:
    """Return a batch as the model's engine takes it.

    Raises:
        DataError: another shape, type or range than the model's, NaN or infinity, or an empty batch.
    """
    return _converted(_checked(images, info), info, first=0)


def prepare_in_slices(images: npt.ArrayLike, info: InputInfo) -> Iterator[Array]:
    """Give a batch of any size as the model's engine takes it, no more at once than memory always has.

    Raises:
        DataError: see `prepare`.
    """
    given, size = _checked(images, info), at_once(info)
    for first in range(0, len(given), size):
        yield _converted(given[first : first + size], info, first)


def at_once(info: InputInfo) -> int:
    """Return how many inputs a model computes at once, at most."""
    return max(1, AT_ONCE_BYTES // (4 * math.prod(info.shape)))


def _as_array(given: npt.ArrayLike) -> Array:
    """Return what a caller gave as an array.

    Raises:
        DataError: it is none, or too large to become one.
    """
    try:
        return np.asarray(given)
    except MemoryError as e:
        raise DataError(f"there is not enough memory for these inputs: {e}. Give fewer at a time.") from e
    except (ValueError, TypeError) as e:
        raise DataError(f"inputs are an array of numbers; this cannot become one: {e}.") from e


def _checked(images: npt.ArrayLike, info: InputInfo) -> Array:
    """Return a batch of the right type and shape; of its values nothing is known."""
    given = _as_array(images)
    if given.dtype == np.uint8 and info.is_image:
        _check_shape(given, (*info.shape[1:], info.shape[0]), info, "uint8 images are (n, height, width, c)")
        return given
    if given.dtype not in (np.float16, np.float32, np.float64):
        wanted = "uint8, or float between 0 and 1" if info.is_image else "float32"
        raise DataError(f"the model takes {wanted}; this is {given.dtype}. Convert it with .astype() first.")
    order = "float images are (n, c, height, width)" if info.is_image else "the batch axis comes first"
    _check_shape(given, info.shape, info, order)
    return given


def _converted(given: Array, info: InputInfo, first: int) -> Array:
    """Return a batch, or a part of one that begins at input number `first`, as the engine takes it."""
    if given.dtype == np.uint8:
        return np.ascontiguousarray(given) if info.kind == "image" else _normalized(_unit(given), info)
    if not info.is_image:
        values = _finite(given, first)
        return _normalized(values.copy(), info) if info.kind == "signal" else values
    _check_range(given, first)
    if info.kind == "image":
        pixels = np.rint(given.transpose(0, 2, 3, 1) * np.float32(255))
        return np.ascontiguousarray(pixels, dtype=np.uint8)
    return _normalized(np.array(given, dtype=np.float32, order="C"), info)


def single(image: npt.ArrayLike, info: InputInfo) -> Array:
    """Return one image as a batch of one.

    Raises:
        DataError: it has a batch axis, or too few axes.
    """
    given = _as_array(image)
    if given.ndim != len(info.shape):
        hint = "For a batch there is predict()." if given.ndim == len(info.shape) + 1 else "Reshape it."
        raise DataError(
            f"one input of this model has {len(info.shape)} axes; this has the shape {given.shape}. {hint}"
        )
    return given[None]


def check_takes_images(info: Info) -> None:
    """Look whether the model can be given image files.

    Raises:
        SettingError: it takes something else, or images with neither one nor three channels.
    """
    if not info.input.is_image or info.input.shape[0] not in (1, 3):
        shape = ", ".join(map(str, info.input.shape))
        raise SettingError(
            f"{info.model} takes inputs of shape ({shape}), not grey or RGB images. "
            f"Use leantta.load(...).predict(arrays)."
        )


def fit_image(image: Pixels, info: Info) -> Pixels:
    """Return an RGB image (h, w, 3) of any size as the model takes it, by the preprocessing in its file.

    A file that does not describe it takes images that are scaled to cover its input and cut in the centre, in
    grey if it has one channel.

    Raises:
        DataError: it is not an image, or does not come out at the model's size.
    """
    channels, height, width = info.input.shape
    if math.prod(image.shape[:2]) > MAX_PIXELS:
        raise DataError(
            f"this image has {image.shape[0]} x {image.shape[1]} pixels; at most {MAX_PIXELS:,} are taken. "
            f"Scale it down first."
        )
    how = info.input.preprocessing
    if how is None:
        sized = cover(image, height, width)
        return luminance(sized) if channels == 1 else sized
    placed = fitted(image, how)
    if placed.shape[:2] != (height, width):
        raise DataError(
            f"the model takes images of {height} x {width} pixels and its file does not scale them; this one "
            f"has {placed.shape[0]} x {placed.shape[1]}. Scale it, or convert the model with --resize."
        )
    return placed


def sound_info(info: Info) -> SoundInfo:
    """Return how the model hears.

    Raises:
        SettingError: it takes something else than sound.
    """
    if info.input.sound is None:
        shape = ", ".join(map(str, info.input.shape))
        raise SettingError(
            f"{info.model} takes inputs of shape ({shape}), not sound. Use leantta.load(...).predict(arrays)."
        )
    return info.input.sound


def hear(wave: Wave, info: Info) -> npt.NDArray[np.float32]:
    """Return a mono wave at 32 kHz as one input of the model: its log-mel frames, or the wave itself.

    A wave that is too long is cut at its end, one that is too short is filled as the model was trained.

    Raises:
        SettingError: the model takes something else than sound.
        DataError: the wave is empty, has several channels, or holds NaN or infinite values.
    """
    sound = sound_info(info)
    clip = wave[: sound.clip_samples] if wave.ndim == 1 else wave
    check_wave(clip)
    if info.input.kind == "frames":
        return log_mel(clip, frames=info.input.shape[1], filling=sound.filling)[np.newaxis]
    return fit_wave(clip, sound.clip_samples, sound.filling).astype(np.float32)


def _unit(pixels: Array) -> Array:
    """Return uint8 (n, h, w, c) as float32 (n, c, h, w) between 0 and 1, in memory of its own."""
    scaled = np.array(pixels.transpose(0, 3, 1, 2), dtype=np.float32, order="C")
    scaled /= np.float32(255)
    return scaled


def _normalized(scaled: Array, info: InputInfo) -> Array:
    """Return inputs less the mean, over the deviation, per channel; changes and returns its argument."""
    assert info.mean is not None  # of images and signals they are there
    assert info.std is not None
    scaled -= per_channel(info.mean, scaled.ndim)
    scaled /= per_channel(info.std, scaled.ndim)
    return scaled


def _finite(given: Array, first: int) -> Array:
    with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite, and is reported
        values = np.ascontiguousarray(given, dtype=np.float32)
    if not np.isfinite(values).all():
        raise DataError(f"{_first_bad(values, first)} has NaN or infinite values. Repair or remove it.")
    return values


def _check_range(given: Array, first: int) -> None:
    low, high = float(given.min()), float(given.max())
    if low >= 0 and high <= 1:  # false with NaN among the values
        return
    if not np.isfinite(given).all():
        raise DataError(f"{_first_bad(given, first)} has NaN or infinite values. Repair or remove it.")
    hint = (
        "Divide them by 255, or give them as uint8."
        if low >= 0 and high <= 255
        else "Give them as they were before normalization; the model brings its own."
    )
    raise DataError(f"float images must lie between 0 and 1; these lie between {low:g} and {high:g}. {hint}")


def _first_bad(given: Array, first: int) -> str:
    finite = np.isfinite(given).reshape(len(given), -1).all(axis=1)
    return f"input {first + int(np.flatnonzero(~finite)[0])} of the batch"


def _check_shape(given: Array, wanted: tuple[int, ...], info: InputInfo, order: str) -> None:
    if given.shape[1:] == wanted and len(given):
        return
    shown = f"(n, {', '.join(map(str, wanted))})"
    raise DataError(
        f"the model takes {given.dtype} of shape {shown}, n > 0; this has the shape {given.shape}. "
        f"{_shape_hint(given.shape, wanted, info, order)}"
    )


def _shape_hint(given: tuple[int, ...], wanted: tuple[int, ...], info: InputInfo, order: str) -> str:
    """Return what is the matter with a shape, and what mends it."""
    if given[1:] == wanted:
        return "The batch is empty."
    if given == wanted:
        return "The batch axis is missing: give images[None], or use predict_one()."
    if info.kind == "signal" and len(wanted) == 2 and given[1:] == wanted[::-1]:
        return f"Channels come before time, {order}: give windows.transpose(0, 2, 1)."
    other = (wanted[-1], *wanted[:-1]) if wanted != info.shape else (*wanted[1:], wanted[0])
    if info.is_image and given[1:] == other:
        axes = "(0, 2, 3, 1)" if wanted != info.shape else "(0, 3, 1, 2)"
        return f"The channels are in the wrong place, {order}: give images.transpose{axes}."
    if info.is_image and len(given) == len(wanted) + 1:
        channel = -1 if wanted != info.shape else 1
        if given[channel] != info.shape[0]:
            return f"The model has {info.shape[0]} channels, and {order}."
        return f"Scale the images to {info.shape[2]}x{info.shape[1]}, as leantta.fit_image does."
    return f"Reshape it: {order}."
