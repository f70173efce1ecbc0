"""What a method is: a value with a label and settings for records, to be put on a model with its source."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from leantta.data.datasets import per_channel
from leantta.errors import DataError
from leantta.evaluate.predictor import Inputs, Logits, Predictor
from leantta.progress import Progresses, silent
from leantta.surgery.adaptation import Adaptation


class TorchPredictor:
    """Runs a model that holds no state: what it says of an input depends on that input alone."""

    stateless = True

    def __init__(self, model: nn.Module, *, mean: Sequence[float], std: Sequence[float]) -> None:
        """Take a model, and the mean and standard deviation per channel that it was trained with."""
        self.model = model.eval()
        self.mean, self.std = mean, std

    def normalized(self, images: Inputs) -> torch.Tensor:
        """Return inputs (n, c, *positions), such as images between 0 and 1, as the model takes them.

        Raises:
            DataError: another number of channels, or values that are not finite.
        """
        if images.ndim < 3 or images.shape[1] != len(self.mean):
            raise DataError(
                f"inputs must be (n, {len(self.mean)}, ...), images (n, {len(self.mean)}, h, w); "
                f"these have the shape {images.shape}"
            )
        if not np.isfinite(images).all():
            raise DataError("an input has NaN or infinite values; repair or remove it")
        mean, std = (per_channel(values, images.ndim) for values in (self.mean, self.std))
        return torch.from_numpy((images - mean) / std)

    def predict(self, images: Inputs) -> Logits:
        """Return a score per class, (n, k)."""
        with torch.inference_mode():
            logits: Logits = self.model(self.normalized(images)).float().numpy()
        return logits

    def reset(self) -> None:
        """Do nothing: there is no state."""


@dataclass(frozen=True, kw_only=True)
class SourceModel:
    """What a method is put on: a model, an input it runs on, its normalisation, and training inputs."""

    model: nn.Module
    example: Tensor  # normalised, as the model takes it
    mean: Sequence[float]
    std: Sequence[float]
    classes: int  # the number of logits
    source: Callable[[int], Inputs]  # so many training inputs, as a stream gives them
    modality: str = "image"
    progress: Progresses = lambda _: silent  # of a method that takes long to put on

    def predictor(self, model: nn.Module) -> TorchPredictor:
        """Return a model, in the place of this one, as a predictor."""
        return TorchPredictor(model, mean=self.mean, std=self.std)

    def calibration(self, count: int) -> Tensor:
        """Return so many source images as the model takes them."""
        return self.predictor(self.model).normalized(np.ascontiguousarray(self.source(count)))


@dataclass(frozen=True, kw_only=True)
class Method:
    """What a text such as `leantta:all` or `eata:recommended` means."""

    label: str  # the name in records
    settings: Callable[[int], dict[str, object]]  # of the number of classes: what decides the predictions
    build: Callable[[SourceModel], Predictor]


@dataclass(frozen=True, kw_only=True)
class MethodEntry:
    """A method by name: `parse` is called with what follows the colon, and LeanTTA's settings elsewhere."""

    summary: str
    parse: Callable[[str, Adaptation], Method]
