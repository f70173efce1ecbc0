"""`leantta convert` as a user meets it."""

from pathlib import Path

import numpy as np
import pytest

import leantta
from cli.own_model import BUILD
from leantta.runtime.container import read_container
from leantta.runtime.input_info import InputInfo
from leantta.runtime.metadata import read_info
from leantta.runtime.verify import verify
from running import Done, Run

MODEL_FILE = f"""{BUILD}
def branching():
    class Branching(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = build()
        def forward(self, x):
            y = self.inner(x)
            return y if y.sum() > 0 else -y
    return Branching()
"""


@pytest.fixture(scope="module")
def own_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("models") / "my_model.py"
    file.write_text(MODEL_FILE)
    return f"{file}:build"


def failed(done: Done) -> str:
    """The one line of an error that is explained."""
    assert done.returncode == 1, done.stdout
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if line and "\r" not in line]
    assert lines[-1].startswith("error: ")
    assert "Traceback" not in done.stderr
    return lines[-1]


def test_help_teaches_by_example(run: Run) -> None:
    done = run("convert", "--help")
    assert done.returncode == 0
    assert "\n    leantta convert resnet18 --calibration cifar10.npz -o r18.onnx" in done.stdout


def test_a_model_of_ones_own_becomes_a_file_that_runs(own_model: str, sample: Path, run: Run) -> None:
    source = ("--dataset", "cifar10", "--calibration", sample)
    asked = ("--adapt", 1, "--gate", "calibrated", "--images", 64, "--card", "--licence", "mit")
    done = run("convert", own_model, *source, *asked, "-o", "out/x.onnx")
    assert done.returncode == 0, done.stderr
    for words in ("out/x.onnx (int8)", "1 adapt, 1 fused, 0 kept", "same decision on", "clean images"):
        assert words in done.stdout
    assert done.stdout.rstrip().endswith("Try it: leantta verify out/x.onnx && leantta run out/x.onnx PATH")
    assert all(check.ok for check in verify("out/x.onnx"))
    card = Path("out/x.md").read_text()
    assert 'license: "mit"' in card
    assert "accuracy, clean cifar10" in card
    info = read_info(read_container("out/x.onnx"))
    assert info.classes is not None
    assert info.classes[:2] == ("airplane", "automobile")
    assert info.calibration is not None
    assert (info.model, info.layers, info.calibration["images"]) == (own_model, ("1",), 64)
    images = np.load(sample)["x_test"][:3]
    with leantta.load("out/x.onnx") as session:
        assert session.predict(images).shape == (3, 10)
    again = run("verify", "out/x.onnx")
    assert again.returncode == 0, again.stdout


def test_every_option_reaches_the_file(own_model: str, run: Run, tmp_path: Path) -> None:
    """Floats of an .npy file; and image files with their own size, mean, std and classes."""
    random = np.random.default_rng(0)
    np.save(tmp_path / "floats.npy", random.normal(size=(20, 3, 16, 16)).astype(np.float32))
    done = run(
        *("convert", own_model, "--calibration", "floats.npy", "-o", "x.onnx", "--precision", "fp32"),
        *("--adapt", "all", "--gate", "calibrated", "--floor", 0.2, "--ceiling", 0.6, "--images", 18),
    )
    assert done.returncode == 0, done.stderr
    assert "(fp32)" in done.stdout
    info = read_info(read_container("x.onnx"))
    assert info.gate == leantta.CalibratedGate(floor=0.2, ceiling=0.6)
    assert info.input == InputInfo("tensor", (3, 16, 16))
    assert (info.classes, info.shift and info.shift.images) == (None, 18)
    done = run(
        *("convert", own_model, "--calibration", "floats.npy", "-o", "x.onnx"),
        *("--adapt", "all", "--gate", "calibrated", "--budget", 1),
    )
    assert "weights from 0 to 0.4, to cost at most 100 points" in done.stdout
    assert read_info(read_container("x.onnx")).gate == leantta.CalibratedGate(budget=1.0)
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "photos").mkdir()
    for i in range(17):
        pixels = random.integers(0, 256, (20, 24, 3)).astype(np.uint8)
        image.fromarray(pixels).save(tmp_path / "photos" / f"{i}.png")
    (tmp_path / "names.txt").write_text("\n".join(f"thing {i}" for i in range(10)) + "\n\n")
    done = run(
        *("convert", own_model, "--calibration", "photos", "-o", "y.onnx", "--portable", "--input", "image"),
        *("--size", "16,18", "--mean", "0.5,0.5,0.5", "--std", "0.2,0.2,0.2", "--classes", "names.txt"),
        *("--adapt", "none", "--observer", "percentile"),
    )
    assert done.returncode == 0, done.stderr
    info = read_info(read_container("y.onnx"))
    assert info.input == InputInfo("image", (3, 16, 18), (0.5,) * 3, (0.2,) * 3)
    assert info.classes is not None
    assert info.classes[3] == "thing 3"
    assert (info.portable, info.layers, info.gate) == (True, (), None)
    assert info.calibration is not None
    assert (info.calibration["images"], info.calibration["observer"]) == (17, "percentile")
    assert "agreement" not in info.calibration  # too few to hold any out


