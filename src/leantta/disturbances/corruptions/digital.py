"""Digital: what cameras and files do to an image."""

from io import BytesIO

import numpy as np
from PIL import Image
from scipy import ndimage

from leantta.data.seeds import Draws
from leantta.disturbances.corruptions.pixels import (
    Floats,
    Images,
    mirrored,
    reflected,
    to_bytes,
    to_unit,
    warp,
)


def contrast(images: Images, draws: Draws, *, kept: float) -> Images:  # noqa: ARG001 - same shape for all
    """Pull each channel towards its mean over the image; a share `kept` of the difference stays."""
    unit = to_unit(images)
    mean = unit.mean(axis=(1, 2), keepdims=True)
    return to_bytes((unit - mean) * kept + mean)


def saturate(images: Images, draws: Draws, *, factor: float, offset: float) -> Images:  # noqa: ARG001 - same shape
    """Change the saturation of hue-saturation-value to saturation * factor + offset, within [0, 1]."""
    unit = to_unit(images)
    value = unit.max(axis=3, keepdims=True)
    below = value - unit  # how far each channel lies under the brightest one
    depth = below.max(axis=3, keepdims=True)
    grey = depth == 0.0
    saturation = np.where(grey, 0.0, depth / np.where(value == 0.0, 1.0, value))
    changed = np.clip(saturation * factor + offset, 0.0, 1.0)
    # Grey has no hue; the usual convention, and so the benchmark, takes hue 0, which is red.
    shape = np.where(grey, np.array([0.0, 1.0, 1.0]), below / np.where(grey, 1.0, depth))
    return to_bytes(value - value * changed * shape)


def jpeg_compression(images: Images, draws: Draws, *, quality: int) -> Images:  # noqa: ARG001 - same shape for all
    """Save as JPEG and read back."""
    return np.stack([_through_jpeg(image, quality) for image in images])


def _through_jpeg(image: Images, quality: int) -> Images:
    file = BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file, formats=["JPEG"]))


def pixelate(images: Images, draws: Draws, *, scale: float) -> Images:  # noqa: ARG001 - same shape for all
    """Shrink by `scale` and enlarge again, averaging over boxes both ways."""
    height, width = images.shape[1:3]
    small = (int(width * scale), int(height * scale))
    box = Image.Resampling.BOX
    return np.stack(
        [
            np.asarray(Image.fromarray(image).resize(small, box).resize((width, height), box))
            for image in images
        ]
    )


def elastic_transform(images: Images, draws: Draws, *, stretch: float, sigma: float, tilt: float) -> Images:
    """Tilt the image by a random affine map, then pull its pixels about by a smooth random field.

    The map moves three points around the centre by up to `tilt` pixels; the field is even noise, blurred by
    `sigma` and multiplied by `stretch` pixels.
    """
    height, width = images.shape[1:3]
    grid = np.moveaxis(np.indices((height, width), dtype=np.float64), 0, 2)  # (h, w, 2): row, column
    tilted = warp(to_unit(images), *_tilted(grid, draws.uniform(-tilt, tilt, (3, 2))), mirrored)
    if stretch == 0.0:
        return to_bytes(tilted)
    noise = draws.uniform(-1.0, 1.0, (2, height, width))
    field = stretch * ndimage.gaussian_filter(noise, (0, 0, sigma, sigma), mode="reflect", truncate=3.0)
    return to_bytes(warp(tilted, grid[..., 0] + field[:, 0], grid[..., 1] + field[:, 1], reflected))


def _tilted(grid: Floats, shifts: Floats) -> tuple[Floats, Floats]:
    """Return the rows and columns (n, h, w) to read when three points are moved by `shifts` (n, 3, 2)."""
    sides = np.array(grid.shape[:2])
    centre, arm = sides // 2, min(sides) // 3
    points = centre + arm * np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]])
    moved = np.concatenate([points + shifts, np.ones((len(shifts), 3, 1))], axis=2)  # (n, 3, 3), homogeneous
    back = np.linalg.solve(moved, np.broadcast_to(points, shifts.shape))  # (n, 3, 2): moved @ back = points
    source = np.einsum("hwi,nij->nhwj", grid, back[:, :2]) + back[:, None, None, 2]
    return source[..., 0], source[..., 1]
