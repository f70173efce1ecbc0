"""One line per corruption, grouped in families: where a method helps, and where it does not."""

from collections.abc import Callable, Mapping, Sequence

from leantta.errors import RecordError
from leantta.evaluate.metrics import Keep
from leantta.evaluate.record import Record
from leantta.report.groups import Group, Score, group_records, is_corrupted
from leantta.streams.stream import Domain
from leantta.tables import MISSING, Table


def families(records: Sequence[Record], members: Mapping[str, Sequence[str]]) -> Table:
    """Return the accuracy per family and per corruption, a column per method, with its gain over the first.

    `members` names the corruptions of each family. Runs over clean images are left out.

    Raises:
        RecordError: there are no records of corrupted inputs, one is not finished, or one is there twice.
    """
    groups = [group for group in group_records(records) if not group.is_clean]
    if not groups:
        raise RecordError("all records are over clean inputs: there is no corruption to report.")
    header = ["corruption"]
    for group, first in _with_first(groups):
        header.append(_title(group, groups))
        if first is not group:
            header.append("diff")
    rows = [(label, *_cells(groups, keep)) for label, keep in _lines(groups, members)]
    runs = max(len(group.records) for group in groups)
    spread = f" ± is the standard deviation over up to {runs} seeds." if runs > 1 else ""
    return Table(tuple(header), tuple(rows), (f"Accuracy in %, diff in points to the first method.{spread}",))


def _with_first(groups: Sequence[Group]) -> list[tuple[Group, Group]]:
    """Pair each group with the first of the same dataset, model and stream."""
    firsts: dict[tuple[str, str, str], Group] = {}
    return [(g, firsts.setdefault((g.dataset, g.model, g.stream_key), g)) for g in groups]


def _title(group: Group, groups: Sequence[Group]) -> str:
    """Name the method, preceded by whatever differs between the columns."""
    fields: tuple[Callable[[Group], str], ...] = (lambda g: g.dataset, lambda g: g.model, lambda g: g.stream)
    telling = [field(group) for field in fields if len({field(other) for other in groups}) > 1]
    return " ".join([*telling, group.method])


def _lines(groups: Sequence[Group], members: Mapping[str, Sequence[str]]) -> list[tuple[str, Keep]]:
    """Return the label of each line with the domains that it is about."""
    present = {
        domain.corruption: None
        for group in groups
        for record in group.records
        for domain in record.header.domains
        if is_corrupted(domain)
    }
    lines: list[tuple[str, Keep]] = []
    for family, corruptions in members.items():
        inside = [name for name in corruptions if name in present]
        if inside:
            lines += [(family, _among(inside)), *((f"  {name}", _among([name])) for name in inside)]
    known = {name for corruptions in members.values() for name in corruptions}
    lines += [(name, _among([name])) for name in present if name not in known]
    return [*lines, ("all", is_corrupted)]


def _among(corruptions: Sequence[str]) -> Keep:
    def keep(domain: Domain) -> bool:
        return domain.corruption in corruptions

    return keep


def _cells(groups: Sequence[Group], keep: Keep) -> list[str]:
    cells = []
    for group, first in _with_first(groups):
        own, before = group.score(keep), first.score(keep)
        cells.append(_shown(own))
        if first is not group:
            cells.append(
                MISSING if own is None or before is None else f"{100 * (own.mean - before.mean):+.1f}"
            )
    return cells


def _shown(score: Score | None) -> str:
    if score is None:
        return MISSING
    return f"{100 * score.mean:.1f}" if score.runs == 1 else str(score)
