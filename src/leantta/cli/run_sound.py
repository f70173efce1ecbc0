"""Sound files for `leantta run`: a long one is heard window by window, in the memory of two windows."""

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from leantta.cli.run_source import Given, Source, failing, named
from leantta.errors import DataError, LeanTTAError

if TYPE_CHECKING:
    from leantta.runtime.metadata import Info


class SoundReader:
    """Reads sound for a model that takes it, as frames or as a waveform."""

    def __init__(self, info: "Info") -> None:
        """Take what the model says of itself; raises SettingError if it is not for sound."""
        from leantta.runtime.sound import sound_info

        self._info = info
        self._samples = sound_info(info).clip_samples

    def files(self, path: str) -> Iterator[Source]:
        """Give the sound files that a path means; folders in a folder are searched too."""
        from leantta.data.soundfiles import find_sounds

        try:
            found = find_sounds(Path(path))
        except LeanTTAError as e:
            yield failing(path, e)
            return
        for file in found:
            yield str(file), partial(self._windows, file)

    def standard_input(self) -> Iterator[Source]:
        """Give the files whose paths come in, each when its line is there."""
        nothing = DataError("standard input names no sound files; give paths, one to a line.")
        return named(sys.stdin.buffer, self.files, nothing)

    def _windows(self, file: Path) -> Iterator[Given]:
        from leantta.data.sound_windows import read_windows
        from leantta.runtime.sound import hear

        for start_s, wave in read_windows(file, self._samples):
            yield Given(start_s, hear(wave, self._info))
