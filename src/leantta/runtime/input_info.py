"""What a model file says of its input, and how that is read."""

from typing import NamedTuple

from leantta.data.logmel import BANDS, HOP, SAMPLE_RATE, WINDOW, Filling
from leantta.data.preprocess import Preprocessing
from leantta.errors import ArtifactError, SettingError
from leantta.runtime.fields import Fields

SOUND_KINDS = ("frames", "waveform")


class SoundInfo(NamedTuple):
    """How a model hears: at which rate, how much at once, and what follows a clip that is too short."""

    sample_rate: int
    clip_samples: int
    filling: Filling


class InputInfo(NamedTuple):
    """What goes in: channels first, and the normalization that belongs to the model.

    The kind `image` is uint8 (n, h, w, c) with the preprocessing inside; all others are float32 (n, *shape).
    Of those, a `signal` is in its own unit, of any range, and normalized by the runtime; `frames` are log-mel
    features of sound and `waveform` is the sound itself.
    """

    kind: str
    shape: tuple[int, ...]  # (c, h, w) of images, (c, t) of sensors; of sound (1, frames, bands), (samples,)
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    sound: SoundInfo | None = None
    preprocessing: Preprocessing | None = None  # of images, without mean and std; None: `resize.cover`

    @property
    def is_image(self) -> bool:
        """Whether the model takes images, as pixels or between 0 and 1; else it takes any float32."""
        return self.kind == "image" or (self.kind == "tensor" and self.mean is not None)


def read_input(fields: Fields) -> InputInfo:
    """Return what the metadata say of the input.

    Raises:
        ArtifactError: a field is missing or wrong.
    """
    part = fields.inner("input")
    kind = part.text("kind", of=("tensor", "image", "signal", *SOUND_KINDS))
    shape = part.wholes("shape", least=1)
    if kind in SOUND_KINDS:
        return InputInfo(kind=kind, shape=shape, sound=_sound(part, kind, shape))
    plain = part.is_null("mean") and part.is_null("std")
    if len(shape) != 3 and (kind == "image" or (kind == "tensor" and not plain)):
        raise part.wrong("shape", "the channels, height and width of an image")
    if plain and kind == "signal":
        raise part.wrong("mean", "a number per channel, as std: a signal is normalized with them")
    mean = None if plain else part.numbers("mean", count=shape[0])
    std = None if plain else part.numbers("std", count=shape[0])
    if std and min(std) <= 0:
        raise part.wrong("std", "above 0")
    given = InputInfo(kind=kind, shape=shape, mean=mean, std=std)
    return given._replace(preprocessing=_preprocessing(part, given))


def _preprocessing(part: Fields, given: InputInfo) -> Preprocessing | None:
    if "preprocessing" not in part.values:
        return None
    try:
        how = Preprocessing.from_json(part.inner("preprocessing").values)
    except SettingError as e:
        raise ArtifactError(f"{part.path} has wrong metadata: {e} Convert the model again.") from e
    if not given.is_image or how.channels != given.shape[0] or how.size not in (None, given.shape[1:]):
        raise part.wrong("preprocessing", f"what makes an input of shape {list(given.shape)}")
    return how


def _sound(part: Fields, kind: str, shape: tuple[int, ...]) -> SoundInfo:
    inner = part.inner("sound")
    length = inner.whole("clip_samples", least=WINDOW)
    if inner.whole("sample_rate", least=1) != SAMPLE_RATE:
        raise inner.wrong("sample_rate", f"{SAMPLE_RATE}")
    if kind == "waveform" and shape != (length,):
        raise part.wrong("shape", f"{[length]}, the samples of a clip")
    if kind == "frames" and (len(shape) != 3 or shape[::2] != (1, BANDS)):
        raise part.wrong("shape", f"1 channel, the frames and {BANDS} bands")
    if kind == "frames" and WINDOW + (shape[1] - 1) * HOP > length:
        raise inner.wrong("clip_samples", f"enough for {shape[1]} frames")
    filling: Filling = "repeat" if inner.text("filling", of=("silence", "repeat")) == "repeat" else "silence"
    return SoundInfo(SAMPLE_RATE, length, filling)
