"""Only the formats that we name are opened: an EPS that is called x.png would start Ghostscript."""

import ast
import csv
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import EpsImagePlugin, Image

import leantta
import leantta_lab
from leantta.data.collection.opening import open_collection
from leantta.data.imagefiles import check_pixels, decode_image, read_image, read_note
from leantta.errors import LeanTTAError
from running import Run
from runtime.artifacts import artifact

SOURCES = sorted(
    path for package in (leantta, leantta_lab) for path in Path(str(package.__file__)).parent.rglob("*.py")
)


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is there once a Ghostscript was started; ours does nothing else."""
    witness, programs = tmp_path / "started", tmp_path / "programs"
    programs.mkdir()
    (programs / "gs").write_text(f"#!/bin/sh\ntouch {witness}\n")
    (programs / "gs").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    monkeypatch.setattr(EpsImagePlugin, "gs_binary", None)  # what an earlier look found
    return witness


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """An EPS that is called x.png, in a folder of its own."""
    folder = tmp_path / "photos" / "class"
    folder.mkdir(parents=True)
    picture = np.random.default_rng(0).integers(0, 256, (8, 8, 3), np.uint8)
    Image.fromarray(picture).save(folder / "x.png", "EPS")
    return folder / "x.png"


def test_pillow_alone_starts_it(started: Path, trap: Path) -> None:
    with pytest.raises(OSError, match=r"."), Image.open(trap) as image:
        image.load()
    assert started.exists()  # else the tests below would say nothing


def of_a_list(trap: Path) -> None:
    with (trap.parent / "list.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["path", "label"], [trap.name, "a"]])
    open_collection(trap.parent / "list.csv").read(0)


def of_a_tar(trap: Path) -> None:
    with tarfile.open(trap.parent / "shard.tar", "w") as shard:
        shard.add(trap, "x.png")
    open_collection(trap.parent / "shard.tar").read(0)


READERS: dict[str, Callable[[Path], object]] = {
    "a file": read_image,
    "bytes": lambda trap: decode_image(trap.read_bytes(), "x.png"),
    "the size of an upload": lambda trap: check_pixels(trap.read_bytes(), "x.png", 1000),
    "a folder": lambda trap: open_collection(trap.parent.parent).read(0),
    "a list": of_a_list,
    "a tar": of_a_tar,
}


@pytest.mark.parametrize("name", READERS)
def test_no_reader_starts_it(name: str, started: Path, trap: Path) -> None:
    with pytest.raises(LeanTTAError, match=r"x\.png"):
        READERS[name](trap)
    assert not started.exists()


def test_a_note_is_looked_for_in_png_alone(started: Path, trap: Path) -> None:
    assert read_note(trap) is None
    assert not started.exists()


@pytest.mark.parametrize(
    "words", [("run", "MODEL"), ("run", "MODEL", "--json"), ("corrupt", "--corruption", "fog", "-o", "OUT")]
)
def test_no_command_starts_it(words: tuple[str, ...], run: Run, started: Path, trap: Path) -> None:
    model = artifact(trap.parent / "model.onnx", kind="image")
    places = {"MODEL": model, "OUT": trap.parent / "out"}
    done = run(*(places.get(word, word) for word in words), trap)
    assert done.returncode == 1
    assert "x.png" in done.stdout + done.stderr
    assert not started.exists()


def test_whoever_opens_an_image_names_its_formats() -> None:
    calls = [
        (path.name, node)
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Image.open"
    ]
    assert len(calls) >= 4
    for name, call in calls:
        assert "formats" in [keyword.arg for keyword in call.keywords], f"{name}, line {call.lineno}"
