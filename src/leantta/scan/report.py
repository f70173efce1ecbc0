"""What a scan found: counts, labels, shift by folder and by time, the worst inputs, and what failed.

The part files are gone through once, a batch of rows at a time.
"""

import heapq
import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as compute
import pyarrow.dataset as datasets

from leantta.errors import RecordError
from leantta.files import existing
from leantta.records.json_file import read_json
from leantta.scan.folder import FORMAT, KIND, MANIFEST
from leantta.scan.scoring import PARTS
from leantta.tables import MISSING, Table

WORST, FAILED, GROUPS = 10, 10, 20
"""Rows that are shown: of the worst inputs, of those that failed, and of labels, folders and times."""

_MOST_FOLDERS = 20_000
_COLUMNS = ["path", "member", "window", "modified", "label", "shift", "error"]


@dataclass
class Shifts:
    """Inputs that belong together."""

    inputs: int = 0
    errors: int = 0
    above: int = 0
    measured: int = 0
    total: float = 0.0
    most: float = 0.0

    def add(self, errors: int, shifts: Any) -> None:
        """Take more of them: how many failed, and the shifts of the others (NaN: none is measured)."""
        self.inputs += errors + len(shifts)
        self.errors += errors
        known = shifts[np.isfinite(shifts)]
        if len(known):
            self.above += int((known > 1).sum())
            self.measured += len(known)
            self.total += float(known.sum())
            self.most = max(self.most, float(known.max()))

    def join(self, other: "Shifts") -> None:
        """Take those of another."""
        for name in ("inputs", "errors", "above", "measured", "total"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.most = max(self.most, other.most)

    def told(self) -> dict[str, float | int | None]:
        """Return the numbers that are shown."""
        known = self.measured or None
        return {
            "inputs": self.inputs,
            "errors": self.errors,
            "above_1": known and round(self.above / known, 6),
            "mean_shift": known and round(self.total / known, 6),
            "most_shift": known and round(self.most, 6),
        }


@dataclass
class Report:
    """What was found, by what it is asked for."""

    model: str
    digest: str
    chunks: int  # of which there should be parts; 0: the listing is not done
    parts: int
    all: Shifts = field(default_factory=Shifts)
    labels: Counter[str] = field(default_factory=Counter)
    folders: dict[str, Shifts] = field(default_factory=lambda: defaultdict(Shifts))
    times: dict[str, Shifts] = field(default_factory=lambda: defaultdict(Shifts))
    worst: list[tuple[float, str, str]] = field(default_factory=list)  # shift, name, label; a heap
    failed: list[tuple[str, str]] = field(default_factory=list)

    def told(self) -> dict[str, Any]:
        """Return all of it for machines."""
        return {
            "model": self.model,
            "artifact_sha256": self.digest,
            "part_files": self.parts,
            "part_files_missing": self.chunks - self.parts if self.chunks else None,
            **self.all.told(),
            "labels": dict(self.labels.most_common()),
            "folders": {name: group.told() for name, group in sorted(self.folders.items())},
            "times": {name: group.told() for name, group in sorted(self.times.items())},
            "worst": [
                {"input": name, "shift": round(shift, 6), "label": label}
                for shift, name, label in sorted(self.worst, reverse=True)
            ],
            "failed": [{"input": name, "error": error} for name, error in self.failed],
        }


def report_of(folder: Path) -> Report:
    """Return what the scan in a folder found, also while it is still going on.

    Raises:
        RecordError: it is no scan, or a part of it is damaged.
    """
    kept = read_json(existing(folder / MANIFEST, "scan"), KIND, FORMAT)
    settings, listing = kept["settings"], kept["listing"]
    parts = sorted(map(str, (folder / PARTS).glob("*/[0-9]*.parquet")))
    report = Report(
        settings["model"], settings["artifact_sha256"], (listing or {}).get("chunks", 0), len(parts)
    )
    try:
        scanner = datasets.dataset(parts).scanner(columns=_COLUMNS) if parts else None
        for batch in scanner.to_batches() if scanner else ():
            _add(report, batch)
    except (OSError, ValueError) as e:
        raise RecordError(f"cannot read the scan in {folder}: {e} Remove that part, and scan again.") from e
    _roll_up_folders(report, GROUPS)
    _roll_up_times(report, GROUPS)
    return report


def _add(report: Report, batch: Any) -> None:
    if not len(batch):
        return
    failed = np.asarray(batch["error"].is_valid())
    shifts = batch["shift"].fill_null(float("nan")).to_numpy(zero_copy_only=False)
    report.all.add(int(failed.sum()), shifts[~failed])
    for each in compute.value_counts(batch["label"].drop_null()).to_pylist():
        report.labels[each["values"]] += each["counts"]
    folders = compute.replace_substring_regex(batch["path"], "[^/]*$", "")
    days = compute.strftime(batch["modified"], format="%Y-%m-%d").fill_null(MISSING)
    for groups, column in ((report.folders, folders), (report.times, days)):
        coded = column.dictionary_encode()
        codes = coded.indices.to_numpy()
        for code, name in enumerate(coded.dictionary.to_pylist()):
            own = codes == code
            groups[name].add(int((own & failed).sum()), shifts[own & ~failed])
    if len(report.folders) > _MOST_FOLDERS:
        _roll_up_folders(report, _MOST_FOLDERS // 2)
    least = report.worst[0][0] if len(report.worst) == WORST else -np.inf
    for place in np.flatnonzero(~failed & (shifts > least)):
        row = (float(shifts[place]), _name(batch, place), str(batch["label"][place].as_py() or MISSING))
        (heapq.heappush if len(report.worst) < WORST else heapq.heappushpop)(report.worst, row)
    for place in np.flatnonzero(failed)[: FAILED - len(report.failed)]:
        report.failed.append((_name(batch, place), batch["error"][place].as_py()))


def _name(batch: Any, place: Any) -> str:
    path, member, window = (batch[column][place].as_py() for column in ("path", "member", "window"))
    return f"{path}{f': {member}' if member is not None else ''}{f' [{window}]' if window else ''}"


def _roll_up_folders(report: Report, most: int) -> None:
    """Join the deepest folders with those around them until there are few."""
    folders = report.folders
    while len(folders) > most:
        deepest = max(name.count("/") for name in folders)
        joined: dict[str, Shifts] = defaultdict(Shifts)
        for name, group in folders.items():
            up = name.rstrip("/").rpartition("/")[0] + "/" if name.count("/") == deepest else name
            joined[up].join(group)
        if len(joined) == len(folders) and deepest <= 1:
            break
        folders = joined
    report.folders = folders


def _roll_up_times(report: Report, most: int) -> None:
    """Join days to months, and months to years, until there are few."""
    for letters in (7, 4):
        if len(report.times) <= most:
            return
        joined: dict[str, Shifts] = defaultdict(Shifts)
        for name, group in report.times.items():
            joined[name[:letters]].join(group)
        report.times = joined


def tables(report: Report) -> list[Table]:
    """Return what is shown of a report."""
    total = report.all
    missing = report.chunks - report.parts if report.chunks else None
    whole = (
        "complete" if missing == 0 else f"not complete: {'?' if missing is None else missing} parts missing"
    )
    shown = [
        Table(
            ("scan", "value"),
            (
                ("model", f"{report.model} {report.digest[:12]}"),
                ("state", whole),
                ("part files", f"{report.parts:,}"),
                ("inputs", f"{total.inputs:,}"),
                ("could not be read", f"{total.errors:,}"),
                ("shift above 1", _cells(total)[2]),
            ),
            ("Of inputs like the training data, 1 in 100 has a shift above 1.",),
        )
    ]
    if report.labels:
        count = sum(report.labels.values())
        rows = tuple(
            (name, f"{n:,}", f"{100 * n / count:.1f} %") for name, n in report.labels.most_common(GROUPS)
        )
        rest = len(report.labels) - len(rows)
        notes = (f"{rest:,} more labels: --json has all.",) if rest else ()
        shown.append(Table(("label", "inputs", "share"), rows, notes))
    for title, groups in (("folder", report.folders), ("changed", report.times)):
        if groups:
            shown.append(_by(title, groups))
    if report.worst:
        rows = tuple(
            (name, label, f"{shift:.3f}") for shift, name, label in sorted(report.worst, reverse=True)
        )
        shown.append(Table(("most shifted", "label", "shift"), rows))
    if report.failed:
        more = total.errors - len(report.failed)
        notes = (f"{more:,} more could not be read.",) if more else ()
        shown.append(Table(("could not be read", "why"), tuple(report.failed), notes))
    return shown


def _by(title: str, groups: Mapping[str, Shifts]) -> Table:
    rows = tuple((name, *_cells(group)) for name, group in sorted(groups.items()))
    return Table((title, "inputs", "errors", "above 1", "mean shift", "most"), rows)


def _cells(group: Shifts) -> tuple[str, ...]:
    if not group.measured:
        return f"{group.inputs:,}", f"{group.errors:,}", MISSING, MISSING, MISSING
    return (
        f"{group.inputs:,}",
        f"{group.errors:,}",
        f"{100 * group.above / group.measured:.1f} %",
        f"{group.total / group.measured:.3f}",
        f"{group.most:.3f}",
    )


def show(report: Report, *, markdown: bool, as_json: bool) -> str:
    """Return a report as it is printed."""
    if as_json:
        return json.dumps(report.told(), indent=1)
    return "\n\n".join(each.markdown() if markdown else each.text() for each in tables(report))
