"""Ten shifts of a camera that CIFAR-C does not have, at five severities: to tune on, not to report on."""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Shift = Callable[[Floats, int, np.random.Generator], Floats]
SEVERITIES = 5


def underexposed(x: Floats, severity: int, random: np.random.Generator) -> Floats:
    """Darken by a power; x is (n, h, w, 3) in 0..255 here and below."""
    del random
    return 255 * (x / 255) ** (1.5, 2, 2.6, 3.3, 4)[severity]


def overexposed(x: Floats, severity: int, random: np.random.Generator) -> Floats:
    """Brighten by a power."""
    del random
    return 255 * (x / 255) ** (0.7, 0.55, 0.42, 0.33, 0.25)[severity]


def colour_cast(x: Floats, severity: int, random: np.random.Generator) -> Floats:
    """Raise or lower each colour, as under a lamp."""
    size = (len(x), 1, 1, 3)
    sign = random.choice([-1, 1], size=size) * random.uniform(0.5, 1, size=size)
    return x * (1 + (0.15, 0.25, 0.35, 0.45, 0.55)[severity] * sign)


def dead_pixels(x: Floats, severity: int, random: np.random.Generator) -> Floats:
    """Set whole pixels to black or white."""
    share = (0.01, 0.02, 0.04, 0.07, 0.1)[severity]
    drawn = random.random(x.shape[:3])
    y = x.copy()
    y[drawn < share], y[drawn > 1 - share] = 0, 255
    return y


def box_blur(x: Floats, severity: int, random: np.random.Generator) -> Floats:
    """Mix with the mean over a square."""
    del random
    reach, share = ((1, 0.5), (1, 1.0), (2, 0.7), (2, 1.0), (3, 1.0))[severity]
    height, width = x.shape[1:3]
    around = np.pad(x, ((0, 0), (reach, reach), (reach, reach), (0, 0)), mode="edge")
    side = 2 * reach + 1
    parts = (around[:, i : i + height, j : j + width] for i in range(side) for j in range(side))
    return (1 - share) * x + share * sum(parts, np.zeros_like(x)) / side**2


def haze(x: Floats, severity: int, random: np.random.Generator) -> Floats:
    """Lay an even veil over everything."""
    del random
    seen = (0.75, 0.6, 0.48, 0.38, 0.3)[severity]
    return x * seen + 220 * (1 - seen)


def banding(x: Floats, severity: int, random: np.random.Generator) -> Floats:
    """Offset each column."""
    return x + (8, 14, 20, 28, 36)[severity] * random.standard_normal((len(x), 1, x.shape[2], 1))


def low_light(x: Floats, severity: int, random: np.random.Generator) -> Floats:
    """Darken and add the noise of the sensor."""
    level, noise = ((0.6, 3), (0.45, 4), (0.35, 5), (0.25, 6), (0.18, 7))[severity]
    return level * x + noise * random.standard_normal(x.shape)


def few_levels(x: Floats, severity: int, random: np.random.Generator) -> Floats:
    """Round to a few levels of each colour."""
    del random
    steps = (5, 4, 3, 2, 1)[severity]
    return np.round(x / 255 * steps) / steps * 255


def vignette(x: Floats, severity: int, random: np.random.Generator) -> Floats:
    """Darken towards the corners."""
    del random
    height, width = x.shape[1:3]
    y, z = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    distance = np.hypot(y, z) / np.sqrt(2)
    shade: Floats = 1 - (0.3, 0.45, 0.6, 0.75, 0.9)[severity] * distance**1.5
    return x * shade[:, :, None]


SHIFTS: Mapping[str, Shift] = {
    shift.__name__: shift
    for shift in (
        underexposed,
        overexposed,
        colour_cast,
        dead_pixels,
        box_blur,
        haze,
        banding,
        low_light,
        few_levels,
        vignette,
    )
}


def shifted(images: npt.NDArray[np.uint8], seed: int = 0) -> npt.NDArray[np.uint8]:
    """Return images (n, h, w, 3), each with the next shift and severity in turn."""
    random = np.random.default_rng(seed)
    out = np.empty_like(images)
    kinds = [(shift, severity) for shift in SHIFTS.values() for severity in range(SEVERITIES)]
    for i, (shift, severity) in enumerate(kinds):
        chosen = slice(i, None, len(kinds))
        found = shift(images[chosen].astype(np.float64), severity, random)
        out[chosen] = np.clip(np.round(found), 0, 255).astype(np.uint8)
    return out
