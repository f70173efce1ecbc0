"""Ten shifts of a camera that CIFAR-C does not have, at five severities: to tune on, not to report on.

Each takes images (n, h, w, 3) as floats from 0 to 255 with a generator, and returns them before rounding.
"""

from collections.abc import Callable, Mapping

import numpy as np

from leantta.data.seeds import Draws
from leantta.disturbances.corruptions.apply import check_images
from leantta.disturbances.corruptions.pixels import Floats, Images
from leantta.disturbances.levels import Disturbance, check_asked, levels

Random = np.random.Generator


def exposed(x: Floats, random: Random, *, power: float) -> Floats:
    """Darken (a power above 1) or brighten (below 1)."""
    del random
    return 255 * (x / 255) ** power


def colour_cast(x: Floats, random: Random, *, strength: float) -> Floats:
    """Raise or lower each colour, as under a lamp."""
    size = (len(x), 1, 1, 3)
    sign = random.choice([-1, 1], size=size) * random.uniform(0.5, 1, size=size)
    return x * (1 + strength * sign)


def dead_pixels(x: Floats, random: Random, *, share: float) -> Floats:
    """Set whole pixels to black or white, each such a share of them."""
    drawn = random.random(x.shape[:3])
    y = x.copy()
    y[drawn < share], y[drawn > 1 - share] = 0, 255
    return y


def box_blur(x: Floats, random: Random, *, reach: int, share: float) -> Floats:
    """Mix with the mean over a square that reaches so many pixels to each side."""
    del random
    height, width = x.shape[1:3]
    around = np.pad(x, ((0, 0), (reach, reach), (reach, reach), (0, 0)), mode="edge")
    side = 2 * reach + 1
    parts = (around[:, i : i + height, j : j + width] for i in range(side) for j in range(side))
    return (1 - share) * x + share * sum(parts, np.zeros_like(x)) / side**2


def haze(x: Floats, random: Random, *, seen: float) -> Floats:
    """Lay an even veil over everything, through which a share `seen` is left."""
    del random
    return x * seen + 220 * (1 - seen)


def banding(x: Floats, random: Random, *, deviation: float) -> Floats:
    """Offset each column."""
    return x + deviation * random.standard_normal((len(x), 1, x.shape[2], 1))


def low_light(x: Floats, random: Random, *, level: float, noise: float) -> Floats:
    """Darken and add the noise of the sensor."""
    return level * x + noise * random.standard_normal(x.shape)


def few_levels(x: Floats, random: Random, *, steps: int) -> Floats:
    """Round to a few levels of each colour."""
    del random
    return np.round(x / 255 * steps) / steps * 255


def vignette(x: Floats, random: Random, *, depth: float) -> Floats:
    """Darken towards the corners."""
    del random
    height, width = x.shape[1:3]
    y, z = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    distance = np.hypot(y, z) / np.sqrt(2)
    shade: Floats = 1 - depth * distance**1.5
    return x * shade[:, :, None]


CameraShift = Disturbance[Callable[[Floats, Random], Floats]]

CAMERA_SHIFTS: Mapping[str, CameraShift] = {
    "underexposed": CameraShift(levels(exposed, power=(1.5, 2, 2.6, 3.3, 4)), random=False),
    "overexposed": CameraShift(levels(exposed, power=(0.7, 0.55, 0.42, 0.33, 0.25)), random=False),
    "colour_cast": CameraShift(levels(colour_cast, strength=(0.15, 0.25, 0.35, 0.45, 0.55))),
    "dead_pixels": CameraShift(levels(dead_pixels, share=(0.01, 0.02, 0.04, 0.07, 0.1))),
    "box_blur": CameraShift(
        levels(box_blur, reach=(1, 1, 2, 2, 3), share=(0.5, 1.0, 0.7, 1.0, 1.0)), random=False
    ),
    "haze": CameraShift(levels(haze, seen=(0.75, 0.6, 0.48, 0.38, 0.3)), random=False),
    "banding": CameraShift(levels(banding, deviation=(8, 14, 20, 28, 36))),
    "low_light": CameraShift(levels(low_light, level=(0.6, 0.45, 0.35, 0.25, 0.18), noise=(3, 4, 5, 6, 7))),
    "few_levels": CameraShift(levels(few_levels, steps=(5, 4, 3, 2, 1)), random=False),
    "vignette": CameraShift(levels(vignette, depth=(0.3, 0.45, 0.6, 0.75, 0.9)), random=False),
}


def disturb(images: Images, name: str, severity: int, *, seed: int, first: int = 0) -> Images:
    """Return shifted copies of byte images (n, h, w, 3).

    Image i of the batch is changed by (name, severity, seed, first + i) alone, as images are corrupted.

    >>> disturb(np.full((1, 32, 32, 3), 100, dtype=np.uint8), "haze", 5, seed=0)[0, 0, 0].tolist()
    [184, 184, 184]

    Raises:
        SettingError: no such shift, a severity outside 1 to 5, or a negative seed or number.
        DataError: not a batch of byte images, none at all, or smaller than 16x16.
    """
    check_asked("camera shift", name, CAMERA_SHIFTS, severity, seed=seed, number=("first image", first))
    check_images(images)
    level = CAMERA_SHIFTS[name].levels[severity - 1]
    generators = Draws(seed, name, severity, first=first, count=len(images)).generators
    each = zip(images.astype(np.float64), generators, strict=True)
    return _to_bytes(np.concatenate([level(image[None], generator) for image, generator in each]))


def shifted(images: Images, seed: int = 0) -> Images:
    """Return byte images (n, h, w, 3), each with the next shift and severity in turn, all from one seed."""
    random = np.random.default_rng(seed)
    out = np.empty_like(images)
    kinds = [level for shift in CAMERA_SHIFTS.values() for level in shift.levels]
    for i, level in enumerate(kinds):
        chosen = slice(i, None, len(kinds))
        out[chosen] = _to_bytes(level(images[chosen].astype(np.float64), random))
    return out


def _to_bytes(values: Floats) -> Images:
    return np.clip(np.round(values), 0, 255).astype(np.uint8)
