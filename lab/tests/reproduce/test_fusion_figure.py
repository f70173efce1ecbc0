"""Fused, half-fused and unfused speeds from known records."""

from pathlib import Path

import pytest

from leantta_lab.reproduce.bench_jobs import bench_path
from leantta_lab.reproduce.fusion import FIGURE
from reproduce.bench_records import write_made_up
from reproduce.figure_setting import setting_in, words

TIMES = {"ours-none": 2.0, "ours-half": 2.2, "ours-all": 2.6, "torch-x86-none": 4.0, "torch-fp32": 9.0}


def test_a_page_shows_times_ratios_and_the_paper_s(tmp_path: Path, sample: Path) -> None:
    setting = setting_in(tmp_path, sample)
    assert [job.name for job in FIGURE.jobs(setting)] == [
        "bench resnet18 batch 1",
        "bench mobilenet_v2 batch 1",
    ]
    write_made_up("resnet18", 1, setting, TIMES)
    page = FIGURE.page(setting)
    assert "| ours | 2.00 | 2.20 | 2.60 | 1.10 | 1.30 |" in page.markdown()
    assert "| torch int8, x86 | 4.00 | 2.00 | 2.00 | 0.50 | 0.50 |" in page.markdown()
    assert "| paper: torch int8, FBGEMM | 1.82 | 4.84 | 8.81 | 2.66 | 4.84 |" in page.markdown()
    assert "float32 without adaptation: 9.00 ms here (torch), 10.09 ms in the paper" in page.markdown()
    assert page.lacking == ["mobilenet_v2: not measured yet"]
    assert [picture.name for picture in page.pictures] == ["speeds_resnet18"]
    assert {"ours", "torch int8, x86", "1.10x", "1.30x"} <= set(words(page.pictures[0]))


@pytest.mark.parametrize("own", [True, False])
def test_the_record_of_leantta_bench_stands_in_for_one_s_own(tmp_path: Path, sample: Path, own: bool) -> None:
    setting = setting_in(tmp_path, sample)
    write_made_up("mobilenet_v2", 1, setting, TIMES)
    bench_path("mobilenet_v2", 1, setting).rename(setting.records.parent / "bench_mobilenet_v2.json")
    if own:
        write_made_up("mobilenet_v2", 1, setting, {**TIMES, "ours-half": 2.4})
    page = FIGURE.page(setting)
    assert ("| ours | 2.00 | 2.40 |" in page.markdown()) == own
    said = "mobilenet_v2: not measured yet; shown is the record of `leantta bench` instead"
    assert (said in page.lacking) == (not own)
