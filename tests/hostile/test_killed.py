"""`leantta corrupt` and `leantta eval`, killed at any moment: the same command then does what is missing.

Conversion, reproduction, training, scans and the loop of evaluations have tests of their own.
"""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import leantta
from leantta.evaluate.record import read_record

KILLS = 12
SAMPLE = Path(leantta.__file__).parent / "samples" / "sample.onnx"

pytestmark = pytest.mark.slow


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "leantta", *map(str, words)]


def killed_often(words: list[str], folder: Path) -> int:
    """Run the command until it ends by itself, killed at random moments before; how often it was."""
    random_ = random.Random(0)
    started = time.monotonic()
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    whole_seconds = time.monotonic() - started
    times = 0
    for _ in range(KILLS):
        with subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
            time.sleep(random_.uniform(0.1, 0.7) * whole_seconds)
            run.send_signal(signal.SIGKILL)
        times += run.returncode == -signal.SIGKILL
        for path in folder.glob("out/**/*.png"):  # what is there is whole
            Image.open(path).load()
        take_some_away(folder)
    return times


def take_some_away(folder: Path) -> None:
    """Take some of what was made away, so that the next run has something to do."""
    made = sorted(folder.glob("out/**/*.png")) + sorted(folder.glob("out/**/*.jsonl"))
    for path in made[::2]:
        path.unlink()


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    draw = np.random.default_rng(0)
    for number in range(24):
        folder = tmp_path / "photos" / ("cat", "frog", "ship", "truck")[number % 4]
        folder.mkdir(parents=True, exist_ok=True)
        picture = draw.integers(0, 256, (90, 90, 3), np.uint8)
        Image.fromarray(picture).save(folder / f"{number}.png")
    return tmp_path / "photos"


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_corrupt(photos: Path, tmp_path: Path) -> None:
    words = command("corrupt", photos, "-o", "out", "--corruption", "fog,gaussian_noise,contrast")
    assert killed_often(words, tmp_path) >= KILLS // 3
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    found = files_of(tmp_path / "out")
    parts = {name for name in found if Path(name).name.startswith(".") and name.endswith(".part")}
    assert len(parts) <= KILLS  # what a killed run was writing stays beside, under a name that nobody reads
    found = {name: data for name, data in found.items() if name not in parts}
    other = tmp_path / "undisturbed"
    other.mkdir()
    subprocess.run(words, cwd=other, check=True, capture_output=True)
    assert found == files_of(other / "out")


def test_eval_of_a_file(photos: Path, tmp_path: Path) -> None:
    words = command("eval", SAMPLE, "--images", photos, "--records", "out", "--corrupt")
    assert killed_often(words, tmp_path) >= KILLS // 3
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    records = sorted((tmp_path / "out").rglob("*.jsonl"))
    assert records
    other = tmp_path / "undisturbed"
    other.mkdir()
    subprocess.run(words, cwd=other, check=True, capture_output=True)
    for path in records:
        found, wanted = read_record(path), read_record(other / path.relative_to(tmp_path))
        np.testing.assert_array_equal(found.predictions, wanted.predictions)
        assert found.header.recipe == wanted.header.recipe
