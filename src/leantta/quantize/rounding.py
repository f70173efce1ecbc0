"""To which whole numbers weights are rounded: errors that cancel instead of adding up.

What enters a convolution is alike at neighbouring places and, behind a ReLU, nowhere negative. Errors of one
sign then add up: rounded each to the nearest, the weights of a kernel miss their sum by a step or more, and
the output moves as a whole. Here a few weights go to the other of their two whole numbers, so that the sum of
each kernel is right within half a step, and then that of each output channel. No images are needed. The idea
is that of SQuant (Guo et al., 2022).
"""

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]


def balanced(exact: Doubles) -> Doubles:
    """Return whole numbers for weights (out, in, taps), each less than one from its weight.

    >>> balanced(np.array([[[0.4, 0.3, 0.3, 7.0]]]))
    array([[[1., 0., 0., 7.]]])
    """
    whole = np.rint(exact)
    errors = whole - exact
    whole -= _largest(errors, np.rint(errors.sum(axis=-1)))
    errors = whole - exact
    kernels = errors.sum(axis=-1)  # (out, in), each within half a step
    return whole - _largest(errors, _largest(kernels, np.rint(kernels.sum(axis=-1))))


def _largest(errors: Doubles, counts: Doubles) -> Doubles:
    """Return the sign of a row's count at its |count| largest errors of that sign, zero elsewhere.

    Errors are (..., n), counts (...) without the last axis.
    """
    signs = np.sign(counts)[..., None]
    order = np.argsort(-errors * signs, axis=-1, kind="stable")  # the largest first
    place = np.argsort(order, axis=-1, kind="stable")  # of each error in that order
    return np.where(place < np.abs(counts)[..., None], signs, 0.0)
