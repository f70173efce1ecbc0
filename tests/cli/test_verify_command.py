"""`leantta verify`: the table, the JSON and the exit code."""

import json
from pathlib import Path

from running import Run
from runtime.artifacts import artifact


def test_a_good_file(run: Run, tmp_path: Path) -> None:
    model = artifact(tmp_path / "model.onnx")
    done = run("verify", model)
    assert (done.returncode, done.stderr) == (0, "")
    header, *rows = done.stdout.splitlines()
    assert header.split() == ["check", "result", "detail"]
    assert [row.split()[:2] for row in rows] == [
        [name, "ok"]
        for name in ("structure", "digest", "metadata", "functions", "engine", "self-test", "batch", "shift")
    ]


def test_a_bad_file(run: Run, tmp_path: Path) -> None:
    model = artifact(tmp_path / "model.onnx", mixes=True)
    done = run("verify", model, "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert (found["ok"], found["engine"], found["path"]) == (False, "onnxruntime", str(model))
    assert {check["name"]: check["ok"] for check in found["checks"]}["batch"] is False
    (tmp_path / "text.onnx").write_text("hello")
    done = run("verify", "text.onnx")
    assert done.returncode == 1
    assert done.stdout.splitlines()[1].split()[:2] == ["structure", "FAILED"]


def test_the_other_engine(run: Run, tmp_path: Path) -> None:
    assert run("verify", artifact(tmp_path / "a.onnx", inlined=True), "--engine", "openvino").returncode == 0
    done = run("verify", artifact(tmp_path / "a.onnx"), "--engine", "openvino")
    assert done.returncode == 1
    assert "convert with --portable" in done.stdout


def test_no_file(run: Run) -> None:
    done = run("verify", "gone.onnx")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: no model file at gone.onnx")
    assert "\n    leantta verify model.onnx\n" in run("verify", "--help").stdout
