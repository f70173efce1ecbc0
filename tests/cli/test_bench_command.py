"""`leantta bench` as a user meets it: files, rows, records, errors."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Done, Run
from leantta.measure.record import read_bench, write_bench
from leantta.measure.rows import ROWS
from leantta.progress import Bar
from measure.foreign import foreign
from measure.records import fused, record
from runtime.artifacts import artifact

FEW = ("--rounds", 3, "--sessions", 2, "--processes", 1)

WITHOUT_TORCH = (
    "import sys\n"
    "for name in ('torch', 'onnx', 'openvino', 'scipy', 'PIL'): sys.modules[name] = None\n"
    "from leantta.cli.main import main\n"
    "main()"
)


def program(*words: object, code: str = "from leantta.cli.main import main; main()") -> Done:
    """Run the command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True, check=False
    )
    return Done(done.returncode, done.stdout, done.stderr)


def failed(done: Done) -> str:
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]


def test_files_of_anyone_are_compared_with_numpy_and_onnxruntime_alone(tmp_path: Path) -> None:
    files = [artifact(tmp_path / "ours.onnx"), foreign(tmp_path / "theirs.onnx")]
    output = tmp_path / "out" / "bench.json"
    done = program("bench", *files, *FEW, "-o", output, code=WITHOUT_TORCH)
    assert done.returncode == 0, done.stderr
    header, ours, theirs, *_ = done.stdout.splitlines()
    assert header.split()[:3] == ["row", "median", "ms"]
    assert (ours.split()[0], theirs.split()[0]) == ("ours.onnx", "theirs.onnx")
    assert "1.000 [1.000, 1.000]" in ours
    assert "latency  [########################] 2/2" in done.stderr
    found = read_bench(output)
    assert found.base == "ours.onnx"
    assert [row.engine for row in found.rows] == ["onnxruntime", "plain"]
    assert all(len(row.latency_ms) == 2 and len(row.processes) == 1 for row in found.rows)
    assert found.versions.keys() >= {"numpy", "onnxruntime"}


def test_without_torch_a_model_says_what_brings_it_and_files_still_run(tmp_path: Path) -> None:
    line = failed(program("bench", "resnet18", code=WITHOUT_TORCH))
    assert "nothing can be measured here" in line
    assert "pip install 'leantta[convert]'" in line
    done = program("bench", "resnet18", artifact(tmp_path / "a.onnx"), *FEW, code=WITHOUT_TORCH)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].startswith("a.onnx")
    assert "ours-none: not available: this needs the package 'torch'" in done.stdout


def test_engines_side_by_side_and_the_record_shown_again(run: Run, tmp_path: Path) -> None:
    ours = artifact(tmp_path / "a.onnx", inlined=True)
    done = run(
        "bench", ours, "--engine", "onnxruntime,openvino", *FEW, "-o", "b.json", "--base", "a.onnx openvino"
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split("  ")[0] for line in done.stdout.splitlines()[1:3]]
    assert rows == ["a.onnx onnxruntime", "a.onnx openvino"]
    assert "ratio: to a.onnx openvino" in done.stdout
    again = run("bench", "--show", "b.json")
    assert again.stdout == done.stdout
    assert run("bench", "--show", "b.json", "--markdown").stdout.startswith("| row | median ms |")
    as_json = json.loads(run("bench", "--show", "b.json", "--json").stdout)
    assert [row["name"] for row in as_json["rows"]] == rows
    assert as_json["rows"][0]["calls"] == 6
    assert failed(run("bench", "--show", "b.json", "--plot", "x.svg")).startswith(
        "error: the record has no rows"
    )


MODEL_FILE = """
import torch
from torch import nn

def build():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10)
    )
"""


