"""`leantta doctor`: one screen, and an exit code that tells."""

import json
from pathlib import Path

import pytest

from running import Run


def test_a_fit_machine_in_one_screen(run: Run) -> None:
    done = run("doctor")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert len(lines) <= 24
    assert lines[-1] == "leantta run works on this machine."


def test_json_for_machines(run: Run) -> None:
    told = json.loads(run("doctor", "--json").stdout)
    assert told["fit"] is True
    assert {"Python", "onnxruntime", "kernel", "memory"} <= {each["name"] for each in told["findings"]}


def test_a_machine_that_cannot_run_files_exits_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    (tmp_path / "onnxruntime.py").write_text("import os\nos.abort()")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = run("doctor")
    assert done.returncode == 1
    assert "does not work on this machine" in done.stdout
    assert json.loads(run("doctor", "--json").stdout)["fit"] is False
