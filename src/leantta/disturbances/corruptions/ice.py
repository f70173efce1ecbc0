"""Frosted windows made by formula, for a machine without the photographs.

A window is a colour plus a random relief of two parts: crystals, a fine noise that is stronger in some
patches than in others and leans to its bright or dark side, and drifts, a slow change across the window. The
numbers of each window were set so that its mean, deviations, spectrum and skewness are near those of one
photograph of the benchmark: for small images, of every fifth pixel, as the benchmark shrinks it for them; for
large images, of all pixels. tests/disturbances/corruptions/test_frost.py compares. With the small ones
ResNet18 loses as much as by photographs, on test images that the reference does not use.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from leantta.disturbances.corruptions.pixels import Floats, Images, to_bytes


class Grain(Enum):
    """How finely windows show the ice; the value is the number of rows and columns of one made by formula."""

    COARSE = 128  # for images of 32x32
    FINE = 512  # for images of 224x224


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
FINE_TEAL = replace(TEAL, crystals=10.4, drifts=13.8, roughness=1.1, lean=0.08)
FINE_WHITE = replace(WHITE, crystals=15.0, drifts=15.0, roughness=1.7, lean=-0.28)
FINE_GREY = replace(GREY, crystals=22.2, drifts=17.1, roughness=1.5, lean=0.04)
FINE_SLATE = replace(SLATE, crystals=38.1, drifts=13.5, roughness=1.8, lean=0.06)
WINDOWS: Mapping[Grain, tuple[Ice, ...]] = {
    Grain.COARSE: (TEAL, WHITE, WHITE, GREY, SLATE),
    Grain.FINE: (FINE_TEAL, FINE_WHITE, FINE_WHITE, FINE_GREY, FINE_SLATE),
}
"""As often as the benchmark uses each: its second and third photograph show the same window."""


def freeze(ice: Ice, number: int, grain: Grain) -> Images:
    """Return a window as bytes (side, side, 3): for each number another, always the same.

    >>> freeze(WHITE, 1, Grain.COARSE).shape
    (128, 128, 3)
    """
    side = grain.value
    generator = np.random.default_rng((number, side))
    crystals, drifts, patches = (_ripples(generator, power, side) for power in (ice.roughness, SLOW, SLOW))
    crystals = _standard(crystals * np.exp(ice.patches * patches))
    crystals = _standard(crystals + ice.lean * crystals**2)
    relief = ice.crystals * crystals + ice.drifts * drifts  # (side, side)
    window = np.array(ice.colour) + relief[..., None] * np.array(ice.response)
    return to_bytes(np.rint(window) / 255)


def _ripples(generator: np.random.Generator, power: float, side: int) -> Floats:
    """Return noise (side, side) of mean 0 and deviation 1 whose power falls as 1 / frequency^power."""
    noise = np.fft.rfft2(generator.normal(size=(side, side)))
    frequency = np.hypot(np.fft.fftfreq(side)[:, None], np.fft.rfftfreq(side))
    frequency[0, 0] = np.inf  # no mean
    return _standard(np.fft.irfft2(noise * frequency ** (-power / 2), s=(side, side)))


def _standard(layer: Floats) -> Floats:
    """Return the layer with mean 0 and deviation 1."""
    centred: Floats = layer - layer.mean()
    return centred / float(centred.std())
