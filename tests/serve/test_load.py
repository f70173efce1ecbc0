"""Under load for a long time: no error but 429, no growth, and what it reaches beside `predict` itself."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leantta
from running import Run
from serve.served import GOLDEN, Served, serving

CLIENT = Path(__file__).with_name("load.py")


def loaded(
    served: Served, model: str, shape: str, seconds: float, clients: int, batch: int
) -> dict[str, Any]:
    """What the client in a process of its own found."""
    words = ("--shape", shape, "--seconds", seconds, "--clients", clients, "--batch", batch)
    command = [sys.executable, CLIENT, served.port, model, *words]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_some_seconds_of_load(tmp_path: Path) -> None:
    settings = ("--threads", 1, "--queue", 8, "--max-batch", 8)
    with serving(tmp_path, GOLDEN / "format1.onnx", *settings) as served:
        found = loaded(served, "format1", "3,12,12", 2, 40, 1)
        assert set(found["codes"]) == {"200", "429"}  # more clients than the queue takes
        found = loaded(served, "format1", "3,12,12", 1, 4, 2)
        assert set(found["codes"]) == {"200"}
        assert found["lost"] == 0
        assert served.said() == ""


@pytest.mark.slow
def test_ten_minutes_of_load(
    run: Run, sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = run("convert", "resnet18", "--calibration", sample, "--gate", "paper", "-o", "model.onnx")
    assert done.returncode == 0, done.stderr
    model = tmp_path / "model.onnx"
    with serving(tmp_path, model, "--threads", 1, "--max-batch", 32) as served:
        loaded(served, "model", "3,32,32", 10, 64, 1)
        before = served.rss_bytes()
        rates = {}
        for batch, clients in ((32, 4), (1, 64)):
            found = loaded(served, "model", "3,32,32", 300, clients, batch)
            assert set(found["codes"]) <= {"200", "429"}
            assert found["lost"] == 0
            rates[batch] = found["answered"] / found["seconds"]
            with capsys.disabled():
                print(f"\n{clients} clients, {batch} at once: {rates[batch]:.0f} inputs/s, {found}")  # noqa: T201
        after = served.rss_bytes()
        alone = predicting(model, 20)
        with capsys.disabled():
            shown = ", ".join(f"{batch} at once {rate / alone:.2f}" for batch, rate in rates.items())
            print(f"predict {alone:.0f} inputs/s; of that {shown}; RSS {before} -> {after}")  # noqa: T201
        assert after - before < 10_000_000


def predicting(model: Path, seconds: float) -> float:
    """Inputs a second in this process, on one thread."""
    images = np.random.default_rng(0).random((32, 3, 32, 32), dtype=np.float32)
    with leantta.load(model, threads=1) as session:
        session.predict(images)
        count, started = 0, time.monotonic()
        while time.monotonic() - started < seconds:
            session.predict(images)
            count += len(images)
        return count / (time.monotonic() - started)
