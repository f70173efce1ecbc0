"""The one seam of the evaluation: everything that can be run on a stream is a `Predictor`."""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Inputs = npt.NDArray[np.float32]
Logits = npt.NDArray[np.float32]


class Predictor(Protocol):
    """A model, however it is run and whether or not it adapts.

    Inputs are as the stream gives them (images: (n, 3, h, w) between 0 and 1); normalization is the
    predictor's own.
    """

    @property
    def stateless(self) -> bool:
        """Whether a prediction depends on its own input only; then a run may be resumed, or split."""

    def predict(self, images: Inputs) -> Logits:
        """Return a score per class, (n, k); k = 1 is a yes-no question, and above 0 means yes (class 1)."""

    def reset(self) -> None:
        """Return to exactly the state after __init__."""


def decided(scores: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the class of each row of scores (n, k); of a yes-no question, k = 1, 0 or 1.

    >>> decided(np.array([[0.1, 0.9], [3.0, 2.0]])).tolist(), decided(np.array([[-1.0], [2.0]])).tolist()
    ([1, 0], [0, 1])
    """
    classes = scores.argmax(axis=1) if scores.shape[1] > 1 else scores[:, 0] > 0
    return classes.astype(np.int64)


def ranks_of(scores: npt.NDArray[Any], labels: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return how many classes come before the right one in each row of scores (n, k); 0 if it is decided for.

    >>> ranks_of(np.array([[0.1, 0.9, 0.5], [3.0, 3.0, 1.0]]), np.array([2, 1])).tolist()
    [1, 1]
    """
    own = np.take_along_axis(scores, labels[:, None], axis=1)
    earlier = np.arange(scores.shape[1]) < labels[:, None]  # of equal scores the first is decided for
    before: npt.NDArray[np.int64] = ((scores > own) | ((scores == own) & earlier)).sum(axis=1)
    return before
