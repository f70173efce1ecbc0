"""Finished records of runs go into one compressed file for each target, beside those that are in it.

While jobs run, each record is a file of its own that grows line by line, so that a stopped run goes on. A
record that several targets need goes to the first of those that were asked for. What no target asks for
today, such as a run with weights that were replaced since, stays as it is.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from leantta.evaluate.lookup import Place, finished_header
from leantta.evaluate.packs import SUFFIX, add_to_pack
from leantta_lab.reproduce.run_record import is_of_run
from leantta_lab.reproduce.target import Setting, Target


class Packed(NamedTuple):
    """How many records were packed, and how many finished ones are files still."""

    moved: int
    left: int


def pack_path(target: str, setting: Setting) -> Path:
    """Return where the finished records of a target are."""
    return setting.folder / f"{target}{SUFFIX}"


def pack_finished(targets: Mapping[str, Target], setting: Setting) -> Packed:
    """Move the finished records of the targets into their packs.

    Raises:
        RecordError: a pack is damaged.
        StorageError: a pack cannot be written.
    """
    finished = [path for path in sorted(setting.folder.glob("*.jsonl")) if finished_header(Place(path))]
    moved = 0
    for name, target in targets.items():
        runs = target.runs(setting) if len(finished) > moved else ()
        own = [path for path in finished if path.exists() and any(is_of_run(path, r, setting) for r in runs)]
        moved += add_to_pack(pack_path(name, setting), own)
    return Packed(moved, len(finished) - moved)
