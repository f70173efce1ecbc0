"""Tables made of made-up records: our values beside the paper's, and what lacks."""

from dataclasses import replace
from pathlib import Path

import pytest

from leantta.disturbances.corruptions.names import NAMES
from leantta.measure.record import write_bench
from leantta.streams.by_name import StreamOptions
from leantta_lab.reproduce import at_hand, fusion
from leantta_lab.reproduce.at_hand import checkpoint_sha256
from leantta_lab.reproduce.paper_tables import (
    REALISTIC,
    TABLE_ABRUPT_GRADUAL,
    TABLE_BATCHES,
    TABLE_CLEAN,
    TABLE_MOBILEVIT,
    TABLE_SEVERITY5,
    severity5_rows,
)
from leantta_lab.reproduce.protocol import LEAN, NONE, NONE_INT8, stream_run
from leantta_lab.reproduce.run_record import Run
from leantta_lab.reproduce.target import Page, Setting
from measure.records import record, row
from reproduce.made_up import cell_run, write


@pytest.fixture
def setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setting:
    """Without images, and with no weights but those of ResNet18 for CIFAR-10, whatever the checkout has."""
    known = {("resnet18", "cifar10"): at_hand.checkpoint("resnet18", "cifar10")}
    monkeypatch.setattr(at_hand, "checkpoint", lambda model, dataset: known.get((model, dataset)))
    return Setting(scale="quick", images={}, records=tmp_path / "records", work=tmp_path / "work")


def made_up(*args: object, right: int, setting: Setting) -> None:
    run = stream_run(setting, *args)  # type: ignore[arg-type]
    write(run, setting, right, weights_sha256=checkpoint_sha256(run.model, run.dataset))


def cells(page: Page, *starts: str) -> list[list[str]]:
    """The cells of the lines of all tables that begin so."""
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.markdown().splitlines()]
    return [line[len(starts) :] for line in lines if tuple(line[: len(starts)]) == starts]


def test_cells_show_ours_and_the_papers(setting: Setting) -> None:
    made_up("resnet18", "cifar10", "abrupt", NONE, 0, right=7, setting=setting)
    made_up("resnet18", "cifar10", "gradual", LEAN, 0, right=8, setting=setting)
    page = TABLE_ABRUPT_GRADUAL.page(setting)
    ten, hundred = cells(page, "None", "batch 1")
    assert ten == ["70.0±2.9 (76.3)", "no data (67.0)", "no data (76.3)", "no data (67.0)"]
    assert hundred[0] == "no data (51.4)"
    assert cells(page, "LeanTTA", "batch 1")[0][2] == "80.0±2.5 (79.1)"
    assert cells(page, "LeanTTA, calibrated gate", "batch 1")[0][0] == "no data"
    assert "half the 95 % interval" in page.markdown()
    assert "one random view of an input instead of 32" in page.markdown()
    assert [line.split(":")[0] for line in page.lacking] == ["no cifar10 images", "no cifar100 images"]
    assert cells(TABLE_BATCHES.page(setting), "None", "batch 1")[0][0] == "70.0±2.9 (76.3)"  # the same record


def test_several_seeds_have_a_deviation_and_missing_ones_are_counted(setting: Setting) -> None:
    full = replace(setting, scale="full")
    for seed, right in enumerate((6, 7, 8)):
        made_up("resnet18", "cifar10", "abrupt", NONE, seed, right=right, setting=full)
    page = TABLE_ABRUPT_GRADUAL.page(full)
    assert cells(page, "None", "batch 1")[0][0] == "70.0±10.0 [3 of 5 seeds] (76.3)"
    assert "standard deviation over 5 seeds" in page.markdown()
    assert "instead of 32" not in page.markdown()


def test_jobs_are_those_that_can_run(setting: Setting, sample: Path) -> None:
    assert TABLE_ABRUPT_GRADUAL.jobs(setting) == []
    here = replace(setting, images={"cifar10": sample})
    single, batches = TABLE_ABRUPT_GRADUAL.jobs(here), TABLE_BATCHES.jobs(here)
    assert len(single) == 2 * 17  # ResNet18 only
    shared = {job.name for job in single} & {job.name for job in batches}
    assert len(shared) == 2 * 7  # none and LeanTTA, whose batch size decides nothing
    assert len({job.name for job in single}) == len(single)
    page = TABLE_ABRUPT_GRADUAL.page(here)
    assert cells(page, "None", "batch 1")[0] == [
        "not run (76.3)",
        "no weights (67.0)",
        "not run (76.3)",
        "no weights (67.0)",
    ]
    assert page.lacking[0].startswith("no weights of mobilenet_v2 for cifar10: ")
    assert f"leantta train mobilenet_v2 --dataset cifar10 --images {sample};" in page.lacking[0]


