"""The most shifted inputs are kept, so that people can look at them: at most so many, in one folder."""

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from leantta.data.imagefiles import Pixels, write_png
from leantta.errors import SettingError

_NAME = re.compile(r"shift([0-9.]+)-.*\.png")


class Examples:
    """A folder of pictures, named by their shift; the least shifted makes room for a more shifted one."""

    def __init__(self, folder: Path, most: int = 50) -> None:
        """Take a folder, and go on with the examples that are in it."""
        if most < 1:
            raise SettingError(f"the folder of examples keeps one at least, got {most}")
        self.folder, self.most = folder, most
        self._kept = {
            path: float(match[1])
            for path in folder.glob("shift*.png")
            if (match := _NAME.fullmatch(path.name))
        }

    def offer(self, shift: float, number: int, image: npt.NDArray[np.uint8]) -> Path | None:
        """Keep an image if it is among the most shifted; return where.

        Raises:
            StorageError: it cannot be written.
        """
        least = min(self._kept, key=self._kept.__getitem__, default=None)
        if least is not None and len(self._kept) >= self.most:
            if shift <= self._kept[least]:
                return None
            least.unlink(missing_ok=True)
            del self._kept[least]
        path = self.folder / f"shift{min(shift, 9999.0):08.3f}-{number:07d}.png"
        pixels: Pixels = image if image.shape[-1] == 3 else np.repeat(image, 3, axis=-1)
        write_png(path, np.ascontiguousarray(pixels))
        self._kept[path] = shift
        return path
