"""What records say in sum: rows, joins, intervals, and the columns that are worth showing."""

from typing import Any

import numpy as np
import pytest

from leantta.errors import RecordError
from leantta.evaluate.intervals import mean_of, wilson
from leantta.evaluate.metrics import paired_difference
from leantta.evaluate.record import Header, Record
from leantta.records.provenance import Provenance
from leantta.report.families import families
from leantta.report.summary import summarize, summary
from leantta.streams.stream import Domain

CORRUPTED = (Domain("fog", 1), Domain("fog", 5), Domain("shot_noise", 5), Domain("odd", 2))
CLEAN = (Domain("clean", 0),)
MEMBERS = {"noise": ("shot_noise", "gaussian_noise"), "weather": ("fog", "snow"), "blur": ("zoom_blur",)}


def record_of(
    method: str,
    accuracy: float,
    *,
    stream: str = "abrupt",
    domains: tuple[Domain, ...] = CORRUPTED,
    seed: int = 0,
    model: str = "resnet18",
    finished: str | None = "now",
    count: int = 400,
    **more: Any,
) -> Record:
    """A record whose first `accuracy` of each domain's inputs are right."""
    recipe = {
        "model": model,
        "method": method,
        "dataset": "cifar10",
        "method_settings": {},
        "batch_size": 1,
        "stream": {"name": stream, "seed": seed, "settings": {"per_cell": 100}},
        **more,
    }
    header = Header(
        recipe=recipe,
        inputs=count,
        domains=domains,
        provenance=Provenance(command="", machine={}, versions={}, started=""),
    )
    labels = np.random.default_rng(seed).integers(0, 10, count)
    domain = np.arange(count) % len(domains)
    right = np.arange(count) // len(domains) < round(accuracy * count / len(domains))
    predictions = np.where(right, labels, (labels + 1) % 10)
    return Record(header=header, labels=labels, predictions=predictions, domain=domain, finished=finished)


def clean_of(method: str, accuracy: float, **more: Any) -> Record:
    return record_of(method, accuracy, stream="clean", domains=CLEAN, **more)


def test_one_run_of_each_method() -> None:
    none, lean = record_of("none", 0.5), record_of("leantta", 0.6)
    rows = summarize([none, lean])
    assert [row.method for row in rows] == ["none", "leantta"]
    first, second = rows
    assert first.corrupted is not None
    assert first.corrupted.mean == 0.5
    assert first.corrupted.spread == wilson(200, 400).half_width
    assert first.worst is not None
    assert first.worst.spread == wilson(100, 200).half_width  # two of the four domains
    assert (first.clean, first.baseline, first.difference) == (None, None, None)
    assert second.baseline == "none"
    assert second.difference == paired_difference(none, lean)
    # 40 of 400 gained, none lost: (40.5 - 0.5) / 402 = 9.95, half = 1.96 sqrt(41 - 40^2 / 402) / 402 = 2.97
    assert summary([none, lean]).text() == (
        "method   corrupted  severity 5              vs none\n"
        "none      50.0±4.9    50.0±6.9                    -\n"
        "leantta   60.0±4.8    60.0±6.7  +10.0 [+7.0, +12.9]\n"
        "Accuracy in %; ± is half the 95 % interval (one run).\n"
        "Differences in points with their 95 % interval, on the same inputs."
    )


def test_several_seeds_give_mean_and_deviation() -> None:
    before = [record_of("none", a, seed=i) for i, a in enumerate([0.50, 0.52, 0.54])]
    after = [record_of("leantta", a, seed=i) for i, a in enumerate([0.60, 0.60, 0.63])]
    rows = summarize([*before, *after])
    assert len(rows) == 2
    assert rows[0].corrupted is not None
    assert rows[0].corrupted.mean == pytest.approx(0.52)
    assert rows[0].corrupted.spread == pytest.approx(0.02)
    assert rows[0].corrupted.runs == 3
    assert rows[1].difference == pytest.approx(mean_of([0.10, 0.08, 0.09]))
    text = summary([*before, *after]).text()
    assert "52.0±2.0" in text
    assert "standard deviation over 3 seeds" in text


def test_differences_need_the_same_seed() -> None:
    rows = summarize([record_of("none", 0.5, seed=0), record_of("leantta", 0.6, seed=1)])
    assert rows[1].baseline == "none"
    assert rows[1].difference is None
    assert "vs" not in summary([record_of("none", 0.5, seed=0), record_of("leantta", 0.6, seed=1)]).text()


