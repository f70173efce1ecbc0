"""`leantta run` on motion windows: every kind of file, and every mistake its message."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import leantta
from leantta.export.convert import convert
from leantta.modalities.datasets import dataset_info
from leantta.models.named import build
from motion_files import made_up
from running import Run

INFO = dataset_info("har")
WINDOWS = made_up(np.arange(20) % 6)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("run") / "motion.onnx"
    convert(
        build("motion_cnn"),
        WINDOWS,
        path,
        gate="calibrated",
        mean=INFO.mean,
        std=INFO.std,
        classes=INFO.classes,
    )
    return path


def test_files_of_every_kind_are_what_the_session_says(run: Run, model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "windows"
    folder.mkdir()
    np.save(folder / "a.npy", WINDOWS[0])
    np.savetxt(folder / "b.csv", WINDOWS[1].T, delimiter=",")
    np.savez(folder / "c.npz", x=WINDOWS[2:4])
    done = run("run", model, folder, "--json", "--top", 2, "--threads", 1)
    assert (done.returncode, done.stderr) == (0, "")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [Path(line["path"]).name for line in found] == ["a.npy", "b.csv", "c.npz[0]", "c.npz[1]"]
    with leantta.load(model, threads=1) as session:
        for line, window in zip(found, WINDOWS, strict=False):
            wanted = session.predict_one(window)
            assert line["label"] == wanted.label
            assert line["probability"] == pytest.approx(wanted.probability, abs=1e-4)
            assert line["shift"] == pytest.approx(wanted.shift, abs=1e-3)


def test_a_bad_file_is_reported_and_the_others_run(run: Run, model: Path, tmp_path: Path) -> None:
    broken = WINDOWS[0].copy()
    broken[2, 3] = np.nan
    np.save(tmp_path / "a.npy", broken)
    np.save(tmp_path / "b.npy", WINDOWS[0][:, :64])
    np.save(tmp_path / "c.npy", WINDOWS[0])
    (tmp_path / "d.wav").write_text("sound")
    done = run("run", model, "a.npy", "b.npy", "c.npy", "d.wav", "absent.npz")
    assert done.returncode == 1
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["path", "c.npy"]
    for words in (
        "window 0 of a.npy has NaN or infinite values",
        "b.npy must hold windows (n, 9, 128)",
        "d.wav does not end like a file of windows. Known endings: .csv, .npy, .npz",
        "no file or folder of motion windows at absent.npz",
    ):
        assert words in done.stderr


def test_a_folder_runs_although_a_file_in_it_is_bad(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "windows").mkdir()
    (tmp_path / "windows" / "a.csv").write_text("1,2\n")
    np.save(tmp_path / "windows" / "b.npy", WINDOWS[0])
    done = run("run", model, "windows")
    assert done.returncode == 1
    assert "a.csv must hold windows" in done.stderr
    assert "b.npy" in done.stdout
