"""The package as a board gets it: a wheel without extras in a fresh environment."""

import json
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
import pytest

from leantta.data.imagefiles import write_png

CHECKOUT = Path(__file__).resolve().parents[1]
GOLDEN = CHECKOUT / "tests" / "runtime" / "golden" / "format1.onnx"


@pytest.mark.network
def test_a_wheel_without_extras_runs_a_file(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", tmp_path, CHECKOUT], check=True)
    (wheel,) = tmp_path.glob("leantta-*.whl")
    venv.create(tmp_path / "board", with_pip=True)
    python = tmp_path / "board" / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", wheel], check=True
    )
    listed = subprocess.run([python, "-m", "pip", "list", "--format=json"], check=True, capture_output=True)
    names = {entry["name"].lower() for entry in json.loads(listed.stdout)}
    assert {"leantta", "numpy", "onnxruntime"} <= names
    assert not names & {"torch", "onnx", "onnxscript", "pillow", "scipy", "safetensors"}
    stored = np.load(GOLDEN.with_suffix(".npz"))
    write_png(tmp_path / "some.png", stored["images"][0])
    leantta = tmp_path / "board" / "bin" / "leantta"
    subprocess.run([leantta, "verify", GOLDEN], check=True, cwd=tmp_path)
    done = subprocess.run(
        [leantta, "run", "--json", GOLDEN, "some.png"],
        check=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert int(json.loads(done.stdout)["label"]) == int(stored["logits"][0].argmax())
