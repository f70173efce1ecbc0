"""What a conversion never damages: the model it is given, and the file that was there."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from export.models import GOOD, Files, pixels, small
from leantta.export.convert import convert
from leantta.runtime.verify import verify


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("files"))


def test_the_model_given_is_as_it_was_and_every_stage_is_told(tmp_path: Path) -> None:
    model = small().train()
    model.bn2.eval()  # a mixture of modes, as half-frozen models have
    before = {key: value.clone() for key, value in model.state_dict().items()}
    modes = {name: module.training for name, module in model.named_modules()}
    parameters = {name: id(value) for name, value in model.named_parameters()}
    images = pixels(40)
    kept = images.copy()
    seen: dict[str, list[tuple[int, int]]] = {}

    def progress(stage: str) -> Any:
        return lambda *done: seen.setdefault(stage, []).append(done)

    convert(model, images, tmp_path / "x.onnx", **GOOD, layers=1, gate="calibrated", progress=progress)
    after = model.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[key], after[key]) for key in before)
    assert modes == {name: module.training for name, module in model.named_modules()}
    assert parameters == {name: id(value) for name, value in model.named_parameters()}
    assert not any(value.grad is not None for value in model.parameters())
    np.testing.assert_array_equal(images, kept)
    assert list(seen) == ["gate", "ceiling", "trace", "calibrate", "shift", "compare"]
    assert all(done[-1][0] == done[-1][1] for done in seen.values())


KILLED = """
import signal, os, sys
from pathlib import Path
import leantta.files
with leantta.files.replacing(Path(sys.argv[1])) as part:
    with part.open("wb") as file:
        file.write(b"half")
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("before", [None, b"the one before"])
def test_killed_while_writing_leaves_the_file_before(before: bytes | None, tmp_path: Path) -> None:
    target = tmp_path / "x.onnx"
    if before is not None:
        target.write_bytes(before)
    done = subprocess.run([sys.executable, "-c", KILLED, target])
    assert done.returncode == -signal.SIGKILL
    assert (target.read_bytes() if target.exists() else None) == before
    assert all(path.name.endswith(".part") for path in tmp_path.iterdir() if path != target)


CONVERTING = """
import sys
import time
sys.path.insert(0, sys.argv[2])
from export.models import MEAN, STD, pixels, small
from leantta.export.convert import convert
def progress(stage):
    print(stage, flush=True)
    return lambda done, total: None
model, images = small(), pixels()
print("ready", flush=True)
convert(model, images, sys.argv[1], mean=MEAN, std=STD, layers="all", gate="calibrated",
    progress=progress)
print("done", flush=True)
"""
MOMENTS = [
    ("ready", 0.0),
    ("trace", 0.0),
    ("trace", 0.5),
    ("calibrate", 0.0),
    ("shift", 0.0),
    ("shift", 0.05),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "moment", [*MOMENTS, ("shift", 0.1), ("shift", 0.15), ("shift", 0.2), ("done", 0.0)], ids=str
)
def test_killed_at_any_moment_leaves_a_whole_file_or_the_one_before(
    moment: tuple[str, float], tmp_path: Path, files: Files
) -> None:
    target = tmp_path / "x.onnx"
    old = files(precision="fp32").path.read_bytes()
    target.write_bytes(old)
    stage, delay = moment
    tests = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-c", CONVERTING, str(target), str(tests)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip() == stage:
                break
        time.sleep(delay)
        os.kill(process.pid, signal.SIGKILL)
    left = target.read_bytes()
    if left != old:
        assert all(check.ok for check in verify(target))
    others = [path.name for path in tmp_path.iterdir() if path != target]
    assert all(name.startswith(".x.onnx.") and name.endswith(".part") for name in others)
    if stage in ("ready", "trace", "calibrate"):
        assert left == old
