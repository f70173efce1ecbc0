"""The packages as people get them: wheels in fresh environments."""

import json
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest

from leantta.data.imagefiles import write_png

CHECKOUT = Path(__file__).resolve().parents[1]
GOLDEN = CHECKOUT / "tests" / "runtime" / "golden" / "format1.onnx"
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")

OWN_MODEL = """
import torch
from torch import nn

def build():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4),
    )
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, *PIP, "wheel", "--no-deps", "-w", folder, CHECKOUT], check=True)
    (path,) = folder.glob("leantta-*.whl")
    return path


@pytest.mark.network
def test_the_wheel_holds_no_laboratory(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "leantta/runtime/session.py" in names
    assert not [name for name in names if "leantta_lab" in name or name.endswith((".safetensors", ".npz"))]


@pytest.mark.network
def test_a_wheel_without_extras_runs_a_file(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "board", with_pip=True)
    python = tmp_path / "board" / "bin" / "python"
    subprocess.run([python, *PIP, "install", wheel], check=True)
    listed = subprocess.run([python, "-m", "pip", "list", "--format=json"], check=True, capture_output=True)
    names = {entry["name"].lower() for entry in json.loads(listed.stdout)}
    assert {"leantta", "numpy", "onnxruntime", "click", "pillow"} <= names
    assert not names & {"torch", "onnx", "onnxscript", "scipy", "safetensors", "matplotlib", "leantta-lab"}
    stored = np.load(GOLDEN.with_suffix(".npz"))
    write_png(tmp_path / "some.png", stored["images"][0])

    def leantta(*words: str | Path) -> subprocess.CompletedProcess[str]:
        command = [tmp_path / "board" / "bin" / "leantta", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    assert leantta("--help").returncode == 0
    assert leantta("verify", GOLDEN).returncode == 0
    done = leantta("run", "--json", GOLDEN, "some.png")
    assert int(json.loads(done.stdout)["label"]) == int(stored["logits"][0].argmax())
    for words in (["reproduce", "all"], ["demo"], ["train", "resnet18"], ["inspect", "resnet18"]):
        refused = leantta(*words)
        assert refused.returncode == 1
        assert refused.stderr.count("\n") == 1
        assert "pip install" in refused.stderr


@pytest.mark.network
def test_a_wheel_with_convert_makes_a_file_of_an_own_model(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "desk", with_pip=True)
    python = tmp_path / "desk" / "bin" / "python"
    constraints = ("-c", str(CHECKOUT / "constraints.txt"))
    subprocess.run([python, *PIP, "install", *constraints, f"{wheel}[convert]"], check=True)
    (tmp_path / "my_model.py").write_text(OWN_MODEL)
    (tmp_path / "photos").mkdir()
    draw = np.random.default_rng(0)
    for number in range(24):
        coarse = draw.integers(0, 256, (5, 5, 3)).repeat(4, 0).repeat(4, 1)
        write_png(tmp_path / "photos" / f"{number}.png", coarse.astype(np.uint8))

    def leantta(*words: str | Path) -> str:
        command = [tmp_path / "desk" / "bin" / "leantta", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "adapt" in leantta("inspect", "my_model.py:build", "--input", "3,20,20")
    scale = ("--mean", "0.5,0.5,0.5", "--std", "0.25,0.25,0.25")
    leantta(
        "convert", "my_model.py:build", "--calibration", "photos", *scale, "--adapt", "all", "-o", "my.onnx"
    )
    leantta("verify", "my.onnx")
    assert "shift" in leantta("run", "my.onnx", "photos/0.png")
