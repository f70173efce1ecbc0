"""What every baseline shares: its own copy of the model, numpy at the door, and a reset that is exact.

A baseline is built from a model that takes inputs as the stream gives them (`Normalized`). It works on a
copy: `reset` makes that copy anew from the model it was given, seeds the generator and calls `begin`, so that
no trace of what was seen can remain. Random numbers come from `self.generator` only.

A model with one logit answers a yes-no question; inside it is seen with two, (0, z), whose softmax is z's
sigmoid, and what comes out is one logit again.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from leantta.errors import DataError, SettingError
from leantta.evaluate.predictor import Inputs, Logits
from leantta.functional import two_scores

SourceImages = Callable[[int], Inputs]
"""Called with a number, returns that many training inputs as the stream gives them, or all there are."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """What every baseline may be told; each adds its own."""

    seed: int = 0


ConfigT = TypeVar("ConfigT", bound=Config)
ResultT = TypeVar("ResultT")


BELOW_ONE = math.nextafter(1.0, 0.0)
"""The largest number below one, for settings that may come close to it only."""


def check_range(name: str, value: float, low: float, high: float = math.inf) -> None:
    """Refuse a setting that is not between two numbers.

    Raises:
        SettingError: it is outside, or no number.
    """
    if not (low <= value <= high and math.isfinite(value)):
        bounds = f"at least {low:g}" if high == math.inf else f"between {low:g} and {high:g}"
        raise SettingError(f"{name} must be {bounds}, got {value:g}")


def tensor_of(inputs: Inputs) -> Tensor:
    """Return inputs as a tensor of their own, whatever kind of array they come in."""
    return torch.from_numpy(np.array(inputs, np.float32, order="C"))


class Normalized(nn.Module):
    """A model with its normalisation before it: takes inputs as they come."""

    mean: Tensor
    std: Tensor

    def __init__(self, model: nn.Module, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        self.model = model
        self.register_buffer("mean", torch.tensor(mean))
        self.register_buffer("std", torch.tensor(std))

    def forward(self, x: Tensor) -> Tensor:
        """Return the model's logits of inputs (n, c, *positions)."""
        shape = (-1, *(1,) * (x.dim() - 2))
        logits: Tensor = self.model((x - self.mean.view(shape)) / self.std.view(shape))
        return logits


class TwoLogits(nn.Module):
    """A model of one logit z, seen with two: (0, z)."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (n, 2)."""
        return two_scores(self.model(x))


class Baseline(ABC, Generic[ConfigT]):
    """A method on its own copy of a model; subclasses say how they `begin` and what a `step` is."""

    stateless: ClassVar[bool] = False
    network: nn.Module  # the copy: changed at will, made anew by `reset`
    generator: torch.Generator
    _channels_last = True  # batches of maps take two thirds of the time
    _is_fresh: bool  # no step was taken yet

    def __init__(
        self, model: nn.Module, config: ConfigT, *, classes: int, source: SourceImages | None = None
    ) -> None:
        """Take a model that is left as it is, the number of its logits, and training inputs if needed."""
        self.config = config
        self.single = classes == 1
        self.source = source
        self._given = TwoLogits(model) if self.single else model
        self.classes = max(classes, 2)
        self._in_either_order(self.reset)

    def predict(self, images: Inputs) -> Logits:
        """Return a score per class, (n, k), and adapt if that is what the method does.

        Raises:
            DataError: values that are not finite.
        """
        if not np.isfinite(images).all():
            raise DataError("an input has NaN or infinite values; repair or remove it")
        step = partial(self.step, tensor_of(images))
        logits = (self._in_either_order(step) if self._is_fresh else step()).detach().float()
        self._is_fresh = False
        if self.single:
            logits = logits[:, 1:] - logits[:, :1]
        scores: Logits = logits.numpy()
        return scores

    def _in_either_order(self, act: Callable[[], ResultT]) -> ResultT:
        """Do something for the first time; if the model fails with channels last, go on without them.

        Such as one whose forward calls `view` on maps, which asks for values in the usual order.
        """
        try:
            return act()
        except RuntimeError:
            if not self._channels_last:
                raise
            self._channels_last = False
            self.reset()
            return act()

    def reset(self) -> None:
        """Return to exactly the state after __init__."""
        self.network = deepcopy(self._given).eval().requires_grad_(False)
        if self._channels_last:
            _channels_last_(self.network)
        self._is_fresh = True
        self.generator = torch.Generator().manual_seed(self.config.seed)
        self.begin()

    @abstractmethod
    def begin(self) -> None:
        """Prepare the fresh copy `self.network`: exchange layers, make an optimizer, empty the averages."""

    @abstractmethod
    def step(self, x: Tensor) -> Tensor:
        """Return the logits (n, self.classes) of a batch of inputs, and adapt."""


def _channels_last_(network: nn.Module) -> None:
    """Let convolutions put channels last, which is how they work inside; what follows them keeps it so."""
    for parameter in network.parameters():
        if parameter.dim() == 4:
            parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)


class Source(Baseline[Config]):
    """No adaptation: predicts with the statistics and weights of the training data."""

    stateless = True

    def begin(self) -> None:
        """Do nothing: the copy is used as it is."""

    @torch.no_grad()
    def step(self, x: Tensor) -> Tensor:
        """Return the model's logits."""
        logits: Tensor = self.network(x)
        return logits
