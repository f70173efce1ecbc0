"""What a conversion is given: calibration inputs, checked, as the model and as the file take them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from leantta.data.logmel import SAMPLE_RATE, Filling, clip_samples
from leantta.data.preprocess import Preprocessing, check_statistics
from leantta.digests import tensors_sha256
from leantta.disturbances.copies import Disturbances, disturbances_of
from leantta.errors import DataError, SettingError
from leantta.export.calibration import Statistics, as_float32, check_calibration, check_sound, is_signal
from leantta.export.held_out import HeldOut
from leantta.export.preprocessing import check_fitted, image_constants, standardized
from leantta.graph.ir import Array
from leantta.pixels import Inputs, Pixels, floats
from leantta.quantize.params import Range
from leantta.runtime.input_info import InputInfo, SoundInfo
from leantta.surgery.layers import unwrap

Floats = npt.NDArray[np.float32]
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
    calibration: Array,
    statistics: Statistics | None,
    sound: Filling | None,
    kind: str,
    preprocessing: Preprocessing | None = None,
) -> Source:
    """Return calibration inputs for a file of a kind: `tensor`, `image` or `waveform`.

    Images are as they come out of the `preprocessing`, which the file only carries.

    Raises:
        DataError: the inputs cannot be used.
        SettingError: the settings do not fit each other.
    """
    check_calibration(calibration, statistics, kind)
    check_sound(calibration, sound, kind)
    if sound is not None and statistics is not None:
        raise SettingError("a model for sound takes its log-mel features as they are; leave mean and std out")
    signal = statistics is not None and is_signal(calibration)
    if statistics is not None and not signal:
        check_statistics(*statistics, len(statistics[0]))
    if preprocessing is not None:
        check_fitted(calibration, preprocessing, normalized=statistics is not None)
        # Mean and std stand beside it, and the layout is a matter of the graph.
        preprocessing = replace(preprocessing, mean=None, std=None, layout="channels_first")
    if statistics is None or signal:
        calibration = as_float32(calibration)
    mean, std = statistics or (None, None)
    plain = InputInfo("signal" if signal else kind, (), mean, std)
    inputs = _taken(calibration, plain)
    info = plain._replace(shape=inputs.shape[1:], preprocessing=preprocessing)
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
    middle = like.mean(dtype=np.float64)
    deviation = np.sqrt(
        np.mean([np.square(each - middle).mean() for each in like])
    )  # one by one: they are many
    values = middle + deviation * coarse[None]
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
