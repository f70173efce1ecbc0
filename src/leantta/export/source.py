"""What a conversion is given: calibration inputs, checked, as the model and as the file take them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from leantta.data.logmel import BANDS, SAMPLE_RATE, Filling, clip_samples
from leantta.digests import tensors_sha256
from leantta.disturbances.copies import Disturbances, disturbances_of
from leantta.errors import DataError, SettingError
from leantta.export.held_out import HeldOut
from leantta.export.preprocessing import image_constants, standardized
from leantta.graph.ir import Array
from leantta.pixels import Inputs, Pixels, floats
from leantta.quantize.params import Range
from leantta.runtime.metadata import InputInfo, SoundInfo
from leantta.surgery.layers import unwrap

Floats = npt.NDArray[np.float32]
Statistics = tuple[tuple[float, ...], tuple[float, ...]]
"""Mean and standard deviation per channel of the training inputs."""

LEAST = 16
"""So many inputs a range and a quantile need at least; some hundreds are better."""

SELFTEST_SEED = 20250


@dataclass(frozen=True, eq=False)
class Source:
    """Calibration inputs: as they were given, and as the model takes them."""

    given: Array
    inputs: Floats | Pixels  # as the model takes them; images are kept as bytes
    info: InputInfo  # what goes into the file

    def tensors(self) -> Inputs:
        """Return the inputs as torch has them."""
        return as_tensors(self.inputs)

    def held_out(self) -> HeldOut:
        """Return which of the inputs give the ranges of int8, which choose among them, and which report."""
        return HeldOut.of(len(self.given))

    def field(self, given: Array) -> Floats | Pixels:
        """Return inputs from where the model will run, given as the calibration inputs were.

        Raises:
            DataError: they are of another shape or type.
        """
        alike = given.dtype == self.given.dtype or (
            np.issubdtype(given.dtype, np.floating) and np.issubdtype(self.given.dtype, np.floating)
        )
        if not alike or given.shape[1:] != self.given.shape[1:]:
            raise DataError(
                f"field inputs are given as calibration inputs are, {self.given.dtype} (n, "
                f"{', '.join(map(str, self.given.shape[1:]))}); these are {given.dtype} {given.shape}. Read "
                "and resize (--size) both alike."
            )
        with np.errstate(over="ignore"):  # whether all are finite is seen later
            return _taken(given.astype(self.given.dtype), self.info)

    def fed(self) -> Array | Inputs:
        """Return the inputs as the graph takes them, before a spectrogram is put in front of it."""
        return self.given if self.info.kind == "image" else self.inputs

    def input_range(self) -> Range | None:
        """Return all values that a normalized pixel can take; None if the inputs are no images."""
        if not self.info.is_image:
            return None
        mean, std = np.asarray(self.info.mean), np.asarray(self.info.std)
        return float((-mean / std).min()), float(((1 - mean) / std).max())

    def disturbances(self) -> Disturbances | None:
        """Return what may happen to such inputs; None if nothing is known of them."""
        modality = "image" if self.info.is_image else "sound" if self.info.sound is not None else None
        few = as_tensors(self.inputs[: None if self.info.mean is None else 2])
        return disturbances_of(floats(few), modality=modality, mean=self.info.mean, std=self.info.std)

    def selftest_input(self) -> tuple[Array, Array]:
        """Return a made-up input (1, ...) as it is given to a session, and as it enters the graph."""
        if self.info.kind == "waveform":
            wave = selftest_wave(self.info.shape[0])
            return wave, wave
        made_up = selftest_input(self.given)
        if self.info.kind == "image":
            return made_up, made_up
        return made_up, floats(as_tensors(_taken(made_up, self.info))).numpy()


def read_source(
    calibration: Array, statistics: Statistics | None, sound: Filling | None, kind: str
) -> Source:
    """Return calibration inputs for a file of a kind: `tensor`, `image` or `waveform`.

    Raises:
        DataError: the inputs cannot be used.
        SettingError: the settings do not fit each other.
    """
    check_calibration(calibration, statistics, kind)
    check_sound(calibration, sound, kind)
    if sound is not None and statistics is not None:
        raise SettingError("a model for sound takes its log-mel features as they are; leave mean and std out")
    signal = statistics is not None and is_signal(calibration)
    if statistics is None or signal:
        calibration = as_float32(calibration)
    mean, std = statistics or (None, None)
    plain = InputInfo("signal" if signal else kind, (), mean, std)
    inputs = _taken(calibration, plain)
    info = plain._replace(shape=inputs.shape[1:])
    return Source(calibration, inputs, info if sound is None else _sound_info(info, sound))


def _taken(given: Array, info: InputInfo) -> Floats | Pixels:
    """Return inputs as the model takes them."""
    if info.mean is None or info.std is None:
        return given
    if info.kind == "signal":
        return standardized(given, info.mean, info.std)
    scale, offset = image_constants(info.mean, info.std)
    return Pixels.of(*map(torch.from_numpy, (np.ascontiguousarray(given), scale, offset)))


def as_tensors(inputs: Floats | Pixels) -> Inputs:
    """Return inputs as torch has them; nothing is copied."""
    return inputs if isinstance(inputs, Pixels) else torch.from_numpy(inputs)


def _sound_info(features: InputInfo, filling: Filling) -> InputInfo:
    """Return what the file says of an input of log-mel features, or of the wave behind them."""
    samples = clip_samples(features.shape[1])
    sound = SoundInfo(SAMPLE_RATE, samples, filling)
    if features.kind == "waveform":
        return features._replace(shape=(samples,), sound=sound)
    return features._replace(kind="frames", sound=sound)


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


def statistics_of(mean: Sequence[float] | None, std: Sequence[float] | None) -> Statistics | None:
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


def selftest_input(like: Array) -> Array:
    """Return one made-up input (1, ...) with the type and the usual values of the given ones (n, ...).

    It is smooth noise, not one of the images: a file should not give away what a model was calibrated with.
    """
    draw = np.random.default_rng(SELFTEST_SEED)
    shape = like.shape[1:]
    coarse = draw.standard_normal([-(-size // 4) for size in shape])
    for axis, size in enumerate(shape):
        coarse = np.repeat(coarse, 4, axis=axis).take(range(size), axis=axis)
    values = like.mean(dtype=np.float64) + like.std(dtype=np.float64) * coarse[None]
    if like.dtype == np.uint8:
        values = np.clip(np.rint(values), 0, 255)
    return np.asarray(values, like.dtype)


def selftest_wave(samples: int) -> Floats:
    """Return a made-up wave (1, samples): four short noises, each repeated, so that it packs into little."""
    draw = np.random.default_rng(SELFTEST_SEED)
    part = -(-samples // 4)
    noises = [np.cumsum(draw.standard_normal(1000)) for _ in range(4)]
    wave = np.concatenate([np.resize(noise - noise.mean(), part) for noise in noises])[:samples]
    return np.asarray(wave[None] / np.abs(wave).max(), np.float32)


def state_sha256(model: nn.Module) -> str:
    """Return a hash of all parameters and buffers by name."""
    return tensors_sha256(unwrap(model).state_dict())
