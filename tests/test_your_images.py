"""What docs/your_images.md says is so: its commands run as pasted, its lists are read."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from leantta.data.collection.opening import open_collection
from running import Run

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "your_images.md").read_text(encoding="utf-8")
MODEL = """
import torch
from torch import nn

def build():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2)
    )
"""
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def photos(folder: Path, count: int) -> None:
    folder.mkdir(parents=True)
    for i in range(count):
        noise = np.random.default_rng(i).integers(0, 255, (20, 20, 3), np.uint8)
        Image.fromarray(noise).save(folder / f"{i:04d}.jpg")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with all that the page names, but for model files."""
    photos(tmp_path / "photos" / "cat", 25)
    photos(tmp_path / "photos" / "dog", 25)
    (tmp_path / "my_model.py").write_text(MODEL)
    (tmp_path / "my_metric.py").write_text(blocks("python")[0])
    return tmp_path


@pytest.mark.usefixtures("place")
def test_the_first_command_runs_as_pasted(run: Run) -> None:
    done = run(*COMMANDS[0].split()[1:], "--per-cell", "1")
    assert done.returncode == 0, done.stderr
    assert "Verdict" in done.stdout


@pytest.mark.slow
@pytest.mark.usefixtures("place")
def test_the_other_commands_run_as_pasted(run: Run) -> None:
    for name, layers in (("plain", "none"), ("adapting", "all"), ("mine_int8", "none")):
        done = run(
            *(
                "convert",
                "my_model.py:build",
                "--calibration",
                "photos",
                "--adapt",
                layers,
                "--gate",
                "paper",
            ),
            *("--mean", "0.5,0.5,0.5", "--std", "0.5,0.5,0.5", "-o", f"{name}.onnx"),
        )
        assert done.returncode == 0, done.stderr
    assert len(COMMANDS) == 4
    for command in COMMANDS[1:]:
        done = run(*command.split()[1:], "--per-cell", "1")
        assert done.returncode == 0, (command, done.stderr)
        assert "Verdict" in done.stdout, command


def test_the_list_of_the_page_is_read(tmp_path: Path) -> None:
    for name in ("day", "night"):
        photos(tmp_path / name, 2)
    (tmp_path / "list.csv").write_text(next(text for text in blocks("text") if text.startswith("path")))
    found = open_collection(tmp_path / "list.csv")
    assert (len(found), found.domains, found.classes) == (2, ("day", "night"), ("cat",))
    line = re.search(r'`(\{"path".*?\})`', PAGE)
    assert line
    (tmp_path / "list.jsonl").write_text(line[1])
    assert open_collection(tmp_path / "list.jsonl").keys == ("day/0001.jpg",)
