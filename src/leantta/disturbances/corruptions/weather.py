"""Weather: snow, frost, fog and bright light."""

import numpy as np

from leantta.data.seeds import Draws
from leantta.disturbances.corruptions.frost import WindowSource, pieces, window_source
from leantta.disturbances.corruptions.ice import Grain
from leantta.disturbances.corruptions.pixels import Floats, Images, enlarge, smear, to_bytes, to_unit

LUMA = np.array([0.299, 0.587, 0.114])
"""Weights of red, green and blue in the perceived brightness (ITU-R BT.601)."""


def snow(
    images: Images,
    draws: Draws,
    *,
    density: float,
    spread: float,
    size: float,
    threshold: float,
    radius: int,
    sigma: float,
    daylight: float,
) -> Images:
    """Let flakes fall in two opposite directions over a scene that is whitened a little.

    Flakes are the part of normal noise (mean `density`, deviation `spread`) above `threshold`, enlarged by
    `size` and smeared by (`radius`, `sigma`); the scene keeps a share `daylight` of its own light.
    """
    unit = to_unit(images)
    flakes = enlarge(draws.normal(density, spread, images.shape[1:3]), size)
    flakes[flakes < threshold] = 0.0
    degrees = draws.uniform(-135.0, -45.0)
    fallen = to_unit(smear(to_bytes(flakes), radius=radius, sigma=sigma, degrees=degrees))[
        ..., None
    ]  # (n, h, w, 1)
    grey = (unit @ LUMA)[..., None]
    scene = daylight * unit + (1 - daylight) * np.maximum(unit, 1.5 * grey + 0.5)
    return to_bytes(scene + fallen + fallen[:, ::-1, ::-1])


def frost(
    images: Images,
    draws: Draws,
    *,
    scene: float,
    ice: float,
    grain: Grain,
    source: WindowSource | None = None,
) -> Images:
    """Lay a random piece of a frosted window over the image: scene * image + ice * window.

    Without a `source`, the windows are those this machine has (see `leantta.disturbances.corruptions.frost`).
    """
    height, width = images.shape[1:3]
    window = pieces(draws, height, width, grain, source or window_source())
    return to_bytes((scene * images + ice * window) / 255)


def fog(images: Images, draws: Draws, *, thickness: float, decay: float) -> Images:
    """Add plasma-like fog and rescale so that the brightest value of the image stays where it was."""
    unit = to_unit(images)
    brightest = unit.max(axis=(1, 2, 3), keepdims=True)
    foggy = unit + thickness * plasma(draws, *images.shape[1:3], decay=decay)[..., None]
    return to_bytes(foggy * brightest / (brightest + thickness))


def brightness(images: Images, draws: Draws, *, amount: float) -> Images:  # noqa: ARG001 - same shape for all
    """Raise the value of hue-saturation-value by `amount`, at most to 1; hue and saturation stay."""
    unit = to_unit(images)
    value = unit.max(axis=3, keepdims=True)
    raised = np.minimum(value + amount, 1.0)
    black = value == 0.0  # black has no hue: it becomes grey
    return to_bytes(np.where(black, raised, unit / np.where(black, 1.0, value) * raised))


def plasma(draws: Draws, height: int, width: int, *, decay: float) -> Floats:
    """Return clouds (n, height, width) that span exactly [0, 1] on the square map they are cut from.

    Each refinement sets new points to the mean of four known ones plus even noise; its amplitude falls by the
    square of `decay` from one refinement to the next, since the benchmark scales its noise twice.
    """
    size = 1 << (max(height, width) - 1).bit_length()  # the method needs a power of two
    clouds = np.zeros((len(draws.numbers), size, size))
    step, amplitude = size, 100.0**2
    while step >= 2:
        half = step // 2
        corners = clouds[:, ::step, ::step]
        count = corners.shape[1]

        rows = corners + np.roll(corners, -1, axis=1)
        centres = (rows + np.roll(rows, -1, axis=2)) / 4 + draws.uniform(
            -amplitude, amplitude, (count, count)
        )
        clouds[:, half::step, half::step] = centres

        # An edge point lies between two corners along one axis and two centres along the other.
        across = (corners + np.roll(corners, -1, axis=2) + centres + np.roll(centres, 1, axis=1)) / 4
        clouds[:, ::step, half::step] = across + draws.uniform(-amplitude, amplitude, (count, count))
        along = (corners + np.roll(corners, -1, axis=1) + centres + np.roll(centres, 1, axis=2)) / 4
        clouds[:, half::step, ::step] = along + draws.uniform(-amplitude, amplitude, (count, count))

        step, amplitude = half, amplitude / decay**2
    clouds -= clouds.min(axis=(1, 2), keepdims=True)
    clouds /= clouds.max(axis=(1, 2), keepdims=True)
    return clouds[:, :height, :width]
