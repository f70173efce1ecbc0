"""`leantta convert` with a folder of sound, and `leantta run` with what it makes."""

import json
from pathlib import Path

import numpy as np
import pytest

from leantta.models.named import build
from leantta.models.weights import save_weights
from leantta.runtime.container import read_container
from leantta.runtime.metadata import read_info
from leantta.runtime.verify import verify
from running import Run

soundfile = pytest.importorskip("soundfile", reason="needs the extra `audio`", exc_type=ImportError)

MODEL_FILE = """
import torch
from torch import nn

def build():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 4, 5, stride=4), nn.BatchNorm2d(4), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 1)
    )
"""


@pytest.fixture(scope="module")
def sounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sounds")
    (folder / "inner").mkdir()
    rng = np.random.default_rng(0)
    for number in range(20):
        wave = np.cumsum(rng.normal(size=16_000 + 1_000 * number)) / 400
        soundfile.write(folder / ("inner", ".")[number % 2] / f"{number}.wav", np.clip(wave, -1, 1), 16_000)
    return folder


@pytest.fixture(scope="module")
def own_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("models") / "ear.py"
    file.write_text(MODEL_FILE)
    return f"{file}:build"


@pytest.mark.parametrize("kind", ["tensor", "waveform"])
def test_a_model_of_ones_own_hears(run: Run, own_model: str, sounds: Path, kind: str) -> None:
    Path("names.txt").write_text("quiet\nloud\n")
    done = run(
        "convert", own_model, "--calibration", sounds, "--input", kind, "--classes", "names.txt",
        "--filling", "repeat", "--adapt", "all", "--gate", "calibrated", "-o", "ear.onnx",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert " of 20 clips, which gave the ranges, scores within" in done.stdout
    assert all(check.ok for check in verify("ear.onnx"))
    info = read_info(read_container("ear.onnx"))
    assert info.input.kind == ("frames" if kind == "tensor" else "waveform")
    assert info.input.sound is not None
    assert info.input.sound.filling == "repeat"
    done = run("run", "ear.onnx", sounds / "1.wav", sounds / "inner", "--json")
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == 11
    assert {line["label"] for line in found} <= {"quiet", "loud"}


def test_a_folder_without_sound(run: Run, own_model: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    words = (own_model, "--calibration", "empty", "--input", "waveform", "-o", "ear.onnx")
    done = run("convert", *words)
    assert done.returncode == 1
    assert (
        "error: no sound file in empty or its folders. Known endings: .flac, .mp3, .ogg, .wav" in done.stderr
    )
    assert not Path("ear.onnx").exists()


def test_images_are_no_sound(run: Run, own_model: str, sample: Path) -> None:
    words = ("--dataset", "cifar10", "--calibration", sample, "--input", "waveform", "-o", "ear.onnx")
    done = run("convert", own_model, *words)
    assert done.returncode == 1
    assert "a waveform as input needs a model for sound" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tensor", "waveform"])
def test_vggish_tells_birds(run: Run, sounds: Path, kind: str) -> None:
    save_weights(build("vggish"), "v.safetensors")
    done = run(
        "convert", "vggish", "--weights", "v.safetensors", "--calibration", sounds, "--input", kind,
        "--gate", "calibrated", "-o", "birds.onnx",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert all(check.ok for check in verify("birds.onnx"))
    done = run("run", "birds.onnx", sounds / "1.wav", "--json")
    assert json.loads(done.stdout)["label"] in ("no bird", "bird")
