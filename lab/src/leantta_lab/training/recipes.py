"""The recipe of each model: what a training is told, with defaults that suit a CPU."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Literal

import torch
from torch import nn

from leantta.errors import SettingError

OptimizerName = Literal["sgd", "adamw"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a model is trained."""

    epochs: int
    growth: tuple[tuple[int, int], ...] = ()  # (side, epochs): the first epochs see smaller images, for less
    batch_size: int = 128
    optimizer: OptimizerName = "sgd"
    peak_rate: float = 0.1
    warm_up: float = 0.25  # the part of all steps in which the rate rises
    weight_decay: float = 5e-4  # on the weights of convolutions and linear layers only
    cutout: int = 8  # side of the square that is blanked; 0: none
    mixup: float = 0.0  # alpha of the Beta distribution of the shares in which two samples are mixed; 0: none
    label_smoothing: float = 0.0  # share of the target that is spread over all classes
    average: float = 0.0  # what a running average of the weights keeps at each step; 0: the last weights
    taught: float = 0.0  # share of the loss that asks for a teacher's scores instead of the labels
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be trained."""
        if self.epochs < 1 or self.small_epochs > self.epochs:
            raise SettingError(
                f"a training has at least one epoch, and of them 0 to all are small; "
                f"got {self.epochs} with {self.small_epochs} small"
            )
        if any(side < 1 or epochs < 1 for side, epochs in self.growth):
            raise SettingError(f"small epochs are of one pixel or more and at least one; got {self.growth}")
        if self.batch_size < 2:
            raise SettingError(f"BatchNorm learns from batches of two or more; got {self.batch_size}")
        for name in ("label_smoothing", "average", "taught"):
            if not 0 <= getattr(self, name) < 1:
                raise SettingError(
                    f"{name.replace('_', ' ')} is a share from 0 to below 1; got {getattr(self, name)}"
                )
        if not self.mixup >= 0:
            raise SettingError(f"the alpha of mixup is 0 or more; got {self.mixup}")
        if not self.peak_rate > 0:
            raise SettingError(f"the learning rate must be positive; got {self.peak_rate}")

    @property
    def small_epochs(self) -> int:
        """How many epochs see smaller images."""
        return sum(epochs for _, epochs in self.growth)

    def sides(self, whole: int) -> Iterator[int]:
        """Yield the side of the images in each epoch, where `whole` is their own.

        >>> list(Recipe(epochs=4, growth=((16, 1), (24, 2))).sides(32))
        [16, 24, 24, 32]
        """
        for side, epochs in self.growth:
            yield from repeat(side, epochs)
        yield from repeat(whole, self.epochs - self.small_epochs)


def shortened(growth: tuple[tuple[int, int], ...], most: int) -> tuple[tuple[int, int], ...]:
    """Return as much of the small epochs as `most` allows, the last of them cut.

    >>> shortened(((16, 4), (24, 4)), 6)
    ((16, 4), (24, 2))
    """
    kept: list[tuple[int, int]] = []
    for side, epochs in growth:
        fitting = min(epochs, most - sum(earlier for _, earlier in kept))
        if fitting > 0:
            kept.append((side, fitting))
    return tuple(kept)


RECIPES: Mapping[str, Recipe] = {
    "resnet18": Recipe(epochs=16),
    "mobilenet_v2": Recipe(epochs=16),
    "mobilevit_s": Recipe(
        epochs=16, growth=((32, 10),), optimizer="adamw", peak_rate=8e-4, weight_decay=0.05
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
