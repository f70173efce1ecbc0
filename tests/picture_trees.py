"""Little trees of image files."""

from pathlib import Path

import numpy as np
from PIL import Image


def picture(path: Path, grey: int = 100, size: tuple[int, int] = (8, 6)) -> Path:
    """Write an image of one grey, width and height in `size`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((size[1], size[0], 3), grey, np.uint8)).save(path)
    return path


def tree(root: Path, *names: str) -> Path:
    """Write an image for each name, darker to brighter."""
    for place, name in enumerate(names):
        picture(root / name, 10 * place)
    return root
