"""`leantta convert --gate filter` as a user meets it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from cli.own_model import BUILD
from leantta.gates.filter import FilterGate
from leantta.gates.paper import PaperGate
from leantta.runtime.container import read_container
from leantta.runtime.metadata import read_info
from running import Run


@pytest.fixture
def own_model(tmp_path: Path) -> str:
    (tmp_path / "my_model.py").write_text(BUILD)
    return "my_model.py:build"


def test_it_prints_what_the_fit_found(own_model: str, sample: Path, tmp_path: Path, run: Run) -> None:
    words = ["convert", own_model, "--dataset", "cifar10", "--calibration", sample, "--adapt", "all"]
    words += ["--gate", "filter", "--rank", "4", "--budget", "0.5", "--images", "60", "-o", "x.onnx"]
    command = [sys.executable, "-m", "leantta", *map(str, words)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split()[:2] == ["layer", "channels"]
    assert [line.split()[:2] for line in lines[1:3]] == [["1", "8"], ["4", "8"]]
    for part in (
        "shifted, of kinds left out",
        "accuracy, as the model judges it",
        "36 images to fit on, 15 to choose by, 9 to tell by",
    ):
        assert part in done.stdout
    assert "filter" in done.stderr  # how far it is
    assert not (tmp_path / "x.onnx.fitting").exists()
    info = read_info(read_container(tmp_path / "x.onnx"))
    assert info.gate in (FilterGate(rank=4, budget=0.5), None)  # None: nothing helps an untrained model
    assert info.calibration is not None
    assert {"expected_gain_known", "expected_gain_unknown", "expected_cost", "notes"} <= set(info.calibration)
    checked = run("verify", "x.onnx")
    assert checked.returncode == 0, checked.stdout
    tried = run("eval", "--model", "x.onnx", "--dataset", "cifar10", "--images", sample, "--per-cell", 1)
    assert tried.returncode == 0, tried.stderr
    [promise] = [line for line in tried.stdout.splitlines() if line.startswith("x.onnx, when it was fitted")]
    assert promise.count(" points") == 3  # known shifts, others and clean inputs


@pytest.mark.slow
def test_a_conversion_that_was_killed_goes_on(own_model: str, sample: Path, tmp_path: Path) -> None:
    words = ["convert", own_model, "--dataset", "cifar10", "--calibration", sample, "--adapt", "all"]
    words += ["--images", "200", "--budget", "0.5", "-o", "x.onnx"]
    command = [sys.executable, "-m", "leantta", *map(str, words)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    output, fitting = tmp_path / "x.onnx", tmp_path / "x.onnx.fitting"

    def convert() -> str:
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
        assert done.returncode == 0, done.stderr
        assert not fitting.exists()
        return done.stderr

    convert()
    wanted = output.read_bytes()
    output.unlink()
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL) as first:
        while not fitting.exists():
            assert first.poll() is None
            time.sleep(0.01)
        first.kill()
    assert not output.exists()
    assert "filter (goes on)" in convert()
    assert output.read_bytes() == wanted


def test_with_too_few_images_the_papers_gate_is_in_the_file(own_model: str, sample: Path, run: Run) -> None:
    given = ("--dataset", "cifar10", "--calibration", sample, "--adapt", "all")
    done = run("convert", own_model, *given, "--gate", "filter", "--images", 20, "-o", "x.onnx")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("the shift filter needs 24 different images")
    assert "2 adapt, 0 fused, 0 kept" in done.stdout
    info = read_info(read_container("x.onnx"))
    assert info.gate == PaperGate()
    assert info.calibration is not None
    notes = info.calibration["notes"]
    assert isinstance(notes, list)
    assert [note in done.stdout for note in notes] == [True]
    assert "expected_gain" not in info.calibration
    checked = run("verify", "x.onnx")
    assert checked.returncode == 0, checked.stdout


def test_field_images_are_read_as_calibration_images_are(
    own_model: str, sample: Path, tmp_path: Path, run: Run
) -> None:
    """A folder of photos, an .npy of bytes or a dataset: the same images give the same file."""
    image = pytest.importorskip("PIL.Image")
    dark = np.load(sample)["x_train"][60:100] // 3
    (tmp_path / "door").mkdir()
    for number, pixels in enumerate(dark):
        image.fromarray(pixels).save(tmp_path / "door" / f"{number:03}.png")
    np.save(tmp_path / "door.npy", dark)
    given = ("--dataset", "cifar10", "--calibration", sample, "--adapt", "all", "--images", 60, "--budget", 1)
    files = {}
    for name, more in {"none": (), "folder": ("--field", "door"), "array": ("--field", "door.npy")}.items():
        done = run("convert", own_model, *given, *more, "-o", f"{name}.onnx")
        assert done.returncode == 0, done.stderr
        files[name] = read_info(read_container(f"{name}.onnx"))
        assert ("field: 40 images, mean distance" in done.stdout) == (
            name != "none" and bool(files[name].layers)
        )
        assert run("verify", f"{name}.onnx").returncode == 0
    told = {name: info.calibration or {} for name, info in files.items()}
    assert "field_images" not in told["none"]
    assert told["folder"]["field_images"] == 40
    assert told["folder"] == told["array"]
    assert told["folder"] != told["none"]
    shown = run("inspect", "folder.onnx").stdout
    assert ["field", "images", "40"] in [line.split() for line in shown.splitlines()]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--field", "nowhere"), "nowhere"),
        (("--field", "few.npy"), "24 different field images"),
        (("--field", "small.npy"), "given as calibration inputs are"),
        (("--field", "good.npy", "--gate", "paper"), "the paper gate uses no field images"),
        (("--field", "good.npy", "--gate", "calibrated"), "the calibrated gate uses no field images"),
    ],
)
def test_field_images_that_cannot_be_used_are_one_line(
    words: tuple[str, ...], said: str, own_model: str, sample: Path, tmp_path: Path, run: Run
) -> None:
    images = np.load(sample)["x_train"]
    np.save(tmp_path / "few.npy", images[:20])
    np.save(tmp_path / "small.npy", images[:40, :16])
    np.save(tmp_path / "good.npy", images[:40])
    given = ("--dataset", "cifar10", "--calibration", sample, "--adapt", "all", "--images", 60)
    done = run("convert", own_model, *given, *words, "-o", "x.onnx")
    assert done.returncode == 1
    assert said in done.stderr.splitlines()[-1]
    assert not (tmp_path / "x.onnx").exists()
