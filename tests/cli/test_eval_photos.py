"""`leantta eval` on the user's own images, as typed."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from running import Run

MODEL = """
import torch
from torch import nn

class Bright(nn.Module):
    '''Tells dark images from bright ones, and a third kind that never comes.'''
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
        self.more, self.last = nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4)
    def forward(self, x):
        y = self.last(self.more(self.norm(self.conv(x))))
        level = x.mean((1, 2, 3))
        return torch.stack([-level, level, -9 + 0 * level], 1) + 0 * y.mean((1, 2, 3))[:, None]

def build():
    torch.manual_seed(0)
    return Bright()

def pixels():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Conv2d(4, 2, 3), nn.BatchNorm2d(2))

def level(outputs, labels, keys):
    return [len(key) * 0 + float(abs(o).mean()) for key, o in zip(keys, outputs, strict=True)]

def wrong(outputs, labels, keys):
    return outputs
"""
STATISTICS = ("--mean", "0.5,0.5,0.5", "--std", "0.25,0.25,0.25")


def images(root: Path, folders: dict[str, int], count: int = 30) -> Path:
    """Write images of 20 x 20 pixels, of the brightness of their folder."""
    generator = np.random.default_rng(0)
    for folder, grey in folders.items():
        (root / folder).mkdir(parents=True, exist_ok=True)
        for i in range(count):
            noise = generator.integers(-30, 30, (20, 20, 3))
            Image.fromarray((grey + noise).astype(np.uint8)).save(root / folder / f"{i}.png")
    return root


@pytest.fixture
def model(tmp_path: Path) -> str:
    (tmp_path / "my_model.py").write_text(MODEL)
    (tmp_path / "names.txt").write_text("dark\nlight\nnever\n")
    return "my_model.py:build"


def test_one_command_tells_whether_adapting_helps(model: str, run: Run, tmp_path: Path) -> None:
    photos = images(tmp_path / "photos", {"light": 200, "dark": 60})
    asked = (
        "eval",
        model,
        "--images",
        photos,
        "--corrupt",
        "--per-cell",
        1,
        "--classes",
        "names.txt",
        *STATISTICS,
    )
    done = run(*asked)
    assert done.returncode == 0, done.stderr
    for said in (
        "60 images of 2 classes",
        "paper gate",
        "shift filter",
        "Verdict",
        "leantta convert my_model.py",
    ):
        assert said in done.stdout
    assert "not reported on" in done.stdout
    first = next(line for line in done.stdout.splitlines() if line.startswith("none "))
    assert first.split()[1].startswith("100.0±")  # the list of classes gives the right numbers
    records = {path: path.stat().st_mtime_ns for path in (tmp_path / "results").iterdir()}
    assert len(records) == 6
    again = run(*asked, "--json")
    told = json.loads(again.stdout)
    assert [row["method"] for row in told["rows"]] == ["none", "paper gate", "shift filter"]
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "results").iterdir()} == records
    assert run("report", tmp_path / "results").returncode == 0


def test_without_labels_it_tells_agreement_and_says_so(model: str, run: Run, tmp_path: Path) -> None:
    images(tmp_path / "photos", {".": 100}, count=60)
    done = run("eval", model, "--images", "photos", "--method", "none,leantta:all:paper", *STATISTICS)
    assert done.returncode == 0, done.stderr
    assert "no accuracy" in done.stdout
    first = next(line for line in done.stdout.splitlines() if line.startswith("none "))
    assert first.split()[1].startswith("100.0±")


def test_without_labels_it_tells_how_far_each_domain_is(model: str, run: Run, tmp_path: Path) -> None:
    images(tmp_path / "photos", {"dim": 20, "usual": 120}, count=40)
    asked = ("eval", model, "--images", "photos", "--layout", "domains", *STATISTICS)
    done = run(*asked, "--method", "none,leantta:all:paper:tau=0.5")
    assert done.returncode == 0, done.stderr
    rows = {line.split()[0]: line.split() for line in done.stdout.splitlines() if line}
    header = next(line for line in done.stdout.splitlines() if "measured" in line)
    assert "shift, leantta" in header
    assert "shift, none" not in header
    assert rows["dim"][1] == rows["usual"][1] == "20"


def test_a_preprocessing_in_a_file_brings_its_statistics(model: str, run: Run, tmp_path: Path) -> None:
    images(tmp_path / "photos", {".": 100}, count=60)
    told = {"resize": [16, 16], "mean": [0.4, 0.5, 0.6], "std": [0.1, 0.2, 0.3]}
    (tmp_path / "how.json").write_text(json.dumps(told))
    asked = (
        "eval",
        model,
        "--images",
        "photos",
        "--preprocess",
        "how.json",
        "--method",
        "none,leantta:all:paper",
    )
    done = run(*asked)
    assert done.returncode == 0, done.stderr
    assert "Nobody said" not in done.stdout
    record, *_ = (tmp_path / "results").glob("*-none-*")
    kept = json.loads(record.read_text().splitlines()[0])["recipe"]["method_settings"]["preprocessing"]
    assert (kept["mean"], kept["std"]) == (told["mean"], told["std"])


def test_domains_have_a_table_of_their_own(model: str, run: Run, tmp_path: Path) -> None:
    images(
        tmp_path / "photos", {f"{d}/{c}": g for d in ("clean", "night") for c, g in (("0", 60), ("1", 200))}
    )
    done = run("eval", model, "--images", "photos", "--method", "none,leantta:all:paper", *STATISTICS)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines() if line.startswith(("clean ", "night "))]
    assert "of other domains" in done.stdout


@pytest.mark.usefixtures("model")
def test_a_metric_of_ones_own_takes_any_output(run: Run, tmp_path: Path) -> None:
    images(tmp_path / "photos", {".": 100}, count=50)
    asked = (
        "eval",
        "my_model.py:pixels",
        "--images",
        "photos",
        "--method",
        "none,leantta:all:paper",
        *STATISTICS,
    )
    done = run(*asked)
    assert done.returncode == 1
    assert "--metric" in done.stderr
    done = run(*asked, "--metric", "my_model.py:level")
    assert done.returncode == 0, done.stderr
    assert "your metric" in done.stdout
    (tmp_path / "my_model.py").write_text(MODEL + "# another file may have another metric\n")
    assert "one finite number for each input" in run(*asked, "--metric", "my_model.py:wrong").stderr
    assert "must take" in run(*asked, "--metric", "my_model.py:build").stderr


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "Give --classes FILE"),
        (("--classes", "names.txt"), "photos/light/x.jpg"),
        (("--classes", "other.txt"), "are none of the 3 classes"),
        (("--layout", "domains", "--corrupt", "--per-cell", "0"), "--per-cell must be at least 1"),
        (("--layout", "imagenet-c"), "does not have the layout"),
        (("--dataset", "cifar10"), ""),
        (("--seeds", "1,2"), "one seed"),
        (("--families",), "only for a dataset"),
        (("other.py:build",), "one model at a time"),
    ],
)
def test_what_does_not_fit_gets_one_line(
    more: tuple[str, ...], said: str, model: str, run: Run, tmp_path: Path
) -> None:
    photos = images(tmp_path / "photos", {"light": 200, "dark": 60})
    for place in range(8):
        (photos / "light" / f"{place}x.jpg").write_bytes(b"no image")
    (tmp_path / "other.txt").write_text("a\nb\nc\n")
    (photos / "light" / "x.jpg").write_bytes(b"no image")
    done = run("eval", model, "--images", "photos", "--method", "none,leantta:all:paper", *STATISTICS, *more)
    assert done.returncode in (1, 2)
    assert said.replace("x.jpg", "") in done.stderr
    assert done.stderr.strip().splitlines()[-1].lower().startswith("error:")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("nothing", "no images at nothing. Check the path."),
        ("empty", "no image in empty or its folders"),
        ("one.png", "one.png is no form of images that is known. Give a folder, a list"),
    ],
)
def test_where_no_images_are_it_says_so(given: str, said: str, model: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(tmp_path / "one.png")
    done = run("eval", model, "--images", given, "--resize", "20x20", *STATISTICS)
    assert done.returncode == 1
    assert said in done.stderr


def test_what_cannot_be_read_is_left_out_if_asked(model: str, run: Run, tmp_path: Path) -> None:
    photos = images(tmp_path / "photos", {"light": 200, "dark": 60})
    for place in range(8):
        (photos / "light" / f"{place}x.jpg").write_bytes(b"no image")
    asked = ("eval", model, "--images", "photos", "--classes", "names.txt", "--method", "none", *STATISTICS)
    assert run(*asked).returncode == 1
    done = run(*asked, "--skip-unreadable")
    assert done.returncode == 0, done.stderr
    assert "8 images cannot be read and were left out: light/0x.jpg" in done.stdout


def test_options_for_photographs_are_refused_for_a_dataset(run: Run, sample: Path) -> None:
    done = run("eval", "resnet18", "--images", sample, "--corrupt")
    assert done.returncode == 2
    assert "--corrupt: only for" in done.stderr
