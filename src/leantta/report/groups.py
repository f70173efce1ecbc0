"""Records that belong together: runs of one method, with the same settings, that differ in the seed only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leantta.errors import RecordError
from leantta.evaluate.intervals import deviation
from leantta.evaluate.metrics import Keep, Tally, tally
from leantta.evaluate.record import Record
from leantta.modalities.cells import CLEAN
from leantta.records.provenance import canonical
from leantta.streams.stream import Domain


@dataclass(frozen=True)
class Score:
    """An accuracy: of one run, with half its 95 % interval; or of several, with their standard deviation."""

    mean: float
    spread: float
    runs: int

    def __str__(self) -> str:
        """Return percent, e.g. "71.4±0.9"."""
        return f"{100 * self.mean:.1f}±{100 * self.spread:.1f}"


@dataclass(frozen=True, eq=False)
class Group:
    """The runs of one method over one kind of stream, one for each seed."""

    dataset: str
    model: str
    method: str  # with the settings that tell it from others of the same name
    stream: str  # likewise
    run_key: str  # everything but the stream
    stream_key: str  # the stream but for its seed
    records: tuple[Record, ...]

    @property
    def is_clean(self) -> bool:
        """Whether none of the inputs is corrupted."""
        return not any(is_corrupted(domain) for record in self.records for domain in record.header.domains)

    def score(self, keep: Keep) -> Score | None:
        """Return the accuracy over the domains to keep; None if there are none."""
        return score([one for record in self.records if (one := tally(record, keep)) is not None])


def is_corrupted(domain: Domain) -> bool:
    """Whether a domain is not the clean one."""
    return domain.corruption != CLEAN


def score(tallies: Sequence[Tally]) -> Score | None:
    """Return the score of the runs that the tallies are of; None if there are none."""
    if not tallies:
        return None
    if len(tallies) == 1:
        interval = tallies[0].interval
        return Score(interval.value, interval.half_width, 1)
    values = [run.accuracy for run in tallies]
    return Score(sum(values) / len(values), deviation(values), len(values))


def group_records(records: Sequence[Record]) -> list[Group]:
    """Return the groups in the order in which they come up.

    Raises:
        RecordError: there are no records, one is not finished, or one is there twice.
    """
    if not records:
        raise RecordError("there are no records to report. Give at least one.")
    _check(records)
    run_keys = [_run(record) for record in records]
    stream_keys = [_kind(record) for record in records]
    methods = _labels(
        [
            (f"{r.header.recipe['dataset']} {r.model}", r.method, key)
            for r, key in zip(records, run_keys, strict=True)
        ]
    )
    streams = _labels([("", str(r.stream["name"]), key) for r, key in zip(records, stream_keys, strict=True)])
    members: dict[tuple[str, str], list[int]] = {}
    for i, (run, stream) in enumerate(zip(run_keys, stream_keys, strict=True)):
        members.setdefault((canonical(run), canonical(stream)), []).append(i)
    return [
        Group(
            dataset=str(records[first].header.recipe["dataset"]),
            model=records[first].model,
            method=methods[first],
            stream=streams[first],
            run_key=run,
            stream_key=stream,
            records=tuple(records[i] for i in (first, *others)),
        )
        for (run, stream), (first, *others) in members.items()
    ]


def _check(records: Sequence[Record]) -> None:
    seen: set[str] = set()
    for record in records:
        name = f"{record.model} {record.method} on {record.stream['name']}, seed {record.stream['seed']}"
        if record.finished is None:
            raise RecordError(
                f"{name} is not finished: {len(record)} of {record.header.inputs} inputs. Run it again."
            )
        if record.header.recipe_sha256 in seen:
            raise RecordError(f"{name} is given twice. Leave one out.")
        seen.add(record.header.recipe_sha256)


def _run(record: Record) -> dict[str, Any]:
    return {name: value for name, value in record.header.recipe.items() if name != "stream"}


def _kind(record: Record) -> dict[str, Any]:
    return {"name": record.stream["name"], **record.stream["settings"]}


def _labels(entries: Sequence[tuple[str, str, Mapping[str, Any]]]) -> list[str]:
    """Return the name of each entry, followed by its settings that differ among entries of that name."""
    labels = []
    for scope, name, settings in entries:
        flat = _flat(settings)
        others = [_flat(other) for also, same, other in entries if (also, same) == (scope, name)]
        telling = [key for key in flat if any(other.get(key) != flat[key] for other in others)]
        labels.append(" ".join([name, *(f"{key}={_short(flat[key])}" for key in telling)]))
    return labels


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    own = settings.get("method_settings", {})
    return {**{name: value for name, value in settings.items() if name != "method_settings"}, **own}


def _short(value: object) -> str:
    text = value if isinstance(value, str) else canonical(value)
    return text if len(text) <= 12 else f"{text[:8]}.."
