"""Logits as probabilities."""

from typing import Any

import numpy as np
import numpy.typing as npt


def probabilities(logits: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the probability of each class, from the logits (k,) of one input.

    A single logit answers yes or no: two probabilities come back, of no and of yes.

    >>> probabilities(np.array([0.0, 0.0]))
    array([0.5, 0.5])
    >>> probabilities(np.array([2.0])).round(2)
    array([0.12, 0.88])
    """
    scores = np.asarray(logits, np.float64)
    if len(scores) == 1:
        scores = np.array([0.0, scores[0]])
    powers = np.exp(scores - scores.max())
    return np.asarray(powers / powers.sum())
