"""Windows of motion sensors as a modality: what models take, what happens to a phone's sensors, and files."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from leantta.data.datasets import Inputs, Samples
from leantta.data.windows import CHANNELS, SAMPLES, SUFFIXES, find_window_files, read_windows
from leantta.disturbances.motion import EDITION, MOTION_SHIFTS, shift_motion
from leantta.errors import SettingError
from leantta.modalities.modality import FileReader, Given, Modality, Source

if TYPE_CHECKING:
    from leantta.runtime.metadata import Info


class WindowReader(FileReader):
    """Reads windows for a model that takes them; those of a file with several have numbers."""

    nothing = "standard input names no files of windows; give paths, one to a line."
    endings = SUFFIXES

    def __init__(self, info: "Info") -> None:
        """Take what the model says of itself; raises SettingError if it takes other signals."""
        if info.input.shape != (CHANNELS, SAMPLES):
            shape = ", ".join(map(str, info.input.shape))
            raise SettingError(
                f"{info.model} takes inputs of shape ({shape}); files hold motion windows of shape "
                f"({CHANNELS}, {SAMPLES}). Use leantta.load(...).predict(arrays)."
            )
        super().__init__(info)

    def find(self, path: Path) -> tuple[Path, ...]:
        """Return the file at a path, or those of a folder that may hold windows."""
        return find_window_files(path)

    def sources(self, file: Path) -> Iterator[Source]:
        """Give each window of a file."""
        windows = read_windows(file)
        for number, window in enumerate(windows):
            name = str(file) if len(windows) == 1 else f"{file}[{number}]"
            yield name, partial(_one, window)


def _one(window: Inputs) -> Iterator[Given]:
    yield Given(None, window)


def _inputs(samples: Samples) -> Inputs:
    """Return windows (n, 9, 128) as models take them: as they are."""
    return np.ascontiguousarray(samples, dtype=np.float32)


MOTION = Modality(
    name="motion",
    noun="windows",
    inputs=_inputs,
    corruptions=tuple(MOTION_SHIFTS),
    corruptor=lambda _: shift_motion,
    made_by=lambda: f"generated, motion shifts, edition {EDITION}",
    file_inputs=("signal",),
    reader=WindowReader,
)
