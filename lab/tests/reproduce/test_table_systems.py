"""The table of systems from known records, and a benchmark for real as its job."""

from dataclasses import replace
from pathlib import Path

import pytest

from leantta.measure.bench import BenchSettings
from leantta.measure.record import write_bench
from leantta_lab.reproduce import bench_jobs, table_systems
from leantta_lab.reproduce.bench_jobs import SECONDS, bench_job, bench_path, bench_record, request_of
from leantta_lab.reproduce.paper_cells import PAPER_SYSTEMS
from leantta_lab.reproduce.target import Setting
from reproduce.bench_records import write_made_up
from reproduce.figure_setting import run_all, setting_in


@pytest.fixture
def setting(tmp_path: Path, sample: Path) -> Setting:
    return setting_in(tmp_path, sample)


def test_the_job_measures_the_rows_alone_and_once(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    few = BenchSettings(
        sessions=1, rounds=2, warm_up=0, settle=0, processes=0, throughput_batch=1, throughput_rounds=0
    )
    monkeypatch.setitem(bench_jobs.LARGER, "quick", few)
    monkeypatch.setattr(bench_jobs, "COTTA_FEW", "torch-tent")  # quicker, and there already
    monkeypatch.setitem(SECONDS["quick"], ("resnet18", 2), 1.0)
    job = bench_job("resnet18", 2, "quick")
    assert job.alone
    told = run_all([job], setting)
    assert told[-1] == (4, 4)  # 3 rows made, 1 session
    found = bench_record("resnet18", 2, setting)
    assert found is not None
    assert [row.name for row in found.rows] == ["torch-fp32", "torch-tent", "torch-eata"]
    assert [row.unavailable for row in found.rows] == [None] * 3
    assert found.settings["batch"] == 2
    assert found.settings["footprint"]["norms"] == 202_752
    monkeypatch.setitem(bench_jobs.LARGER, "quick", replace(few, rounds=3))
    assert not job.done(setting)


def test_only_the_record_of_the_same_request_is_done(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = bench_job("resnet18", 1, "quick")
    assert not job.done(setting)
    write_made_up("resnet18", 1, setting, {}, interrupted=True)
    assert not job.done(setting)
    write_made_up("resnet18", 1, setting, {})
    assert job.done(setting)
    found = bench_record("resnet18", 1, setting)
    assert found is not None
    write_bench(replace(found, rows=found.rows[1:]), bench_path("resnet18", 1, setting))
    assert not job.done(setting)
    write_bench(
        replace(found, settings={**found.settings, "weights_sha256": "other"}),
        bench_path("resnet18", 1, setting),
    )
    assert not job.done(setting)
    write_made_up("resnet18", 1, setting, {})
    monkeypatch.setitem(bench_jobs.SETTINGS, "quick", replace(bench_jobs.SETTINGS["quick"], rounds=17))
    assert not job.done(setting)


def cells(markdown: str, method: str, batch: str) -> dict[str, str]:
    lines = markdown.splitlines()
    header = next(line for line in lines if line.startswith("| method "))
    row = next(line for line in lines if line.startswith(f"| {method} | {batch} |"))
    names, values = ([cell.strip() for cell in line.split("|")[1:-1]] for line in (header, row))
    return dict(zip(names, values, strict=True))


def test_a_page_of_known_records(setting: Setting) -> None:
    write_made_up("resnet18", 1, setting, {"torch-fp32": 10.0, "torch-tent": 25.0, "ours-half": 1.0})
    write_made_up("resnet18", 16, setting, {"torch-tent": 80.0})
    page = table_systems.page(setting)
    assert "### resnet18" in page.markdown()
    assert "### vggish" not in page.markdown()
    assert cells(page.markdown(), "Tent", "1") == {
        "method": "Tent",
        "batch": "1",
        "ms per image": "25.0±17.7",
        "x None": "2.50",
        "peak MB": "250",
        "memory MB": "4.4",  # 4 + 0.1 + 3 * 0.1
        "paper: s": "0.319",
        "paper: x None": "2.82",
        "paper: J": "0.8",
        "paper: MB": "48",
    }
    assert cells(page.markdown(), "Tent", "16")["ms per image"] == "5.00±3.54"  # 80 ms for 16 images
    assert cells(page.markdown(), "Tent", "16")["memory MB"] == "5.9"
    assert cells(page.markdown(), "Tent", "64")["ms per image"] == "-"
    assert cells(page.markdown(), "Tent", "64")["memory MB"] == "10.7"  # known without a measurement
    assert cells(page.markdown(), "LeanTTA", "int8")["x None"] == "0.10"
    assert "CoTTA at batch 16: 4 views of an image instead of 32" in page.markdown()
    assert "Energy is not measurable here: no sensor." in page.markdown()
    assert "resnet18 at batch 64: not measured yet" in page.lacking


def test_energy_is_shown_where_it_was_measured(setting: Setting) -> None:
    write_made_up("resnet18", 1, setting, {})
    found = bench_record("resnet18", 1, setting)
    assert found is not None
    block = {"calls": 10, "seconds": 1.0, "joules": 0.5}
    rows = tuple(replace(row, energy=[block]) if row.name == "torch-tent" else row for row in found.rows)
    energy = {"meter": "a meter", "idle_watts": [0.1], "unmeasurable": None}
    write_bench(replace(found, rows=rows, energy=energy), bench_path("resnet18", 1, setting))
    page = table_systems.page(setting)
    assert cells(page.markdown(), "Tent", "1")["mJ per image"] == "40.0"  # (0.5 - 0.1) J for 10 calls
    assert cells(page.markdown(), "EATA", "1")["mJ per image"] == "-"
    assert "mJ: by a meter" in page.markdown()


def test_one_call_has_no_spread(setting: Setting) -> None:
    write_made_up("resnet18", 1, setting, {})
    found = bench_record("resnet18", 1, setting)
    assert found is not None
    rows = tuple(replace(row, latency_ms=[row.latency_ms[0][:1]]) for row in found.rows)
    write_bench(replace(found, rows=rows), bench_path("resnet18", 1, setting))
    assert cells(table_systems.page(setting).markdown(), "Tent", "1")["ms per image"] == "1.00"


def test_a_row_that_cannot_run_is_named(setting: Setting) -> None:
    write_made_up("resnet18", 1, setting, {})
    found = bench_record("resnet18", 1, setting)
    assert found is not None
    gone = {"latency_ms": [], "unavailable": "it needs scipy"}
    rows = tuple(replace(row, **gone) if row.name == "torch-eata" else row for row in found.rows)  # type: ignore[arg-type]
    write_bench(replace(found, rows=rows), bench_path("resnet18", 1, setting))
    page = table_systems.page(setting)
    assert "resnet18, torch-eata: it needs scipy" in page.lacking
    assert cells(page.markdown(), "EATA", "1")["ms per image"] == "-"


@pytest.mark.parametrize("model", PAPER_SYSTEMS)
def test_every_line_has_a_cell_of_the_paper(model: str) -> None:
    assert set(PAPER_SYSTEMS[model]) == {(row.method, row.variant) for row in table_systems.SYSTEM_ROWS}
    for scale in ("quick", "full"):
        rows = {name for batch in (1, 16, 64) for name in request_of(model, batch, scale).rows}  # type: ignore[arg-type]
        missing = [row for row in table_systems.SYSTEM_ROWS if not rows & {*row.rows, *_globs(row.rows)}]
        assert missing == []


def _globs(names: tuple[str, ...]) -> set[str]:
    return {"ours-*"} if any(name.startswith("ours-") for name in names) else set()


def test_what_the_paper_timed_is_timed() -> None:
    for model, paper in PAPER_SYSTEMS.items():
        timed = {
            (1 if variant == "int8" else int(variant)) for (_, variant), cell in paper.items() if cell.seconds
        }
        assert {batch for name, batch in SECONDS["quick"] if name == model} == timed
