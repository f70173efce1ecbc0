"""The command line as a user meets it: a process, its output and its exit code."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import save_file

from leantta.models.named import build

MODEL_FILE = """
import torch
from torch import nn

def build():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10)
    )

def broken():
    raise RuntimeError("no weights today")
"""


def leantta(*args: object, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **variables}
    command = [sys.executable, "-m", "leantta", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment)


@pytest.fixture
def own_model(tmp_path) -> Path:
    file = tmp_path / "my_model.py"
    file.write_text(MODEL_FILE)
    return file


def test_help_teaches_by_example(run):
    for command in ("inspect", "eval", "corrupt", "demo", "report", "download"):
        done = run(command, "--help")
        assert done.returncode == 0
        assert "Examples:" in done.stdout
        assert f"\n    leantta {command}" in done.stdout
    assert leantta("--version").stdout.startswith("leantta, version 0.")


def test_help_needs_neither_torch_nor_extras(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nfor name in ('torch', 'scipy', 'PIL', 'safetensors'): sys.modules[name] = None\n"
    )
    assert leantta("--help", PYTHONPATH=str(tmp_path)).returncode == 0
    done = leantta("inspect", "resnet18", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr == "error: this needs the package 'torch': pip install 'leantta[convert]'\n"


def test_inspect_prints_the_plan(run):
    done = run("inspect", "mobilenet_v2")
    lines = done.stdout.splitlines()
    assert lines[0] == "mobilenet_v2: 2,236,682 parameters, input 3 x 32 x 32"
    assert "depthwise Conv2d" in done.stdout
    assert lines[-1] == "52 BatchNorm layers: adapt 26, fuse 26, keep 0"


def test_inspect_gives_json_for_machines(own_model, run):
    done = run("inspect", f"{own_model}:build", "--input", "3,16,16", "--adapt", "1", "--json")
    plan = json.loads(done.stdout)
    assert plan["input"] == [3, 16, 16]
    assert [row["action"] for row in plan["layers"]] == ["adapt", "fuse"]


def test_inspect_selects_by_measured_shift(sample, weights, tmp_path, run):
    field = tmp_path / "field.npz"
    data = np.load(sample)
    np.savez(field, x_test=255 - data["x_test"][:32], y_test=data["y_test"][:32])
    source = tmp_path / "source.npz"
    np.savez(source, x_train=data["x_train"][:32], y_train=data["y_train"][:32])
    done = run(
        "inspect",
        "resnet18",
        "--weights",
        weights,
        "--adapt",
        "shift:3",
        "--source",
        source,
        "--field",
        field,
    )
    assert done.stdout.splitlines()[-1] == "20 BatchNorm layers: adapt 3, fuse 17, keep 0", done.stderr
    assert run("inspect", "resnet18", "--adapt", "shift:3").returncode == 2


def test_eval_prints_a_table_keeps_records_and_goes_on(sample, weights, tmp_path, run):
    args = [
        "eval",
        "--model",
        "resnet18",
        "--weights",
        weights,
        "--images",
        sample,
        "--stream",
        "clean,severity5",
    ]
    args += ["--per-cell", 2, "--clean-images", 20, "--threads", 1, "--families", "--gate", "paper"]
    done = leantta(*args, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].split() == [
        "method",
        "clean",
        "corrupted",
        "severity",
        "5",
        "vs",
        "none",
    ]
    assert "leantta:half" in done.stdout
    assert "jpeg_compression" in done.stdout
    records = sorted((tmp_path / "results").iterdir())
    assert len(records) == 4
    header = json.loads(records[0].read_text().splitlines()[0])
    assert header["command"].startswith("leantta eval --model resnet18")
    again = run(*args)
    assert again.stdout == done.stdout
    shown = run("report", tmp_path / "results", "--families")
    assert done.stdout.startswith(shown.stdout.rstrip("\n"))
    machine = json.loads(run("report", *records, "--json").stdout)
    assert {row["method"] for row in machine} == {"none", "leantta:half"}
    assert run("report", tmp_path / "results", "--markdown").stdout.startswith("| method |")


def test_eval_runs_the_users_own_model(own_model, sample, tmp_path, run):
    asked = ("eval", "--model", f"{own_model}:build", "--images", sample, "--per-cell", 1)
    done = run(*asked)
    assert done.returncode == 1
    assert "my_model.py:build does not say which dataset is meant: name it with --dataset" in done.stderr
    done = run(
        *(*asked, "--dataset", "cifar10", "--stream", "severity5", "--method", "none,leantta:all"),
        *("--gate", "calibrated", "--records", tmp_path / "out"),
    )
    assert done.returncode == 0, done.stderr
    assert "leantta:all" in done.stdout


def test_a_pipe_that_closes_early_is_met_with_silence():
    command = f"{sys.executable} -m leantta inspect mobilenet_v2 | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.stderr == ""


def write_bad_files(folder: Path, sample: Path, weights: Path) -> None:
    (folder / "truncated.safetensors").write_bytes(weights.read_bytes()[:5000])
    (folder / "text.safetensors").write_text("hello")
    other = build("resnet18", num_classes=7).state_dict()
    save_file({k: v for k, v in other.items() if "num_batches" not in k}, folder / "other.safetensors")
    data = np.load(sample)
    np.savez(folder / "size.npz", x_test=np.zeros((4, 28, 28, 3), np.uint8), y_test=np.zeros(4, np.uint8))
    nan = data["x_test"][:4].astype(np.float32) / 255
    nan[2, 0, 0, 0] = np.nan
    np.savez(folder / "nan.npz", x_test=nan, y_test=data["y_test"][:4])
    np.savez(folder / "test.npz", x_test=data["x_test"][:40], y_test=data["y_test"][:40])
    (folder / "empty").mkdir()
    (folder / "my_model.py").write_text(MODEL_FILE)


EVAL = ("eval", "--model", "resnet18", "--per-cell", "1", "--stream", "severity5")
BAD_INPUT = [
    ((*EVAL, "--images", "nowhere.npz"), "nowhere.npz"),
    ((*EVAL, "--images", "SAMPLE", "--weights", "nowhere.safetensors"), "nowhere.safetensors"),
    ((*EVAL, "--images", "SAMPLE", "--weights", "truncated.safetensors"), "truncated.safetensors"),
    ((*EVAL, "--images", "SAMPLE", "--weights", "text.safetensors"), "text.safetensors"),
    ((*EVAL, "--images", "SAMPLE", "--weights", "other.safetensors"), "num_classes=7"),
    ((*EVAL, "--images", "size.npz", "--weights", "WEIGHTS"), "32 x 32"),
    ((*EVAL, "--images", "nan.npz", "--weights", "WEIGHTS"), "image 2 has NaN"),
    ((*EVAL, "--images", "empty", "--weights", "WEIGHTS"), "no cifar10 test images"),
    (
        (*EVAL, "--images", "SAMPLE", "--weights", "WEIGHTS", "--gate", "paper", "--tau", "1.5"),
        "tau must lie in [0, 1], got 1.5",
    ),
    (
        (*EVAL, "--images", "SAMPLE", "--weights", "WEIGHTS", "--gate", "paper", "--lambda", "-1"),
        "lambda must lie in [0, 1]",
    ),
    ((*EVAL, "--images", "SAMPLE", "--weights", "WEIGHTS", "--records", "/proc/none"), "cannot write"),
    (
        (*EVAL, "--images", "test.npz", "--weights", "WEIGHTS", "--method", "leantta"),
        "the filter gate needs training images: ",
    ),
    (
        (*EVAL, "--images", "SAMPLE", "--weights", "WEIGHTS", "--method", "tent9"),
        "no method is called 'tent9'",
    ),
    (("inspect", "resnet19"), "Did you mean 'resnet18'"),
    (("inspect", "my_model.py:nothing"), "no function 'nothing'"),
    (("inspect", "my_model.py:broken"), "no weights today"),
    (("inspect", "absent.py:build"), "absent.py"),
    (("inspect", "my_model.py:build", "--input", "5,16,16"), "does not run on the example input"),
    (("inspect", "resnet18", "--adapt", "stem.*"), "'stem.*'"),
    (("report", "empty"), "no records"),
    (("download", "cifar10", "-o", "SAMPLE"), "cannot write"),
    (("demo", "--images", "nowhere.npz"), "error: no cifar10 images at nowhere.npz"),
]


@pytest.mark.parametrize(
    "case", range(len(BAD_INPUT)), ids=[f"{args[0]} {words}" for args, words in BAD_INPUT]
)
def test_bad_input_gets_one_clear_line(case, tmp_path, sample, weights, run):
    args, words = BAD_INPUT[case]
    write_bad_files(tmp_path, sample, weights)
    before = sorted(tmp_path.rglob("*"))
    names = {"SAMPLE": str(sample), "WEIGHTS": str(weights)}
    done = run(*(names.get(arg, arg) for arg in args))
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1
    assert words in done.stderr
    left = [path for path in sorted(tmp_path.rglob("*")) if "__pycache__" not in path.parts]
    assert left == before


@pytest.mark.parametrize(
    "args",
    [
        ("eval",),
        ("eval", "--model", "resnet18", "--images", "x.npz", "--seeds", "one"),
        ("eval", "--model", "resnet18", "--images", "x.npz", "--tau", "0.5"),
        ("inspect", "resnet18", "--input", "3,x,32"),
        ("unknown",),
    ],
)
def test_wrong_usage_exits_with_2(args, run):
    done = run(*args)
    assert done.returncode == 2
    assert "Usage:" in done.stderr


@pytest.mark.skipif(
    shutil.which("unshare") is None or os.geteuid() != 0, reason="a small disk needs root to mount"
)
def test_a_full_disk_loses_nothing(tmp_path, sample, weights):
    """A real file system of 64 KB, mounted for this process only."""
    small = tmp_path / "small"
    small.mkdir()
    command = (
        f"{sys.executable} -m leantta eval --model resnet18 --weights {weights} --images {sample} "
        f"--stream severity5,abrupt --per-cell 1 --method none --records {small}"
    )
    script = (
        f"mount -t tmpfs -o size=64k none {small} && head -c 60000 /dev/zero > {small}/taken && "
        f"{command}; code=$?; rm {small}/taken; {command} > /dev/null || exit 99; exit $code"
    )
    done = subprocess.run(["unshare", "-m", "bash", "-c", script], capture_output=True, text=True)
    if "permission denied" in done.stderr.lower():
        pytest.skip("no right to mount here")
    assert done.returncode == 1, done.stderr
    assert any(line.startswith("error: ") and "No space left" in line for line in done.stderr.splitlines())


def test_a_bug_shows_a_traceback(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import leantta_lab.models.table as t\n"
        "def build(*a, **k): raise ZeroDivisionError('a bug')\n"
        "import leantta.models.opening as r\nr.build = build\n"
    )
    done = leantta("inspect", "resnet18", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "Traceback" in done.stderr
