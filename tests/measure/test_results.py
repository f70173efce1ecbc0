"""The table and the plot of a record whose figures are known."""

import json

import pytest

from leantta.measure.plot import latency_picture
from leantta.measure.results import bench_json, bench_table
from measure.pictures import bars_in
from measure.records import QUIET, record, row

PROCESS = {"import_ms": 100.0, "load_ms": 20.0, "first_ms": 5.0, "peak_rss_bytes": 80e6}


def two_rows() -> list[object]:
    return [
        row(
            "ours-none",
            [[1.0, 2.0], [1.0, 2.0]],
            throughput_ms=[[8.0], [8.0]],
            processes=[PROCESS, PROCESS],
            size_bytes=11_230_000,
            analytic_bytes=11_170_000,
            agreement=0.984,
        ),
        row("ours-all", [[1.5], [1.5]], every=2),
    ]


def test_the_cells_are_the_figures() -> None:
    table = bench_table(record(*two_rows(), row("gone", [], unavailable="no compiler")))  # type: ignore[arg-type]
    assert table.header == (
        *("row", "median ms", "p95 ms", "ratio [95 %]", "images/s", "peak MB", "start ms"),
        *("file MB", "paper MB", "same %"),
    )
    base, other = table.rows
    assert base == (
        *("ours-none", "1.500", "2.000", "1.000 [1.000, 1.000]", "2000", "80.0", "125"),
        *("11.23", "11.17", "98"),
    )
    assert other[:4] == ("ours-all", "1.500", "1.500", "1.500 [1.500, 1.500]")
    assert set(other[4:]) == {"-"}


def test_what_a_reader_must_know_is_below() -> None:
    noise = {**QUIET, "noisy": True, "reasons": ["other processes used 62% of the machine"]}
    rows = [*two_rows(), row("gone", [], unavailable="no compiler")]
    text = bench_table(record(*rows, noise=noise, notes=("Weights: random.",))).text()  # type: ignore[arg-type]
    for words in (
        "resnet18, batch 1, 1 thread on core 3, a processor, kernel native (scalar).",
        "ratio: to ours-none in the same round",
        "2 sessions of 2 rounds, slow rows in fewer of them",
        "Energy: not measurable here: no sensor.",
        "gone: not available: no compiler",
        "Weights: random.",
        "WARNING: the machine was noisy: other processes used 62% of the machine.",
    ):
        assert words in text, words
    assert "WARNING" not in bench_table(record(*two_rows())).text()  # type: ignore[arg-type]
    assert "| ours-none |" in bench_table(record(*two_rows())).markdown()  # type: ignore[arg-type]


def test_energy_has_a_column_where_it_was_measured() -> None:
    blocks = [{"calls": 100, "seconds": 2.0, "joules": 5.0}, {"calls": 100, "seconds": 2.0, "joules": 6.0}]
    energy = {"meter": "ina219", "idle_watts": [1.5, 1.5], "unmeasurable": None}
    table = bench_table(record(row("a", [[1.0]], energy=blocks), energy=energy))
    assert dict(zip(table.header, table.rows[0], strict=True))["mJ"] == "25.00"
    assert "mJ: energy of a call by ina219" in table.text()


def test_machines_get_the_same_figures() -> None:
    found = json.loads(json.dumps(bench_json(record(*two_rows(), row("gone", [], unavailable="why")))))  # type: ignore[arg-type]
    first, second = found["rows"]
    assert (first["median_ms"], first["start_ms"], second["calls"]) == (1.5, 125.0, 2)
    assert second["ratio"] == {"value": 1.5, "low": 1.5, "high": 1.5}
    assert found["unavailable"] == {"gone": "why"}
    assert (found["base"], found["settings"]["cores"]) == ("ours-none", [3])


def test_the_plot_of_files_has_a_bar_for_each_in_proportion() -> None:
    files = record(row("a.onnx", [[2.0, 2.0]]), row("b <x>.onnx", [[6.0, 6.0]]), model=None)
    drawn = latency_picture(files).drawn("svg").decode()
    bars = bars_in(drawn)
    assert bars["latency b <x>.onnx"] == pytest.approx(3 * bars["latency a.onnx"], rel=0.01)
    assert bars["ratio b <x>.onnx"] == pytest.approx(3 * bars["ratio a.onnx"], rel=0.01)
    for words in (
        "a.onnx",
        "b &lt;x&gt;.onnx",
        "6.00",
        "3.00x",
        "latency of a call in ms",
        "batch 1, 1 thread",
    ):
        assert f">{words}" in drawn, words
    assert latency_picture(files).drawn("svg").decode() == drawn
    assert latency_picture(files).drawn("pdf").startswith(b"%PDF")
    assert latency_picture(files).drawn("png").startswith(b"\x89PNG")
