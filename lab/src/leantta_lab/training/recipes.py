"""The recipe of each model: what a training is told, with defaults that suit a CPU."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Literal

import torch
from torch import nn

from leantta.errors import SettingError

OptimizerName = Literal["sgd", "adamw"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a model is trained.

    The first `small_epochs` see images of `small_side` pixels, at about a third of the price; the rest see
    the images as the model will.
    """

    epochs: int
    small_epochs: int = 0
    small_side: int = 16
    batch_size: int = 128
    optimizer: OptimizerName = "sgd"
    peak_rate: float = 0.1
    warm_up: float = 0.25  # the part of all steps in which the rate rises
    weight_decay: float = 5e-4  # on the weights of convolutions and linear layers only
    cutout: int = 8  # side of the square that is blanked; 0: none
    label_smoothing: float = 0.0  # share of the target that is spread over all classes
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be trained."""
        if self.epochs < 1 or not 0 <= self.small_epochs <= self.epochs:
            raise SettingError(
                f"a training has at least one epoch, and of them 0 to all are small; "
                f"got {self.epochs} with {self.small_epochs} small"
            )
        if self.batch_size < 2:
            raise SettingError(f"BatchNorm learns from batches of two or more; got {self.batch_size}")
        if not 0 <= self.label_smoothing < 1:
            raise SettingError(f"label smoothing is a share from 0 to below 1; got {self.label_smoothing}")
        if not self.peak_rate > 0:
            raise SettingError(f"the learning rate must be positive; got {self.peak_rate}")

    def sides(self, whole: int) -> Iterator[int]:
        """Yield the side of the images in each epoch, where `whole` is their own."""
        small = repeat(self.small_side, self.small_epochs)
        return chain(small, repeat(whole, self.epochs - self.small_epochs))


RECIPES: Mapping[str, Recipe] = {
    "resnet18": Recipe(epochs=16),
    "mobilenet_v2": Recipe(epochs=16),
    "mobilevit_s": Recipe(
        epochs=16, small_epochs=10, small_side=32, optimizer="adamw", peak_rate=8e-4, weight_decay=0.05
    ),
    "vggish": Recipe(
        epochs=16, batch_size=16, optimizer="adamw", peak_rate=1e-3, weight_decay=0.02, cutout=0
    ),
    "motion_cnn": Recipe(epochs=30, optimizer="adamw", peak_rate=3e-3, weight_decay=0.05, cutout=0),
}


def recipe_of(model: str) -> Recipe:
    """Return the recipe of a model of the table.

    Raises:
        SettingError: there is none.
    """
    if model not in RECIPES:
        raise SettingError(f"no recipe trains {model!r}; there are recipes for {', '.join(RECIPES)}")
    return RECIPES[model]


def optimizer_of(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """Return the optimizer of a recipe; biases and normalizations do not decay."""
    groups = [
        {"params": [p for p in model.parameters() if p.ndim > 1], "weight_decay": recipe.weight_decay},
        {"params": [p for p in model.parameters() if p.ndim <= 1], "weight_decay": 0.0},
    ]
    if recipe.optimizer == "adamw":
        return torch.optim.AdamW(groups, lr=recipe.peak_rate)
    return torch.optim.SGD(groups, lr=recipe.peak_rate, momentum=0.9, nesterov=True)


def rate_at(recipe: Recipe, done: float) -> float:
    """Return the learning rate of one cycle: from a tenth of the peak up to it, then down to zero.

    `done` is the part of all steps that lies behind, in [0, 1).

    >>> recipe = Recipe(epochs=1, peak_rate=0.1)
    >>> [round(rate_at(recipe, done), 3) for done in (0, 0.25, 0.625)]
    [0.01, 0.1, 0.05]
    """
    if done < recipe.warm_up:
        return recipe.peak_rate * (0.1 + 0.9 * done / recipe.warm_up)
    return recipe.peak_rate * (1 - done) / (1 - recipe.warm_up)
