"""`leantta bench` of networks, as a user meets it: rows, records, plots, errors."""

import subprocess
import sys
from pathlib import Path

import pytest

from leantta.measure.record import read_bench, write_bench
from leantta_lab.measure.rows import ROWS
from measure.pictures import bars_in
from measure.records import fused, record
from measure.records import row as one_row
from running import Done, Run
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


def test_without_torch_a_model_says_what_brings_it_and_files_still_run(tmp_path: Path) -> None:
    line = failed(program("bench", "resnet18", code=WITHOUT_TORCH))
    assert "nothing can be measured here" in line
    assert "pip install 'leantta[convert]'" in line
    done = program("bench", "resnet18", artifact(tmp_path / "a.onnx"), *FEW, code=WITHOUT_TORCH)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].startswith("a.onnx")
    assert "ours-none: not available: this needs the package 'torch'" in done.stdout


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
    assert 'id="latency ours-all"' in Path("fusion.svg").read_text()
    assert {path.suffix for path in Path("kept").iterdir()} == {".onnx", ".pt"}


def test_the_rows_are_listed(run: Run) -> None:
    done = run("bench", "--list")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == list(ROWS)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("resnet18", "--rows", "tent"), "no row is called 'tent'; the rows are ours-none"),
        (("resnet19",), "no model is called 'resnet19'"),
        (("mobilenet_v2", "--weights", "gone.safetensors"), "no checkpoint at gone.safetensors"),
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


def test_a_plot_of_a_record(run: Run) -> None:
    write_bench(record(*fused({"none": 1.0, "half": 2.0, "all": 3.0}, "ours")), Path("b.json"))
    done = run("bench", "--show", "b.json", "--plot", "plots/fusion.svg")
    assert done.returncode == 0, done.stderr
    drawn = Path("plots/fusion.svg").read_text()
    assert len(bars_in(drawn)) == 6
    assert drawn.count("fused: ") == 3  # the legend
    for ending in ("pdf", "png"):
        assert run("bench", "--show", "b.json", "--plot", f"fusion.{ending}").returncode == 0
    assert Path("fusion.pdf").read_bytes().startswith(b"%PDF")
    write_bench(record(one_row("torch-fp32", [[1.0]])), Path("b.json"))
    assert failed(run("bench", "--show", "b.json", "--plot", "x.svg")).startswith(
        "error: the record has no rows"
    )
