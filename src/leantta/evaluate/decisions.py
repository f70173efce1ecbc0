"""What scores decide."""

from typing import Any

import numpy as np
import numpy.typing as npt


def decided(scores: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the class of each row of scores (n, k); of a yes-no question, k = 1, 0 or 1.

    >>> decided(np.array([[0.1, 0.9], [3.0, 2.0]])).tolist(), decided(np.array([[-1.0], [2.0]])).tolist()
    ([1, 0], [0, 1])
    """
    found = scores.argmax(axis=1) if scores.shape[1] > 1 else scores[:, 0] > 0
    return found.astype(np.int64)
