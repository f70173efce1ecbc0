"""What filters are fitted to, and what comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from torch import nn

from leantta.disturbances.copies import Copies
from leantta.filtering.layer import Constants
from leantta.filtering.report import FilterReport
from leantta.pixels import Inputs
from leantta.progress import Progresses


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What filters are fitted to: a model, some of its layers, and source images."""

    gate: str  # the settings of the filter, as text
    layers: Sequence[str]  # that may have a filter, in execution order
    last: int  # how many of them, at the end, are tried whatever came before
    images: Inputs  # as the model takes them
    filtered: Callable[[Mapping[str, Constants]], nn.Module]  # the model with filters in some layers
    copies: Callable[[Inputs, int], Copies]  # disturbs images, from a seed
    progress: Progresses
    field: Inputs | None = None  # images from where the model will run, as it takes them
    resume: Path | None = None  # where to keep what is found, so that a fit that is stopped goes on


class Filters(NamedTuple):
    """The filters of the layers that help, and what fitting found."""

    constants: dict[str, Constants]
    report: FilterReport
