"""Makes imagenet_c_changes.json: how much an independent generator changes four made-up pictures.

It needs packages that the project does not. In an environment of their own:

    pip install numpy scipy pillow scikit-image opencv-python-headless
    pip install --no-deps imagecorruptions
    python tests/disturbances/corruptions/make_imagenet_c_changes.py      (about five minutes)

`imagecorruptions` is older than today's libraries, so a few names are put back before it is imported. Its
elastic_transform is not that of ImageNet-C; ours is compared with the formula of the benchmark, written anew.
"""

import json
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

CHANGES = Path(__file__).with_name("imagenet_c_changes.json")
SIDE = 224
DRAWS = 24
"""Times that a random corruption is drawn for each picture."""

DRAWN_TWICE = {
    *("defocus_blur", "zoom_blur", "brightness", "contrast", "pixelate", "jpeg_compression", "gaussian_blur"),
    *("saturate", "glass_blur"),  # the last is random, but in each of its pixels
}

Image = NDArray[np.uint8]


def pictures() -> Image:
    """Return four pictures, (4, 224, 224, 3): noise with the spectrum of photographs, and shapes on it."""
    frequency = np.hypot(np.fft.fftfreq(SIDE)[:, None], np.fft.rfftfreq(SIDE))
    frequency[0, 0] = np.inf
    rows, columns = np.indices((SIDE, SIDE))
    made = []
    for number in range(4):
        random = np.random.default_rng((224, number))
        waves = np.fft.rfft2(random.normal(size=(4, SIDE, SIDE))) / frequency**1.1
        grey, *colours = np.fft.irfft2(waves, s=(SIDE, SIDE))
        picture = (
            110 + 15 * number + np.stack([45 * grey / grey.std() + 18 * c / c.std() for c in colours], 2)
        )
        for _ in range(4):
            row, column, radius = random.uniform((0, 0, 15), (SIDE, SIDE, 50))
            picture[(rows - row) ** 2 + (columns - column) ** 2 < radius**2] += random.uniform(-80, 80, 3)
        made.append(np.clip(picture, 0, 255).astype(np.uint8))
    return np.stack(made)


def elastic_transform(picture: Image, severity: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Move three points around the centre, then pull pixels about, with ImageNet-C's numbers."""
    stretch, sigma, tilt = [
        (488.0, 170.8, 24.4),
        (488.0, 19.52, 48.8),
        (12.2, 2.44, 4.88),
        (17.08, 2.44, 4.88),
        (29.28, 2.44, 4.88),
    ][severity - 1]
    points = SIDE // 2 + SIDE // 3 * np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    moved = np.column_stack([points + random.uniform(-tilt, tilt, (3, 2)), np.ones(3)])
    matrix = np.linalg.solve(moved, points).T  # from the new places to the old: (2, 3)
    channels = [
        ndimage.affine_transform(channel.astype(float), matrix[:, :2], matrix[:, 2], order=1, mode="mirror")
        for channel in np.moveaxis(picture, 2, 0)
    ]
    noise = random.uniform(-1, 1, (2, SIDE, SIDE))
    field = [ndimage.gaussian_filter(part, sigma, mode="reflect", truncate=3.0) * stretch for part in noise]
    places = np.indices((SIDE, SIDE)) + np.stack(field)
    pulled = [ndimage.map_coordinates(channel, places, order=1, mode="reflect") for channel in channels]
    return np.stack(pulled, axis=2)


def load_generator() -> Callable[..., Any]:
    """Import `imagecorruptions` with what it misses, and return its `corrupt`."""
    package = find_spec("imagecorruptions")
    if package is None or package.origin is None:
        sys.exit("imagecorruptions is not installed: see the head of this file.")
    folder = Path(package.origin).parent
    resources: Any = ModuleType("pkg_resources")
    resources.resource_filename = lambda _, name: str(folder / name)
    interpolation: Any = ModuleType("scipy.ndimage.interpolation")
    interpolation.map_coordinates = ndimage.map_coordinates
    sys.modules |= {"pkg_resources": resources, "scipy.ndimage.interpolation": interpolation}
    vars(np)["float_"] = np.float64  # numpy 2 dropped this name
    filters: Any = import_module("skimage.filters")
    gaussian = filters.gaussian

    def older(image: Any, sigma: Any = 1, multichannel: bool = False, **others: Any) -> Any:
        return gaussian(image, sigma, channel_axis=-1 if multichannel else None, **others)

    filters.gaussian = older
    corrupt: Callable[..., Any] = import_module("imagecorruptions").corrupt
    return corrupt


def changes(name: str, severity: int, corrupt: Callable[..., Any]) -> list[float]:
    """Return the mean absolute change in grey levels, and the standard error of this mean."""
    random = np.random.default_rng(severity)
    repeats = 2 if name in DRAWN_TWICE else DRAWS
    per_draw = []
    for _ in range(repeats):
        per_picture = []
        for picture in pictures():
            if name == "elastic_transform":
                damaged = elastic_transform(picture, severity, random).astype(np.uint8)
            else:
                damaged = corrupt(picture, severity, name)
            per_picture.append(np.abs(damaged.astype(np.int16) - picture).mean())
        per_draw.append(np.mean(per_picture))
    return [round(float(np.mean(per_draw)), 3), round(float(np.std(per_draw, ddof=1) / repeats**0.5), 3)]


if __name__ == "__main__":
    np.random.seed(0)  # noqa: NPY002 - the generator draws from it
    generator = load_generator()
    names = import_module("imagecorruptions").get_corruption_names("all")
    table = {name: [changes(name, severity, generator) for severity in range(1, 6)] for name in names}
    lines = [f" {json.dumps(name)}: {json.dumps(row)}" for name, row in table.items()]
    CHANGES.write_text("{\n" + ",\n".join(lines) + "\n}\n")
