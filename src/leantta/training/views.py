"""How training samples of each modality are varied, and what a card says of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from leantta.data.datasets import Labels, Samples
from leantta.data.sound_augment import SoundViews, sound_view
from leantta.training.augment import SHIFT, augmented
from leantta.training.augment_motion import MOVE, moved
from leantta.training.recipes import Recipe


@dataclass(frozen=True, kw_only=True)
class Views:
    """Random views of the samples of one modality."""

    make: Callable[[Samples, Labels, np.random.Generator, Recipe], tuple[Samples, Labels]]
    summary: Callable[[Recipe], str]  # a line of the card


SOUND_VIEWS = SoundViews()


def _mixed(waves: Samples, labels: Labels, generator: np.random.Generator) -> tuple[Samples, Labels]:
    """Return views of clips, each perhaps with another of the batch in it, and whether a bird is heard."""
    others = generator.permutation(len(waves))
    views = [
        sound_view(waves[one], int(labels[one]), waves[other], int(labels[other]), generator, SOUND_VIEWS)
        for one, other in enumerate(others)
    ]
    return np.stack([wave for wave, _ in views]), np.array([label for _, label in views], np.int64)


VIEWS: Mapping[str, Views] = {
    "image": Views(
        make=lambda samples, labels, generator, recipe: (
            augmented(samples, generator, recipe.cutout),
            labels,
        ),
        summary=lambda recipe: f"shift by up to {SHIFT} pixels, mirror, cutout of {recipe.cutout} pixels",
    ),
    "motion": Views(
        make=lambda samples, labels, generator, _: (moved(samples, generator), labels),
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