def test_clean_runs_join_their_method() -> None:
    records = [
        record_of("none", 0.5),
        clean_of("none", 0.9),
        record_of("leantta", 0.6),
        clean_of("leantta", 0.88),
    ]
    rows = summarize(records)
    assert [(row.method, row.clean and row.clean.mean) for row in rows] == [("none", 0.9), ("leantta", 0.88)]
    assert summary(records).header == ("method", "clean", "corrupted", "severity 5", "vs none")


def test_clean_runs_alone_are_compared_on_clean_inputs() -> None:
    records = [clean_of("none", 0.9), clean_of("leantta", 0.88)]
    rows = summarize(records)
    assert rows[1].difference is not None
    assert rows[1].difference.value == pytest.approx(-0.02)
    assert summary(records).header == ("method", "clean", "vs none")


def test_a_stream_with_clean_and_corrupted_inputs_is_split() -> None:
    mixed = (Domain("clean", 0), Domain("fog", 5))
    (row,) = summarize([record_of("none", 0.5, domains=mixed)])
    assert row.clean is not None
    assert row.corrupted is not None
    assert row.clean.spread == row.corrupted.spread == wilson(100, 200).half_width


def test_models_and_streams_are_compared_apart() -> None:
    records = [
        record_of("none", 0.5),
        record_of("leantta", 0.6),
        record_of("none", 0.3, model="mobilenet"),
        record_of("leantta", 0.5, model="mobilenet"),
        record_of("leantta", 0.7, stream="gradual"),
    ]
    table = summary(records)
    assert table.header[:3] == ("model", "stream", "method")
    differences = [row.difference and round(row.difference.value, 2) for row in summarize(records)]
    assert differences == [None, 0.1, None, 0.2, None]


def test_settings_that_differ_are_named() -> None:
    records = [
        record_of("none", 0.5),
        record_of("leantta", 0.6, method_settings={"tau": 0.9, "layers": 10}),
        record_of("leantta", 0.7, method_settings={"tau": 0.8, "layers": 10}),
        record_of(
            "leantta", 0.7, method_settings={"tau": 0.8, "layers": 10}, weights_sha256="0123456789abcdef"
        ),
    ]
    assert [row.method for row in summarize(records)] == [
        "none",
        "leantta tau=0.9",
        "leantta tau=0.8",
        "leantta weights_sha256=01234567.. tau=0.8",
    ]


def test_what_cannot_be_reported() -> None:
    with pytest.raises(RecordError, match="no records"):
        summarize([])
    with pytest.raises(RecordError, match=r"resnet18 none on abrupt, seed 0 is not finished: 400 of 400"):
        summarize([record_of("none", 0.5, finished=None)])
    with pytest.raises(RecordError, match="given twice"):
        summarize([record_of("none", 0.5), record_of("none", 0.5)])
    with pytest.raises(RecordError, match="no corruption to report"):
        families([clean_of("none", 0.9)], MEMBERS)


def test_families() -> None:
    table = families([record_of("none", 0.5), clean_of("none", 1.0), record_of("leantta", 0.6)], MEMBERS)
    assert table.header == ("corruption", "none", "leantta", "diff")
    assert table.rows == (
        ("noise", "50.0", "60.0", "+10.0"),
        ("  shot_noise", "50.0", "60.0", "+10.0"),
        ("weather", "50.0", "60.0", "+10.0"),
        ("  fog", "50.0", "60.0", "+10.0"),
        ("odd", "50.0", "60.0", "+10.0"),
        ("all", "50.0", "60.0", "+10.0"),
    )


def test_families_weigh_inputs_and_seeds() -> None:
    uneven = record_of("none", 0.5, count=8)
    uneven.predictions[uneven.domain == 1] = uneven.labels[
        uneven.domain == 1
    ]  # fog at severity 5: both right
    rows = {row[0].strip(): row[1] for row in families([uneven], MEMBERS).rows}
    assert (rows["fog"], rows["shot_noise"], rows["all"]) == ("75.0", "50.0", "62.5")
    seeds = families([record_of("none", a, seed=i) for i, a in enumerate([0.4, 0.6])], MEMBERS)
    assert seeds.rows[-1] == ("all", "50.0±14.1")
    assert "2 seeds" in seeds.notes[0]


def test_families_of_several_models() -> None:
    records = [record_of(method, 0.5, model=model) for model in ("a", "b") for method in ("none", "leantta")]
    assert families(records, MEMBERS).header == (
        "corruption",
        "a none",
        "a leantta",
        "diff",
        "b none",
        "b leantta",
        "diff",
    )