def test_clean_images_are_counted_once_and_mobilevit_has_no_int8_file(
    setting: Setting, sample: Path, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(at_hand, "checkpoint", lambda *_: weights)
    full = replace(setting, scale="full", images={"cifar10": sample, "cifar100": sample})
    jobs = TABLE_CLEAN.jobs(full)
    assert len(jobs) == 4 * 10 + 6  # one seed: there are no more than 10,000 images
    run = Run(
        model="mobilevit_s",
        dataset="cifar10",
        method="leantta:sixteen:calibrated",
        stream="clean",
        options=StreamOptions(seed=0, images=1000),
        inputs=1000,
        batch_size=16,
    )
    write(run, setting, 9, weights_sha256=checkpoint_sha256(run.model, run.dataset))
    page = TABLE_CLEAN.page(setting)
    assert cells(page, "LeanTTA, calibrated gate", "batch 1")[0][-1] == "90.0±1.9"
    assert cells(page, "LeanTTA, calibrated gate", "int8")[0][-2:] == ["no data", "-"]


def test_severity_5_has_a_column_for_each_corruption_and_the_mean(setting: Setting) -> None:
    sha256 = checkpoint_sha256("resnet18", "cifar10")
    for i, name in enumerate(NAMES):
        write(cell_run(setting, name, NONE, 50), setting, 5 if i else 10, weights_sha256=sha256)
    page = TABLE_SEVERITY5.page(setting)
    blocks = cells(page, "None", "batch 1")
    assert [len(block) for block in blocks] == [5, 5, 5, 5]
    assert blocks[0][:2] == ["100.0±3.6 (13.9)", "50.0±13.4 (17.3)"]
    assert blocks[3][-1] == "52.6±3.2 (51.6)"
    assert cells(page, "RealisticTTA", "first 50")[0][0] == "no data (39.9)"
    assert "50 images of each corruption" in page.markdown()


def test_the_halves_of_realistic_tta_are_two_lines_of_one_run(setting: Setting, sample: Path) -> None:
    full = replace(setting, scale="full")
    realistic = cell_run(full, "fog", REALISTIC["full"][0], 1000)
    write(realistic, full, 6, weights_sha256=checkpoint_sha256("resnet18", "cifar10"))
    page = TABLE_SEVERITY5.page(full)
    assert cells(page, "RealisticTTA", "first 1,000")[1][4] == "60.0±3.0 [1 of 5 seeds] (65.7)"
    assert cells(page, "RealisticTTA", "second 1,000")[1][4] == "60.0±3.0 [1 of 5 seeds] (72.5)"
    jobs = TABLE_SEVERITY5.jobs(replace(full, images={"cifar10": sample}))
    assert len(jobs) == 5 * (len(severity5_rows("full")) - 1)
    assert len({job.name for job in jobs}) == len(jobs)


def test_fusion_has_times_of_a_benchmark_beside_accuracies(setting: Setting, tmp_path: Path) -> None:
    made_up("resnet18", "cifar10", "abrupt", NONE_INT8, 0, right=7, setting=setting)
    rows = [row("ours-none", [[2.0, 2.0]]), row("ours-half", [[3.0, 3.0]])]
    write_bench(record(*rows), tmp_path / "bench_resnet18.json")
    page = fusion.TABLE.page(setting)
    assert cells(page, "LeanTTA int8, all fused")[0][:2] == ["70.0±2.9", "2.00 (1.82)"]
    assert cells(page, "LeanTTA int8, half fused")[0] == [
        "no data",
        "3.00 (4.84)",
        "no data",
        "not measured (13.06)",
    ]
    assert "a processor" in page.markdown()


def test_mobilevit_says_that_its_weights_are_missing(setting: Setting, sample: Path) -> None:
    here = replace(setting, images={"cifar10": sample})
    page = TABLE_MOBILEVIT.page(here)
    assert cells(page, "LeanTTA", "first 16") == [["no weights (75.6)"]]
    assert "leantta train mobilevit_s" in page.lacking[0]
    assert TABLE_MOBILEVIT.jobs(here) == []
