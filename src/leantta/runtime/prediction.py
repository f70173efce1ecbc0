"""What a model says of a batch, and of one input."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from leantta.outputs import LOGITS

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Outputs:
    """What the model says of a batch; `distance` and `shift` are None where nothing adapts."""

    arrays: dict[str, Floats]  # each output of the model by its name, (n, ...)
    distance: Floats | None  # (n, layers)
    shift: Floats | None  # (n,): 0 is like the training data; 1 in 100 source inputs exceeds 1
    latency_ms: float  # of the engine alone, for the whole batch

    @property
    def logits(self) -> Floats:
        """The scores (n, k) of a model that has no other output."""
        return self.arrays[LOGITS]

    @property
    def count(self) -> int:
        """The number of inputs."""
        return len(next(iter(self.arrays.values())))

    def named(self) -> dict[str, Floats]:
        """Return those that there are, by the names that the file has for them."""
        more = {"distance": self.distance, "shift": self.shift}
        return self.arrays | {name: array for name, array in more.items() if array is not None}

    def rows(self, start: int, stop: int) -> "Outputs":
        """Return what the model says of a part of the batch."""
        distance, shift = (None if each is None else each[start:stop] for each in (self.distance, self.shift))
        arrays = {name: array[start:stop] for name, array in self.arrays.items()}
        return Outputs(arrays, distance, shift, self.latency_ms)


@dataclass(frozen=True, eq=False)
class Prediction:
    """What the model says of one input; class and probability are None where it does not decide for it."""

    index: int | None  # the class; of a yes-no question 0 or 1
    label: str | None
    probability: float | None  # of that class, as far as the model knows
    shift: float | None
    distances: dict[str, float] | None = field(repr=False)  # by layer
    outputs: dict[str, Floats] = field(repr=False)  # each output of the model by its name
    latency_ms: float = field(repr=False)
    logits: Floats | None = field(repr=False, default=None)  # (k,), of which class and probability are made


def probabilities(logits: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the probability of each class, from logits (..., k).

    A single logit answers yes or no: two probabilities come back, of no and of yes.

    >>> probabilities(np.array([0.0, 0.0]))
    array([0.5, 0.5])
    >>> probabilities(np.array([2.0])).round(2)
    array([0.12, 0.88])
    """
    scores = np.asarray(logits, np.float64)
    if scores.shape[-1] == 1:
        scores = np.concatenate([np.zeros_like(scores), scores], axis=-1)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
