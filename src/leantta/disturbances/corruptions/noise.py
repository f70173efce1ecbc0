"""Noise: every pixel and channel is disturbed on its own."""

import numpy as np

from leantta.data.seeds import Draws
from leantta.disturbances.corruptions.pixels import Images, to_bytes, to_unit


def gaussian_noise(images: Images, draws: Draws, *, deviation: float) -> Images:
    """Add normal noise: a sensor in low light."""
    return to_bytes(to_unit(images) + draws.normal(0.0, deviation, images.shape[1:]))


def shot_noise(images: Images, draws: Draws, *, photons: float) -> Images:
    """Count photons: Poisson noise for a sensor that gets `photons` of them where the image is white."""
    return to_bytes(draws.poisson(to_unit(images) * photons) / photons)


def impulse_noise(images: Images, draws: Draws, *, share: float) -> Images:
    """Set a share of the values to black or white: salt and pepper, per channel."""
    dice = draws.uniform(0.0, 1.0, images.shape[1:])
    pepper, salt = dice < share / 2, dice >= 1 - share / 2
    return np.where(salt, np.uint8(255), np.where(pepper, np.uint8(0), images))


def speckle_noise(images: Images, draws: Draws, *, deviation: float) -> Images:
    """Multiply with normal noise: bright values are disturbed more."""
    unit = to_unit(images)
    return to_bytes(unit + unit * draws.normal(0.0, deviation, images.shape[1:]))
