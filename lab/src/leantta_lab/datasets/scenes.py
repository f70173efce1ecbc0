"""Scenes: CIFAR's photographs at other sizes on a plain textured ground, with a class for each pixel.

A scene is 96 x 96 pixels and shows up to six photographs, 24 to 48 pixels wide, that do not overlap. Pixels
that show none are of class 0, the others of the photograph's class + 1.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from leantta.data.datasets import Dataset

SIDE, SMALLEST, LARGEST = 96, 24, 48
"""Pixels of a scene's side, and of the sides of its photographs."""

MOST, TRIES = 6, 24
"""Photographs in a scene, and places that are tried for them."""

Bytes = npt.NDArray[np.uint8]


class Scenes(NamedTuple):
    """Scenes and what is in them."""

    images: Bytes  # (n, 96, 96, 3)
    masks: Bytes  # (n, 96, 96): 0 is the ground
    boxes: list[npt.NDArray[np.int64]]  # of each scene (photographs, 5): left, upper, right, lower, class


def scenes_of(photographs: Dataset, count: int, seed: int) -> Scenes:
    """Return scenes made of the photographs of a split, drawn from a seed."""
    draw = np.random.default_rng(seed)
    images = np.empty((count, SIDE, SIDE, 3), np.uint8)
    masks = np.zeros((count, SIDE, SIDE), np.uint8)
    boxes = []
    for image, mask in zip(images, masks, strict=True):
        image[:] = _ground(draw)
        placed: list[tuple[int, ...]] = []
        for _ in range(TRIES):
            width, height = draw.integers(SMALLEST, LARGEST + 1, 2).tolist()
            left, upper = draw.integers(0, (SIDE - width + 1, SIDE - height + 1)).tolist()
            box = (left, upper, left + width, upper + height)
            if len(placed) < MOST and not any(_overlap(box, other) for other in placed):
                which = int(draw.integers(len(photographs.labels)))
                label = int(photographs.labels[which]) + 1
                photograph = Image.fromarray(photographs.samples[which])
                if draw.random() < 0.5:
                    photograph = photograph.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
                part = (slice(upper, box[3]), slice(left, box[2]))
                image[part] = np.asarray(photograph.resize((width, height), Image.Resampling.BILINEAR))
                mask[part] = label
                placed.append((*box, label))
        boxes.append(np.array(placed, np.int64).reshape(-1, 5))
    return Scenes(images, masks, boxes)


def _ground(draw: np.random.Generator) -> Bytes:
    """Return a ground of two colours that run into each other in soft patches, with some grain."""
    patches = Image.fromarray(draw.integers(0, 256, (6, 6), dtype=np.uint8))
    share = np.asarray(patches.resize((SIDE, SIDE), Image.Resampling.BICUBIC), np.float64)[..., None] / 255
    first, second = draw.integers(0, 256, (2, 3))
    grain = draw.normal(0, draw.uniform(0, 12), (SIDE, SIDE, 1))
    ground: Bytes = np.clip(first + share * (second - first) / 2 + grain, 0, 255).astype(np.uint8)
    return ground


def _overlap(box: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
