"""How training samples of each modality are varied, and what a card says of it.

All views are pure functions of the samples and of what was drawn. Waves are mono at 32 kHz; the front end
divides by the largest value, so a gain is heard only where it acts on a part of the whole: in a mixture, or
in a clip whose loudness changes as it goes on.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leantta.data.datasets import Inputs, Labels, Pixels, Samples
from leantta.errors import DataError, SettingError
from leantta_lab.training.recipes import Recipe

Wave = npt.NDArray[np.float32]

SHIFT = 4
"""How many pixels an image may be moved in each direction."""
GREY = 120
"""Close to the mean of the CIFAR images, which is zero for the network."""
MOVE = 32
"""How many samples a window may be moved in each direction: a quarter of it."""


def augmented(images: Pixels, generator: np.random.Generator, cutout: int) -> Pixels:
    """Return (n, h, w, 3) images, each moved by up to four pixels, mirrored or not, and with a grey square.

    What moves in from outside is black; the square has the side `cutout` and may reach over the border.
    """
    n, height, width, _ = images.shape
    padded = np.pad(images, ((0, 0), (SHIFT, SHIFT), (SHIFT, SHIFT), (0, 0)))
    top, left = generator.integers(0, 2 * SHIFT + 1, (2, n, 1))
    rows = top + np.arange(height)  # (n, h)
    columns = left + np.arange(width)  # (n, w)
    mirrored = generator.random((n, 1)) < 0.5
    columns = np.where(mirrored, columns[:, ::-1], columns)
    views: Pixels = padded[np.arange(n)[:, None, None], rows[:, :, None], columns[:, None, :]]
    if cutout:
        blank = (
            _inside(generator, n, height, cutout)[:, :, None] & _inside(generator, n, width, cutout)[:, None]
        )
        views[blank] = GREY
    return views


def _inside(generator: np.random.Generator, n: int, length: int, cutout: int) -> npt.NDArray[np.bool_]:
    """Tell for each image which of `length` positions lie in its square, (n, length)."""
    start = generator.integers(0, length, (n, 1)) - cutout // 2
    position = np.arange(length)
    return (position >= start) & (position < start + cutout)


def moved_windows(windows: Inputs, generator: np.random.Generator) -> Inputs:
    """Return windows (n, 9, t), each moved in time; what leaves at one end comes in at the other."""
    n, _, length = windows.shape
    step = generator.integers(-MOVE, MOVE + 1, (n, 1))
    places = (np.arange(length) - step) % length  # (n, t)
    return np.take_along_axis(windows, places[:, None], axis=2)


@dataclass(frozen=True, kw_only=True)
class SoundViews:
    """How often and how strongly training clips are changed."""

    mixing: float = 0.5  # how often another clip is mixed in
    quietest_db: float = -12.0  # of the clip that is mixed in, against the first
    shifting: float = 1.0  # how often the clip is moved in time
    swell_db: float = 6.0  # how far loudness may rise or fall between start and end

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if not (0 <= self.mixing <= 1 and 0 <= self.shifting <= 1):
            raise SettingError(
                f"mixing and shifting are shares from 0 to 1, got {self.mixing} and {self.shifting}"
            )
        if self.quietest_db > 0 or self.swell_db < 0:
            raise SettingError(
                f"quietest_db is at most 0 and swell_db at least 0, got {self.quietest_db}, {self.swell_db}"
            )


def sound_view(
    wave: Wave,
    label: int,
    other: Wave,
    other_label: int,
    dice: np.random.Generator,
    views: SoundViews = SoundViews(),
) -> tuple[Wave, int]:
    """Return a training view of a clip with its label; `other` is the clip that may be mixed in.

    There is a bird in a mixture if there is one in either clip.

    >>> quiet = SoundViews(mixing=0, shifting=0, swell_db=0)
    >>> sound_view(np.ones(4, np.float32), 1, np.ones(4, np.float32), 0, np.random.default_rng(0), quiet)[1]
    1

    Raises:
        DataError: a clip without samples.
    """
    mixes, moves = dice.random(2) < (views.mixing, views.shifting)
    gain_db, place, swell_db = dice.uniform((views.quietest_db, 0, -views.swell_db), (0, 1, views.swell_db))
    if mixes:
        wave, label = mix(wave, other, float(gain_db)), label | other_label
    if moves:
        wave = moved(wave, int(place * wave.size))
    return swelled(wave, float(swell_db)), label


def mix(wave: Wave, other: Wave, gain_db: float) -> Wave:
    """Return two clips at once, the second `gain_db` louder when both are at their full level.

    The length is that of the first; the second is repeated or cut.

    >>> mix(np.array([1, 0, 0], np.float32), np.array([0, 5], np.float32), 0).tolist()
    [1.0, 1.0, 0.0]

    Raises:
        DataError: a clip without samples.
    """
    if not wave.size or not other.size:
        raise DataError("a clip without samples cannot be mixed. Remove it.")
    factor = np.float32(10 ** (gain_db / 20))
    return _levelled(wave) + factor * np.resize(_levelled(other), wave.size)


def moved(wave: Wave, samples: int) -> Wave:
    """Return the clip so many samples later; what leaves at its end comes in at its start.

    >>> moved(np.array([1, 2, 3], np.float32), 1).tolist()
    [3.0, 1.0, 2.0]
    """
    return np.roll(wave, samples)


def swelled(wave: Wave, gain_db: float) -> Wave:
    """Return the clip with its loudness changed evenly, from none at its start to `gain_db` at its end."""
    return wave * (10 ** (np.linspace(0, gain_db / 20, wave.size))).astype(np.float32)


def _levelled(wave: Wave) -> Wave:
    return np.asarray(wave / (np.abs(wave).max() or 1), np.float32)


SOUND_VIEWS = SoundViews()


def _mixed(waves: Samples, labels: Labels, generator: np.random.Generator) -> tuple[Samples, Labels]:
    """Return views of clips, each perhaps with another of the batch in it, and whether a bird is heard."""
    others = generator.permutation(len(waves))
    views = [
        sound_view(waves[one], int(labels[one]), waves[other], int(labels[other]), generator, SOUND_VIEWS)
        for one, other in enumerate(others)
    ]
    return np.stack([wave for wave, _ in views]), np.array([label for _, label in views], np.int64)


@dataclass(frozen=True, kw_only=True)
class Views:
    """Random views of the samples of one modality."""

    make: Callable[[Samples, Labels, np.random.Generator, Recipe], tuple[Samples, Labels]]
    summary: Callable[[Recipe], str]  # a line of the card


VIEWS: Mapping[str, Views] = {
    "image": Views(
        make=lambda samples, labels, generator, recipe: (
            augmented(samples, generator, recipe.cutout),
            labels,
        ),
        summary=lambda recipe: f"shift by up to {SHIFT} pixels, mirror, cutout of {recipe.cutout} pixels",
    ),
    "motion": Views(
        make=lambda samples, labels, generator, _: (moved_windows(samples, generator), labels),
        summary=lambda _: f"moved in time by up to {MOVE} samples",
    ),
    "sound": Views(
        make=lambda samples, labels, generator, _: _mixed(samples, labels, generator),
        summary=lambda _: (
            f"half of the clips mixed with another, up to {-SOUND_VIEWS.quietest_db:g} dB quieter; moved in "
            f"time; loudness rising or falling by up to {SOUND_VIEWS.swell_db:g} dB"
        ),
    ),
}
