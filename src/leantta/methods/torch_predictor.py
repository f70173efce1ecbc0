"""A torch model as a `Predictor`: numpy in, numpy out, normalisation inside."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from leantta.data.datasets import per_channel
from leantta.errors import DataError
from leantta.evaluate.predictor import Inputs, Logits


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
