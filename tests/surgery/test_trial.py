"""A model that does not run on the example: the line says on what it would, and nothing is written."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn

from leantta.errors import UnsupportedModelError
from leantta.surgery.plan import plan
from running import Run

SOURCE = """
from torch import nn

class Net(nn.Module):
    def __init__(self, one=False, flat=False):
        super().__init__()
        self.conv, self.bn, self.fc = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Linear(4 if one else 3600, 5)
        self.conv2, self.bn2 = nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4)
        self.one, self.flat = one, flat

    def forward(self, x):
        x = self.bn2(self.conv2(self.bn(self.conv(x)).relu())).relu()
        if self.flat:
            return x.view(1, 4, -1).mean(2)
        return self.fc(x.mean((2, 3)).view(1, -1) if self.one else x.flatten(1))

def one_at_a_time():
    return Net(one=True)

def one_size():
    return Net()

def silently_one():
    return Net(flat=True)
"""


class OneSize(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 2, 1), nn.BatchNorm2d(2)
        self.fc = nn.Linear(2 * size * size, 3)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.fc(self.bn(self.conv(x)).flatten(1))
        return scores


@pytest.mark.parametrize("size", [32, 96, 299])
def test_the_size_that_a_model_runs_at_is_found(size: int) -> None:
    with pytest.raises(UnsupportedModelError, match=f"It runs on images of {size} x {size}: "):
        plan(OneSize(size), torch.zeros(2, 3, 20, 20))


def test_where_no_size_helps_the_example_is_to_be_another() -> None:
    for model in (OneSize(33), nn.Sequential(nn.Conv2d(7, 2, 1), nn.BatchNorm2d(2))):
        with pytest.raises(UnsupportedModelError, match="Pass an example like the images it was trained on"):
            plan(model, torch.zeros(2, 3, 20, 20))


def test_inputs_that_are_no_images_are_not_guessed() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bn = nn.BatchNorm1d(2)

        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return torch.cat([self.bn(x), y.nothing], 1)  # type: ignore[attr-defined] # this is the fault

    with pytest.raises(UnsupportedModelError, match="Pass an example"):
        plan(Two(), (torch.zeros(2, 2), torch.zeros(2, 2)))


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("one_at_a_time", "It runs on one input at a time, and a batch is needed"),
        ("one_size", "It runs on images of 32 x 32: convert with --size 32,32"),
        ("silently_one", "batch"),
    ],
)
def test_converting_says_it_in_one_line_and_writes_nothing(
    tmp_path: Path, run: Run, function: str, words: str
) -> None:
    (tmp_path / "net.py").write_text(SOURCE)
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((24, 3, 40, 40), np.float32))
    done = run("convert", f"net.py:{function}", "--calibration", "x.npy", "--gate", "paper", "-o", "net.onnx")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("error: ")
    assert words in last
    assert not list(tmp_path.glob("*.onnx*"))


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("one_at_a_time", "It runs on one input at a time, and a batch is needed"),
        ("one_size", "It runs on images of 32 x 32: convert with --size 32,32, evaluate with --resize 32x32"),
    ],
)
def test_evaluating_says_the_same(tmp_path: Path, run: Run, function: str, words: str) -> None:
    (tmp_path / "net.py").write_text(SOURCE)
    for place in range(4):
        Image.fromarray(np.full((40, 40, 3), place, np.uint8)).save(tmp_path / f"{place}.png")
    done = run("eval", f"net.py:{function}", "--images", ".", "--method", "none")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("error: the model does not run on a batch (2, 3, 40, 40): ")
    assert words in last
    assert not (tmp_path / "results").exists()


def test_inspecting_at_the_usual_size_says_the_right_one(tmp_path: Path, run: Run) -> None:
    (tmp_path / "net.py").write_text(SOURCE)
    done = run("inspect", "net.py:one_size")
    assert done.returncode == 1
    assert "inspect with --input 3,32,32" in done.stderr
    assert run("inspect", "net.py:one_size", "--input", "3,32,32").returncode == 0
