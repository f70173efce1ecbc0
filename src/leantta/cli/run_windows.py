"""Windows of motion sensors for `leantta run`."""

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from leantta.cli.run_source import Given, Source, failing, named
from leantta.errors import DataError, LeanTTAError, SettingError

if TYPE_CHECKING:
    from leantta.data.datasets import Inputs
    from leantta.runtime.metadata import Info


class WindowReader:
    """Reads windows for a model that takes them; those of a file with several have numbers."""

    def __init__(self, info: "Info") -> None:
        """Take what the model says of itself; raises SettingError if it takes other signals."""
        from leantta.data.windows import CHANNELS, SAMPLES

        if info.input.shape != (CHANNELS, SAMPLES):
            shape = ", ".join(map(str, info.input.shape))
            raise SettingError(
                f"{info.model} takes inputs of shape ({shape}); files hold motion windows of shape "
                f"({CHANNELS}, {SAMPLES}). Use leantta.load(...).predict(arrays)."
            )

    def files(self, path: str) -> Iterator[Source]:
        """Give the windows of a file, or of a folder's files."""
        from leantta.data.windows import find_window_files, read_windows

        try:
            found = find_window_files(Path(path))
        except LeanTTAError as e:
            yield failing(path, e)
            return
        for file in found:
            try:
                windows = read_windows(file)
            except LeanTTAError as e:
                yield failing(str(file), e)
                continue
            for number, window in enumerate(windows):
                name = str(file) if len(windows) == 1 else f"{file}[{number}]"
                yield name, partial(_one, window)

    def standard_input(self) -> Iterator[Source]:
        """Give the windows of the files whose paths come in, each when its line is there."""
        nothing = DataError("standard input names no files of windows; give paths, one to a line.")
        return named(sys.stdin.buffer, self.files, nothing)


def _one(window: "Inputs") -> Iterator[Given]:
    yield Given(None, window)