def test_a_model_of_ones_own_with_rows_of_every_kind(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MODEL_FILE)
    rows = "ours-none,ours-all*,onnxruntime-int8,openvino-all,torch-fp32,torch-x86-all"
    done = run(
        *("bench", "mine.py:build", "--shape", "3,16,16", "--rows", rows, "--rounds", 2, "--sessions", 1),
        *("--processes", 0, "--keep", "kept", "--output", "b.json", "--plot", "fusion.svg"),
    )
    assert done.returncode == 0, done.stderr
    found = read_bench(Path("b.json"))
    names = ["ours-none", "ours-all", "ours-all-portable", "onnxruntime-int8", "openvino-all", "torch-fp32"]
    assert [row.name for row in found.rows] == [*names, "torch-x86-all"]
    assert {row.name: row.unavailable for row in found.rows if row.unavailable} == {}
    for row in found.rows:
        assert row.agreement is not None
        assert row.agreement >= 0.6, row.name  # random weights, close scores
        assert row.analytic_bytes == found.settings["parameters"] * (4 if row.name == "torch-fp32" else 1)
    assert (found.model, found.settings["inputs"]) == ("mine.py:build", "noise")
    assert "Weights: as mine.py:build returns them." in done.stdout
    assert "<title>ours-all" in Path("fusion.svg").read_text()
    assert {path.suffix for path in Path("kept").iterdir()} == {".onnx", ".pt"}


def test_the_rows_are_listed(run: Run) -> None:
    done = run("bench", "--list")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == list(ROWS)
    help_text = run("bench", "--help").stdout
    assert "\n    leantta bench mine.onnx theirs.onnx --engine onnxruntime,openvino\n" in help_text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("resnet18", "--rows", "tent"), "no row is called 'tent'; the rows are ours-none"),
        (("gone.onnx",), "no model file at gone.onnx"),
        (("resnet19",), "no model is named 'resnet19'"),
        (("mobilenet_v2", "--weights", "gone.safetensors"), "no checkpoint at gone.safetensors"),
        (("--show", "gone.json"), "no record at gone.json"),
        (("resnet18", "--threads", "0"), "threads must be at least 1, got 0"),
        (("resnet18", "--rounds", "0"), "rounds must be at least 1, got 0"),
    ],
)
def test_errors_are_one_line(run: Run, words: tuple[str, ...], message: str) -> None:
    assert message in failed(run("bench", *words))


def test_wrong_usage(run: Run) -> None:
    done = run("bench", "resnet18", "mobilenet_v2")
    assert done.returncode == 2
    assert "one model at a time; resnet18 and mobilenet_v2 were given" in done.stderr
    assert run("bench", "a.onnx", "--shape", "big").returncode == 2


def test_a_plot_of_a_record(run: Run) -> None:
    write_bench(record(*fused({"none": 1.0, "half": 2.0, "all": 3.0}, "ours")), Path("b.json"))
    done = run("bench", "--show", "b.json", "--plot", "plots/fusion.svg")
    assert done.returncode == 0, done.stderr
    assert Path("plots/fusion.svg").read_text().count("<rect") == 1 + 3 + 6  # ground, legend, bars


class Interrupting(Bar):
    """A progress bar beside which somebody presses Ctrl-C in the second session."""

    def __call__(self, done: int, total: int) -> None:
        if (self.label, done) == ("latency", 1):
            raise KeyboardInterrupt
        super().__call__(done, total)


def test_an_interrupt_shows_what_was_measured_and_keeps_the_old_record(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leantta.cli.bench.Bar", Interrupting)
    output = tmp_path / "bench.json"
    output.write_text("the record of last week")
    done = run("bench", artifact(tmp_path / "a.onnx"), *FEW, "--output", output)
    assert done.returncode == 130
    assert done.stdout.splitlines()[1].startswith("a.onnx")
    assert "INTERRUPTED: what was measured until then." in done.stdout
    assert output.read_text() == "the record of last week"
    kept = read_bench(tmp_path / "bench.interrupted.json")
    assert kept.interrupted
    assert [len(row.latency_ms) for row in kept.rows] == [1]
