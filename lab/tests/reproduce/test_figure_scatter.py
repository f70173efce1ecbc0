"""The scatter from known records: accuracy, time and memory of each method."""

from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.colors import to_hex

from leantta_lab.reproduce import figure_scatter as figure
from leantta_lab.reproduce.at_hand import checkpoint_sha256
from leantta_lab.reproduce.protocol import stream_run
from leantta_lab.reproduce.table_systems import SYSTEM_ROWS
from leantta_lab.reproduce.target import Setting
from reproduce.bench_records import write_made_up
from reproduce.figure_setting import axes_of, setting_in, words
from reproduce.made_up import write


@pytest.fixture
def setting(tmp_path: Path, sample: Path) -> Setting:
    return setting_in(tmp_path, sample)


def run_of(setting: Setting, method: str, variant: str) -> None:
    system = next(row for row in SYSTEM_ROWS if (row.method, row.variant) == (method, variant))
    run = stream_run(setting, "resnet18", "cifar10", "abrupt", figure.row_of(system), 0)
    right = 2 if method == "Tent" else 8
    write(run, setting, right, weights_sha256=checkpoint_sha256(run.model, run.dataset))


def test_each_line_has_a_run_and_a_row_of_a_benchmark(setting: Setting) -> None:
    names = [job.name for job in figure.jobs(setting)]
    assert len(names) == len(set(names)) == len(SYSTEM_ROWS) + 3
    assert "resnet18 cifar10 abrupt tent:paper batch 64 seed 0" in names
    assert "resnet18 cifar10 abrupt int8:half:paper batch 16 seed 0" in names
    assert {f"bench resnet18 batch {size}" for size in (1, 16, 64)} <= set(names)
    assert [spot.paper for spot in figure.spots(setting)][:6] == [76.3, 75.9, 63.4, 9.8, 43.7, 69.6]


def test_a_page_of_known_records(setting: Setting) -> None:
    setting = replace(setting, images={})  # made-up records are not of the images that are here
    write_made_up("resnet18", 1, setting, {"torch-fp32": 10.0, "torch-tent": 25.0, "ours-half": 3.0})
    write_made_up("resnet18", 16, setting, {"torch-eata": 160.0})
    for line in (("None", "1"), ("LeanTTA", "int8"), ("Tent", "1"), ("EATA", "16"), ("EATA", "64")):
        run_of(setting, *line)
    spots = {(spot.method, spot.variant): spot for spot in figure.spots(setting)}
    eata = spots["EATA", "16"]
    assert eata.accuracy is not None
    assert eata.accuracy.mean == pytest.approx(0.8)
    assert eata.time_ms == pytest.approx(10.0)
    assert eata.memory_mb == pytest.approx(4 + 0.1 * 16 + 2 * 0.1)
    page = figure.page(setting)
    assert "| None | 1 | 80.0±2.5 (76.3) | 10.00 | 4.0 |" in page.markdown()
    assert "| Tent | 1 | 20.0±2.5 (9.8) | 25.00 | 4.4 |" in page.markdown()
    assert "| CoTTA | 64 | - (58.8) | - | 37.2 |" in page.markdown()  # memory is known by the formula
    without_time = next(line for line in page.lacking if line.startswith("no time of "))
    assert without_time == "no time of Tent 64, EATA 64, CoTTA 64: not measured yet"
    [picture] = page.pictures
    shown = words(picture)
    assert {"None 1, 4 MB", "LeanTTA int8, 1 MB", "EATA 16, 6 MB", "no adaptation"} <= set(shown)
    assert not any(word.startswith(("Tent", "EATA 64")) for word in shown)  # collapsed, not timed
    [axes] = axes_of(picture)
    areas = {to_hex(circle.get_edgecolor()[0][:3]): circle.get_sizes()[0] for circle in axes.collections}  # type: ignore[attr-defined, index] # of a scatter
    assert areas[figure.COLOURS["EATA"]] / areas[figure.COLOURS["None"]] == pytest.approx(5.8 / 4, rel=0.05)


def test_labels_of_near_circles_do_not_cover_each_other() -> None:
    centres = [(100.0, 100.0), (108.0, 102.0), (104.0, 110.0), (390.0, 100.0)]
    labels = ["LeanTTA 1, 45 MB", "None 1, 45 MB", "EATA 64, 99 MB", "Tent 64, 100 MB"]
    offsets = figure.label_offsets(centres, [5.0, 6.0, 20.0, 5.0], labels)
    boxes = [
        ((x + dx, y + dy), (0.27 * figure.FONT * len(label), 0.7 * figure.FONT))
        for (x, y), (dx, dy), label in zip(centres, offsets, labels, strict=True)
    ]
    for i, one in enumerate(boxes):
        assert sum(figure._overlap(one, other) for other in boxes[:i]) == 0
        assert sum(figure._overlap(one, (centre, (5.0, 5.0))) for centre in centres) == 0


def test_without_records_nothing_is_drawn(setting: Setting) -> None:
    page = figure.page(setting)
    assert page.parts == ()
    assert [line.partition(" of ")[0] for line in page.lacking] == ["no accuracy", "no time"]
