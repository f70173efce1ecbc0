"""The method written a second time, in float64 numpy, straight from the paper's five equations."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Layer:
    """A BatchNorm's parameters, each (c,)."""

    mean: Array
    var: Array
    gamma: Array
    beta: Array
    eps: float = 1e-5


def adapted(x: Array, layer: Layer, tau: float, lam: float, mixture: bool = False) -> tuple[Array, Array]:
    """Return the normalised x (n, c, *positions) and the distance of each sample, by the paper's gate."""
    outputs, distances = [], []
    for sample in x:  # (c, *positions)
        flat = sample.reshape(len(sample), -1)
        target_mean = flat.mean(1)
        target_var = flat.var(1) if flat.shape[1] > 1 else layer.var
        stable_mean = tau * layer.mean + (1 - tau) * target_mean
        stable_var = tau * layer.var + (1 - tau) * target_var
        if mixture:
            stable_var = stable_var + tau * (1 - tau) * (layer.mean - target_mean) ** 2
        distance = 1 - np.exp(-np.sum((stable_mean - layer.mean) ** 2 / (layer.var + 1e-6)))
        back = lam * distance
        outputs.append(
            normalised(
                flat,
                layer,
                back * layer.mean + (1 - back) * stable_mean,
                back * layer.var + (1 - back) * stable_var,
            )
        )
        distances.append(distance)
    return np.stack(outputs).reshape(x.shape), np.asarray(distances)


def calibrated(
    x: Array, layer: Layer, spread: tuple[Array, Array], floor: float, ceiling: float
) -> tuple[Array, Array]:
    """Return the normalised x and the distance D of each sample, by the calibrated gate."""
    outputs, distances = [], []
    for sample in x:
        flat = sample.reshape(len(sample), -1)
        delta, change = flat.mean(1) - layer.mean, flat.var(1) - layer.var
        distance = 0.5 * (np.mean(delta**2 / spread[0]) + np.mean(change**2 / spread[1]))
        a = floor + (ceiling - floor) * max(0.0, 1 - 1 / distance)
        outputs.append(normalised(flat, layer, layer.mean + a * delta, layer.var + a * change))
        distances.append(distance)
    return np.stack(outputs).reshape(x.shape), np.asarray(distances)


def filtered(
    x: Array, layer: Layer, into: Array, back: Array, weight: Array, shrink: float = 0.0
) -> tuple[Array, Array]:
    """Return the normalised x and the distance of each sample, by the shift filter."""
    channels, scale = len(layer.mean), layer.var + layer.eps
    dead = layer.var <= 1e-3 * layer.eps
    outputs, distances = [], []
    for sample in x:
        flat = sample.reshape(len(sample), -1)
        target_var = flat.var(1) if flat.shape[1] > 1 else layer.var
        moved = (flat.mean(1) - layer.mean) / np.sqrt(scale)
        grown = np.clip(np.log((target_var + layer.eps) / scale), -4, 4)
        z = np.concatenate([np.where(dead, 0, moved), np.where(dead, 0, grown)]) @ into
        distance = float(np.sum(weight * z**2))
        part = 1.0 if shrink == 0 else max(0.0, 1 - shrink / distance) if distance > 0 else 0.0
        answer = part * z @ back
        mean = layer.mean + np.sqrt(scale) * answer[:channels]
        var = scale * np.exp(np.clip(answer[channels:], -3, 3))
        outputs.append(normalised(flat, layer, mean, var - layer.eps))
        distances.append(distance)
    return np.stack(outputs).reshape(x.shape), np.asarray(distances)


def normalised(flat: Array, layer: Layer, mean: Array, var: Array) -> Array:
    """Return gamma * (x - mean) / sqrt(var + eps) + beta for one sample (c, positions)."""
    scale = layer.gamma / np.sqrt(var + layer.eps)
    return scale[:, None] * (flat - mean[:, None]) + layer.beta[:, None]


def assert_close(found: object, expected: object, *, atol: float) -> None:
    """Fail unless both have the same shape and no element differs by more than `atol`."""
    a, b = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    assert a.shape == b.shape, (a.shape, b.shape)
    assert np.isfinite(a).all(), "not finite"
    worst = float(np.abs(a - b).max(initial=0.0))
    assert worst <= atol, f"largest difference {worst:.3g} > {atol:.3g}"
