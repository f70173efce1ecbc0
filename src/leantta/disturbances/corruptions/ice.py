"""Frosted windows made by formula, for a machine without the photographs.

A window is a colour plus a random relief of two parts: crystals, a fine noise that is stronger in some
patches than in others and leans to its bright or dark side, and drifts, a slow change across the window. The
numbers of each window were set so that its mean, deviations, spectrum and skewness are near those of one
photograph of the benchmark (every fifth pixel), and ResNet18 loses as much by either on test images that the
reference does not use; tests/data/corruptions/test_frost.py compares the former.
"""

from dataclasses import dataclass

import numpy as np

from leantta.disturbances.corruptions.pixels import Floats, Images, to_bytes

SIDE = 128
"""Rows and columns of a window."""

SLOW = 3.0
"""Exponent by which the power of drifts and patches falls with frequency."""


@dataclass(frozen=True, kw_only=True)
class Ice:
    """What one frosted window looks like, in grey levels."""

    colour: tuple[float, float, float]  # mean of red, green, blue
    response: tuple[float, float, float]  # how far each channel follows the relief
    crystals: float  # deviation of the fine part
    drifts: float  # deviation of the slow part
    roughness: float  # exponent by which the power of the crystals falls with frequency
    patches: float  # deviation of the logarithm of the local strength of the crystals
    lean: float  # above 0: bright crystals stand out; below 0: dark ones


TEAL = Ice(
    colour=(78, 149, 166),
    response=(1.41, 0.87, 0.67),
    crystals=10.0,
    drifts=14.0,
    roughness=0.25,
    patches=0.3,
    lean=0.1,
)
WHITE = Ice(
    colour=(201, 205, 214),
    response=(0.97, 1.00, 1.02),
    crystals=16.0,
    drifts=11.0,
    roughness=0.8,
    patches=0.2,
    lean=-0.3,
)
GREY = Ice(
    colour=(138, 153, 166),
    response=(0.99, 0.99, 1.02),
    crystals=23.4,
    drifts=13.0,
    roughness=0.5,
    patches=0.3,
    lean=0.03,
)
SLATE = Ice(
    colour=(112, 123, 135),
    response=(1.03, 1.00, 0.97),
    crystals=33.0,
    drifts=18.0,
    roughness=0.9,
    patches=0.3,
    lean=0.1,
)
WINDOWS = (TEAL, WHITE, WHITE, GREY, SLATE)
"""As often as the benchmark uses each: its second and third photograph show the same window."""


def freeze(ice: Ice, number: int) -> Images:
    """Return a window as bytes (SIDE, SIDE, 3): for each number another, always the same.

    >>> freeze(WHITE, 1).shape
    (128, 128, 3)
    """
    generator = np.random.default_rng((number, SIDE))
    crystals, drifts, patches = (_ripples(generator, power) for power in (ice.roughness, SLOW, SLOW))
    crystals = _standard(crystals * np.exp(ice.patches * patches))
    crystals = _standard(crystals + ice.lean * crystals**2)
    relief = ice.crystals * crystals + ice.drifts * drifts  # (SIDE, SIDE)
    window = np.array(ice.colour) + relief[..., None] * np.array(ice.response)
    return to_bytes(np.rint(window) / 255)


def _ripples(generator: np.random.Generator, power: float) -> Floats:
    """Return noise (SIDE, SIDE) of mean 0 and deviation 1 whose power falls as 1 / frequency^power."""
    noise = np.fft.rfft2(generator.normal(size=(SIDE, SIDE)))
    frequency = np.hypot(np.fft.fftfreq(SIDE)[:, None], np.fft.rfftfreq(SIDE))
    frequency[0, 0] = np.inf  # no mean
    return _standard(np.fft.irfft2(noise * frequency ** (-power / 2), s=(SIDE, SIDE)))


def _standard(layer: Floats) -> Floats:
    """Return the layer with mean 0 and deviation 1."""
    centred: Floats = layer - layer.mean()
    return centred / float(centred.std())
