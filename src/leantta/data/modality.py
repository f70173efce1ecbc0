"""What a kind of data is to the rest of the code: how it is read, what models take, what may happen to it.

Samples are what a dataset keeps and what a corruption changes: bytes of images, windows of a motion sensor.
Models take float32 (n, channels, *positions); their mean and standard deviation are the dataset's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from leantta.data.datasets import Dataset, Inputs, Samples, Split


class Corrupt(Protocol):
    """A change of samples, by name and severity: sample i depends on these, the seed and first + i only."""

    def __call__(self, samples: Samples, name: str, severity: int, *, seed: int, first: int = 0) -> Samples:
        """Return changed samples, as many and of the same kind."""


@dataclass(frozen=True, kw_only=True)
class Modality:
    """One kind of data; `leantta.data.modalities` has the table."""

    noun: str  # what people call the samples: "images"
    load: Callable[[Path, str, Split], Dataset]  # a file or folder, the dataset and the split
    inputs: Callable[[Samples], Inputs]  # samples as models take them, before normalization
    corruptions: tuple[str, ...]  # in the order of the benchmark
    corruptor: Callable[[Dataset], Corrupt]  # what changes samples of a dataset, others of which may help
    made_by: Callable[[], str]  # all that decides corrupted samples: records must tell them apart
