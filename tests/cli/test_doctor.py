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


@pytest.mark.parametrize(
    "end", ["raise ImportError('of another processor')", "import os; os.kill(os.getpid(), 4)"]
)
def test_a_numpy_that_does_not_load_is_told_of_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, end: str
) -> None:
    (tmp_path / "numpy.py").write_text(end)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = run("doctor")
    assert done.returncode == 1
    numpy = next(line for line in done.stdout.splitlines() if line.startswith("numpy"))
    assert "FAILED" in numpy
    assert ("of another processor" if "raise" in end else "signal 4") in numpy
