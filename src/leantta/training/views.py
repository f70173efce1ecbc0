"""How training samples of each modality are varied, and what a card says of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from leantta.data.datasets import Samples
from leantta.training.augment import SHIFT, augmented
from leantta.training.augment_motion import MOVE, moved
from leantta.training.recipes import Recipe


@dataclass(frozen=True, kw_only=True)
class Views:
    """Random views of the samples of one modality."""

    make: Callable[[Samples, np.random.Generator, Recipe], Samples]
    summary: Callable[[Recipe], str]  # a line of the card


VIEWS: Mapping[str, Views] = {
    "image": Views(
        make=lambda samples, generator, recipe: augmented(samples, generator, recipe.cutout),
        summary=lambda recipe: f"shift by up to {SHIFT} pixels, mirror, cutout of {recipe.cutout} pixels",
    ),
    "motion": Views(
        make=lambda samples, generator, _: moved(samples, generator),
        summary=lambda _: f"moved in time by up to {MOVE} samples",
    ),
}
