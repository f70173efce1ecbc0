"""What a kind of data is to the rest of the code: all that differs between images, sound and motion windows.

Samples are what a dataset keeps and what a corruption changes: bytes of images, windows of a motion sensor.
Models take float32 (n, channels, *positions); their mean and standard deviation are the dataset's.
"""

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn, Protocol

from leantta.data.beginnings import ending_of
from leantta.data.datasets import Dataset, Inputs, Samples
from leantta.errors import DataError, LeanTTAError, MissingFileError

if TYPE_CHECKING:
    import numpy.typing as npt

    from leantta.runtime.metadata import Info


class Corrupt(Protocol):
    """A change of samples, by name and severity: sample i depends on these, the seed and first + i only."""

    def __call__(self, samples: Samples, name: str, severity: int, *, seed: int, first: int = 0) -> Samples:
        """Return changed samples, as many and of the same kind."""


class Given(NamedTuple):
    """One input of a model file, and where in its source it begins; None if the source is that one input."""

    start_s: float | None
    values: "npt.NDArray[Any]"


Read = Callable[[], Iterator[Given]]
"""Gives the inputs of a source, each when asked for."""

Source = tuple[str, Read]
"""What a person calls a source of inputs, usually a path, and what reads it."""


class FileReader(ABC):
    """Makes inputs of files for one model file; each modality says which files, and what is in one."""

    nothing: ClassVar[str]  # what is said of a standard input that names no files
    endings: ClassVar[tuple[str, ...]]  # of the files that it reads, in lower case

    def __init__(self, info: "Info") -> None:
        """Take what the model says of itself; raises SettingError if files cannot be given to it."""
        self.info = info

    @abstractmethod
    def find(self, path: Path) -> tuple[Path, ...]:
        """Return the files that a path means; raises LeanTTAError if it means none."""

    @abstractmethod
    def sources(self, file: Path) -> Iterator[Source]:
        """Give the sources in a file."""

    def files(self, path: str) -> Iterator[Source]:
        """Give the sources in the files that a path means; a path or file without any is given its error."""
        try:
            files = self.find(Path(path))
        except LeanTTAError as e:
            yield _failing(path, e)
            return
        for file in files:
            try:
                yield from self.sources(file)
            except LeanTTAError as e:  # noqa: PERF203 - one bad file must not stop the others
                yield _failing(str(file), e)

    def content(self, data: bytes, name: str) -> Iterator[Source]:
        """Give the sources in the bytes of a file, such as a member of an archive; `name` is for messages.

        Each must be read before the next one is asked for.
        """
        ending = next((each for each in self.endings if name.lower().endswith(each)), None)
        with TemporaryDirectory(prefix="leantta-") as folder:
            path = Path(folder, f"content{ending or ending_of(data)}")
            path.write_bytes(data)
            try:
                for _, read in self.sources(path):
                    yield name, partial(_renamed, read, str(path), name)
            except (DataError, MissingFileError) as e:
                raise DataError(str(e).replace(str(path), name)) from e

    def standard_input(self) -> Iterator[Source]:
        """Give the sources in the files whose paths come in, each when its line is there."""
        return self.named(sys.stdin.buffer)

    def named(self, lines: Iterable[bytes]) -> Iterator[Source]:
        """Give the sources in the files whose paths are lines; the error `nothing` if there are none."""
        empty = True
        for line in lines:
            path = os.fsdecode(line.rstrip(b"\r\n"))
            if path:
                empty = False
                yield from self.files(path)
        if empty:
            yield _failing("-", DataError(self.nothing))


def _renamed(read: Read, path: str, name: str) -> Iterator[Given]:
    """Give what a source has; an error names the source as a person knows it."""
    try:
        yield from read()
    except (DataError, MissingFileError) as e:
        raise DataError(str(e).replace(path, name)) from e


def _failing(name: str, error: LeanTTAError) -> Source:
    """Return a source that has nothing but an error to give."""

    def read() -> NoReturn:
        raise error

    return name, read


@dataclass(frozen=True, kw_only=True)
class Modality:
    """One kind of data; `leantta.modalities.kinds` has the table."""

    name: str
    noun: str  # what people call the samples: "images"
    inputs: Callable[[Samples], Inputs]  # samples as models take them, before normalization
    scaled: str = "as read"  # what `inputs` does to values, for a model card
    as_bytes: bool = False  # samples are bytes, which a model file takes as they are
    corruptions: tuple[str, ...]  # in the order of the benchmark
    corruptor: Callable[[Dataset], Corrupt]  # what changes samples of a dataset, others of which may help
    made_by: Callable[[], str]  # all that decides corrupted samples: records must tell them apart
    file_inputs: tuple[str, ...]  # the kinds of input that model files for it have
    reader: type[FileReader]  # what `leantta run` reads files with
    read_folder: Callable[[Path, int], Samples] | None = None  # the first so many plain files of a folder
