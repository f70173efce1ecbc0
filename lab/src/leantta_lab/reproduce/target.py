"""What can be reproduced: a target is jobs, each leaving one file behind, and a page made of those files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from leantta.plotting import Picture
from leantta.tables import Table, render

if TYPE_CHECKING:
    from leantta_lab.reproduce.run_record import Run

Scale = Literal["quick", "full"]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Where a reproduction finds its data and leaves its records, and at which scale it runs."""

    scale: Scale
    images: dict[str, Path]  # where each dataset is, by name; one that was not found is not in it
    records: Path  # folder of the records, one below it for each scale
    work: Path  # folder of what can be made again: converted model files
    no_data: str = "no data"  # what a cell shows that has no record, nor the data for one

    @property
    def seeds(self) -> tuple[int, ...]:
        """The trials: five in the paper, one if it is to be quick."""
        return (0,) if self.scale == "quick" else (0, 1, 2, 3, 4)

    @property
    def folder(self) -> Path:
        """Where the records of this scale are."""
        return self.records / self.scale


@dataclass(frozen=True, kw_only=True)
class Job:
    """One piece of work in one process: a function of the setting that leaves a finished file."""

    name: str  # what a person reads: "resnet18 cifar10 abrupt tent:paper batch 1 seed 0"
    run: Callable[["Setting", Callable[[int, int], None]], None]  # picklable; the second one takes progress
    done: Callable[["Setting"], bool]  # picklable; whether its file is there and whole
    seconds: float  # guess on one core, to begin with the longest and to tell the remaining time
    needs: tuple["Job", ...] = ()  # jobs whose files it reads
    alone: bool = False  # it measures time, so no other job may run beside it
    leaves: Callable[["Setting"], Path] | None = None  # picklable; the file that jobs which need it read
    group: str = ""  # jobs of a group load the same things: a process that has run one takes the next


@dataclass(frozen=True, kw_only=True)
class Page:
    """A table or figure made from records, as values: paragraphs, tables and pictures in order."""

    parts: tuple[str | Table | Picture, ...] = ()
    lacking: Sequence[str] = ()  # what could not be shown, and why

    @property
    def pictures(self) -> list[Picture]:
        """The pictures of the page."""
        return [part for part in self.parts if isinstance(part, Picture)]

    def text(self) -> str:
        """Return the page for a terminal: tables aligned, no pictures."""
        blocks = []
        for part in self.parts:
            if isinstance(part, Table):
                blocks += [render(part.header, part.rows), *([" ".join(part.notes)] if part.notes else [])]
            elif isinstance(part, str):
                blocks.append(part)
        return "\n\n".join(blocks)

    def markdown(self, folder: str = "") -> str:
        """Return the page in Markdown, with links to the pictures in a folder."""
        blocks = []
        for part in self.parts:
            if isinstance(part, Picture):
                blocks.append(f"![{part.caption}]({folder}{part.name}.svg)")
            else:
                blocks.append(part.markdown() if isinstance(part, Table) else part)
        return "\n\n".join(blocks)


@dataclass(frozen=True, kw_only=True)
class Target:
    """A table or figure of the paper."""

    title: str
    jobs: Callable[[Setting], list[Job]]
    page: Callable[[Setting], Page]  # from the files that are there; a cell without one shows that it lacks
    summary: str  # one line for --help
    runs: "Callable[[Setting], Sequence[Run]]" = lambda _: ()  # whose records are kept in its pack