def test_what_cannot_be_converted_is_one_line(own_model: str, sample: Path, run: Run, tmp_path: Path) -> None:
    given = ("--dataset", "cifar10", "--calibration", sample, "-o", "x.onnx")
    assert "no calibration images at nowhere.npz" in failed(
        run("convert", own_model, "--calibration", "nowhere.npz", "-o", "x.onnx")
    )
    assert "no BatchNorm layer that can adapt matches 'bn7'" in failed(
        run("convert", own_model, *given, "--adapt", "bn7")
    )
    assert "ranges need at least 16" in failed(run("convert", own_model, *given, "--images", 3))
    assert "at least 1, got 0" in failed(run("convert", own_model, *given, "--images", 0))
    assert "mean and std go together" in failed(run("convert", own_model, *given, "--mean", "0.5,0.5,0.5"))
    assert "torch cannot export" in failed(
        run("convert", own_model.replace(":build", ":branching"), *given, "--adapt", 1)
    )
    (tmp_path / "in the way").write_text("a file")
    assert "cannot write" in failed(run("convert", own_model, *given[:-1], "in the way/x.onnx"))
    np.save(tmp_path / "few.npy", np.zeros((3, 3, 16, 16), np.float32))
    assert "3 calibration inputs" in failed(
        run("convert", own_model, "--calibration", "few.npy", "-o", "x.onnx")
    )
    (tmp_path / "broken.npy").write_bytes(b"\x93NUMPY\x01\x00")
    assert "cannot read broken.npy" in failed(
        run("convert", own_model, "--calibration", "broken.npy", "-o", "x.onnx")
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.npy", "few.npy", "in the way"]


@pytest.mark.parametrize(
    "words",
    [
        ("--gate", "paper", "--floor", "0.1"),
        ("--precision", "fp16"),
        ("--size", "32"),
        ("--mean", "a,b,c"),
        ("--observer", "median"),
        ("--input", "jpeg"),
    ],
)
def test_wrong_usage_exits_2(words: tuple[str, ...], own_model: str, sample: Path, run: Run) -> None:
    done = run("convert", own_model, "--calibration", sample, "-o", "x.onnx", *words)
    assert done.returncode == 2
    assert not Path("x.onnx").exists()


def test_calibration_and_output_must_be_said(own_model: str, run: Run) -> None:
    assert run("convert", own_model, "-o", "x.onnx").returncode == 2
    assert run("convert", own_model, "--calibration", "a.npz").returncode == 2


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_the_checkpoint_of_the_repository(precision: str, sample: Path, weights: Path, run: Run) -> None:
    done = run(
        *("convert", "resnet18", "--weights", weights, "--calibration", sample, "--adapt", 2),
        *("--precision", precision, "-o", "r18.onnx"),
    )
    assert done.returncode == 0, done.stderr
    assert "2 adapt, 18 fused, 0 kept" in done.stdout
    assert all(check.ok for check in verify("r18.onnx"))
    data = np.load(sample)
    images, labels = data["x_test"][:100], data["y_test"][:100].reshape(-1)
    with leantta.load("r18.onnx") as session:
        assert (session.predict(images).argmax(axis=1) == labels).mean() > 0.85
    plain = 4 if precision == "fp32" else 1
    assert 11.1e6 * plain < Path("r18.onnx").stat().st_size < 1.05 * 11.2e6 * plain
