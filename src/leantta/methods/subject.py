"""What a method is put on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor, nn

from leantta.evaluate.predictor import Inputs
from leantta.methods.torch_predictor import TorchPredictor

CALIBRATION_IMAGES = 512
"""How many training images the calibrated gate sees."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A model, an input it runs on, its normalisation, and where source images come from."""

    model: nn.Module
    example: Tensor  # normalised, as the model takes it
    mean: Sequence[float]
    std: Sequence[float]
    classes: int  # the number of logits
    source: Callable[[int], Inputs]  # so many training inputs, as a stream gives them

    def predictor(self, model: nn.Module) -> TorchPredictor:
        """Return a model, in the place of this one, as a predictor."""
        return TorchPredictor(model, mean=self.mean, std=self.std)

    def calibration(self) -> Tensor:
        """Return source images as the model takes them."""
        return self.predictor(self.model).normalized(np.ascontiguousarray(self.source(CALIBRATION_IMAGES)))
