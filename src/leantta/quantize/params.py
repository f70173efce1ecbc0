"""How real numbers become bytes: scale and zero point of activations, per-channel scales of weights.

Weights are rounded so that errors cancel instead of adding up. What enters a convolution is alike at
neighbouring places and, behind a ReLU, nowhere negative. Errors of one sign then add up: rounded each to the
nearest, the weights of a kernel miss their sum by a step or more, and the output moves as a whole. Here a few
weights go to the other of their two whole numbers, so that the sum of each kernel is right within half a
step, and then that of each output channel. No images are needed. The idea is that of SQuant (Guo et
al., 2022).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leantta.graph.ir import Array

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

LEVELS = 255  # uint8 steps of an activation
PEAK = 127  # largest int8 weight, symmetric
PAIR_PEAK = 127  # of the sum of two neighbouring weights; see `quantize_weights`
BIAS_PEAK = 2**30  # of a bias in the unit of the sums: half of what 32 bits hold
LEAST = 1e-20  # of a scale; below it float32 loses digits

Range = tuple[float, float]

EMPTY: Range = (0.0, 1.0)
"""Stands in for the range of a tensor that is constantly zero: a step that later values can still use."""


@dataclass(frozen=True)
class Affine:
    """real = scale * (byte - zero)."""

    scale: float
    zero: int

    @property
    def low(self) -> float:
        """The least value that a byte can stand for."""
        return -self.zero * self.scale

    @property
    def high(self) -> float:
        """The greatest value that a byte can stand for."""
        return (LEVELS - self.zero) * self.scale


def affine_of(span: Range) -> Affine:
    """Return scale and zero point that cover a range and zero itself, which padding and ReLU need exactly.

    >>> affine_of((0.0, 2.55)).zero, affine_of((-1.0, 3.0)).zero
    (0, 64)
    """
    low, high = min(span[0], 0.0), max(span[1], 0.0)
    if high - low < LEAST:
        low, high = EMPTY
    scale = float(np.float32((high - low) / LEVELS))
    return Affine(scale, int(np.clip(round(-low / scale), 0, LEVELS)))


@dataclass(frozen=True)
class Weights:
    """Integer weights with the scale of each output channel."""

    values: npt.NDArray[np.int8]
    scale: Floats  # (out,)


def quantize_weights(
    weight: Array, *, summed_in_pairs: bool, bias: Array | None = None, input_scale: float = 1.0
) -> Weights:
    """Return symmetric int8 weights (out, in, ...), each output channel with its own scale.

    A channel whose weights nearly vanish gets a scale with which its bias (out,) still fits 32 bits.

    x86 processors without VNNI multiply bytes in pairs and add the two products in 16 bits, which overflow
    when two neighbours are both large: the result is then silently wrong. With `summed_in_pairs` the scale
    of a channel is chosen so that no pair can, in either order of the axes, and every processor gives the
    same sums. It costs little: only channels with two large neighbours get a coarser step.
    """
    flat = np.asarray(weight, np.float64).reshape(len(weight), -1)  # (out, fan-in)
    peak = np.abs(flat).max(axis=1, initial=0) / PEAK
    if summed_in_pairs:
        last = np.moveaxis(np.asarray(weight, np.float64), 1, -1).reshape(len(weight), -1)
        peak = np.maximum(peak, np.maximum(_pair_peak(flat), _pair_peak(last)) / PAIR_PEAK)
    if bias is not None:
        peak = np.maximum(peak, np.abs(np.asarray(bias, np.float64)) / (input_scale * BIAS_PEAK))
    scale = np.where(peak > LEAST, peak, 1.0).astype(np.float32)
    steps = (flat / scale[:, None]).reshape(*weight.shape[:2], -1)  # (out, in, taps)
    return Weights(np.clip(balanced(steps), -PEAK, PEAK).astype(np.int8).reshape(weight.shape), scale)


def _pair_peak(rows: Doubles) -> Doubles:
    """Return the largest |a + b| of two neighbours of one sign in each row, zero when there is none."""
    left, right = rows[:, :-1], rows[:, 1:]
    same = np.where(left * right > 0, np.abs(left + right), 0)
    peak: Doubles = same.max(axis=1, initial=0)
    return peak


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


def quantize_bias(bias: Array, input_scale: float, weights: Weights) -> npt.NDArray[np.int32]:
    """Return the bias (out,) in the unit of the integer sums."""
    unit = np.float64(input_scale) * weights.scale.astype(np.float64)
    limits = np.iinfo(np.int32)
    return np.clip(np.rint(bias / unit), limits.min, limits.max).astype(np.int32)


def is_depthwise(weight: Array, group: int) -> bool:
    """Tell whether a convolution's weight (out, in / group, ...) takes one channel to one.

    ONNX Runtime has kernels of its own for these, which do not add in pairs.
    """
    return weight.shape[1] == 1 and group == len(weight)
