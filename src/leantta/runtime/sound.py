"""A wave as a model that hears takes it."""

import numpy as np
import numpy.typing as npt

from leantta.data.logmel import Wave, check_wave, fit_wave, log_mel
from leantta.errors import SettingError
from leantta.runtime.metadata import Info, SoundInfo


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
    check_wave(wave)
    clip = wave[: sound.clip_samples]
    if info.input.kind == "frames":
        return log_mel(clip, frames=info.input.shape[1], filling=sound.filling)[np.newaxis]
    return fit_wave(clip, sound.clip_samples, sound.filling).astype(np.float32)
