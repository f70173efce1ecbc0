"""`leantta train`, killed at random moments: the same command goes on, and ends in the same weights."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from leantta.files import sha256_of
from motion_files import write_har

KILLS = 8
EVERY_STEP = """
from leantta_lab.training import loop
loop.SAVE_EVERY = 0.0
from leantta.cli.main import main
main()
"""
"""The command line, with a checkpoint after each step instead of each minute."""

pytestmark = pytest.mark.slow


def words(folder: Path) -> list[str]:
    asked = ("train", "motion_cnn", "--images", folder / "har.npz", "--threads", 1, "--epochs", 60)
    more = ("--batch-size", 16, "--average", 0.9, "-o", folder / "out" / "motion.safetensors")
    return [sys.executable, "-c", EVERY_STEP, *map(str, asked + more)]


def saved_at(position: Path) -> int:
    return position.stat().st_mtime_ns if position.exists() else 0


def test_a_killed_training_ends_in_the_same_weights(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
        write_har(folder / "har.npz")
    subprocess.run(words(whole), check=True, capture_output=True)
    dice, times = random.Random(0), 0
    position = killed / "out" / "motion.safetensors.training"
    for _ in range(KILLS):
        before = saved_at(position)
        with subprocess.Popen(words(killed), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
            while run.poll() is None and saved_at(position) == before:
                time.sleep(0.01)
            time.sleep(dice.uniform(0, 0.3))
            run.send_signal(signal.SIGKILL)
        times += run.returncode == -signal.SIGKILL
    assert times == KILLS, "it was killed while it trained, each time"
    subprocess.run(words(killed), check=True, capture_output=True)
    made = [folder / "out" / "motion.safetensors" for folder in (whole, killed)]
    assert sha256_of(made[0]) == sha256_of(made[1])
    assert sorted(path.name for path in made[1].parent.iterdir()) == ["motion.md", "motion.safetensors"]
