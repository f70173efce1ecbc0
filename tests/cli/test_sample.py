"""The sample that the package carries is written whole, is what its card says, and adapts."""

import hashlib
import json
import re
from pathlib import Path

import numpy as np

import leantta
from leantta.data.imagefiles import read_image
from leantta.samples import FOLDER
from running import Run

MOST = 1_000_000
"""Bytes that the sample may add to the package."""


def test_it_is_written_and_runs(run: Run, tmp_path: Path) -> None:
    done = run("sample", "here")
    assert done.returncode == 0, done.stderr
    named = re.findall(r"leantta (run .*)", done.stdout)[0].split()
    said = [json.loads(line) for line in run(*named, "--json").stdout.splitlines()]
    assert len(said) == len(list((tmp_path / "here" / "photos").glob("*.png"))) > 1
    for each in said:  # photographs are named after what is on them
        assert Path(each["path"]).stem.startswith(each["label"])
    clean, disturbed = (
        np.mean([each["shift"] for each in said if ("_" in Path(each["path"]).stem) == wanted])
        for wanted in (False, True)
    )
    assert disturbed > clean


def test_a_folder_that_cannot_be_written_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    done = run("sample", "taken/here")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1


def test_the_card_is_of_the_file() -> None:
    file = FOLDER / "sample.onnx"
    assert hashlib.sha256(file.read_bytes()).hexdigest() in (FOLDER / "card.md").read_text()
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < MOST


def test_it_adapts() -> None:
    with leantta.load(FOLDER / "sample.onnx") as session:
        assert session.info.layers
        assert session.predict_one(read_image(FOLDER / "photos" / "ship.png")).label == "ship"
