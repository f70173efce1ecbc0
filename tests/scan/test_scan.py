"""`leantta scan` in one process: every form of archive, resuming, and every kind of bad input."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from leantta.data.imagefiles import decode_image
from leantta.export.convert import convert
from leantta.modalities.datasets import dataset_info
from leantta.models.named import build
from leantta.runtime.inputs import fit_image
from leantta.runtime.session import load
from motion_files import made_up
from running import Run
from runtime.artifacts import artifact
from scan.archives import (
    POISON,
    failures,
    inputs,
    leantta,
    photos,
    png,
    poisoned,
    rows,
    same_rows,
    table,
    tar,
)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return artifact(tmp_path / "model.onnx", kind="image")


def test_rows_are_what_the_session_says(run: Run, model: Path, tmp_path: Path) -> None:
    photos(tmp_path / "photos" / "inner", 11)
    tar(tmp_path / "shard.tar", 5)
    tar(tmp_path / "small.tar.gz", 3, mode="w:gz")
    table(tmp_path / "table.parquet", 17)
    done = run("scan", model, "photos", "shard.tar", "small.tar.gz", "table.parquet", "-o", "out")
    assert done.returncode == 0
    assert "36 inputs, of which 0 could not be read" in done.stdout
    found = rows(tmp_path / "out")
    assert [Path(row["path"]).name for row in found] == [
        *(f"{place:03d}.png" for place in range(11)),
        *["shard.tar"] * 5,
        *["small.tar.gz"] * 3,
        *["table.parquet"] * 17,
    ]
    digest = json.loads((tmp_path / "out" / "scan.json").read_text())["settings"]["artifact_sha256"]
    contents = [*map(png, range(11)), *map(png, range(1000, 1005)), *map(png, range(1000, 1003))]
    contents += map(png, range(2000, 2017))
    with load(model) as session:
        for row, content in zip(found, contents, strict=True):
            said = session.predict_one(fit_image(decode_image(content, "it"), session.info))
            assert (row["label"], row["index"]) == (said.label, said.index)
            assert row["probability"] == pytest.approx(said.probability, abs=1e-5)
            assert row["probabilities"][row["index"]] == row["probability"]
            assert sum(row["probabilities"]) == pytest.approx(1, abs=1e-5)
            assert row["shift"] == pytest.approx(said.shift, abs=1e-5)
            assert row["distances"] == pytest.approx(list((said.distances or {}).values()), abs=1e-5)
            assert (row["model"], row["error"], row["window"]) == (digest, None, 0)
    assert {row["modified"].year for row in found if row["path"].endswith("shard.tar")} == {2023}


@pytest.mark.parametrize("batch", [1, 3, 64])
def test_batches_change_nothing(run: Run, model: Path, tmp_path: Path, batch: int) -> None:
    photos(tmp_path / "photos", 7)
    (tmp_path / "photos" / "003a.png").write_bytes(b"no image")
    assert run("scan", model, "photos", "-o", "one").returncode == 0
    assert run("scan", model, "photos", "-o", "other", "--batch", batch, "--chunk", 2).returncode == 0
    assert len(list((tmp_path / "other" / "parts").rglob("*.parquet"))) == 4
    same_rows(rows(tmp_path / "one"), rows(tmp_path / "other"))


def test_arguments_that_overlap_give_each_input_once(run: Run, model: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        photos(tmp_path / "photos" / name, 3)
    globs = ("photos/*/00[01].png", "photos/a", "photos", "photos/b/002.png", "photos/**/*.png", "phot*")
    for first in range(len(globs)):
        given = globs[first:] + globs[:first]
        done = run("scan", model, *given, "-o", f"out{first}")
        assert done.returncode == 0
        assert len(inputs(tmp_path / f"out{first}")) == len(set(inputs(tmp_path / f"out{first}"))) == 6, given


def test_the_output_inside_of_the_input_is_no_input(run: Run, model: Path, tmp_path: Path) -> None:
    photos(tmp_path / "all", 3)
    for _ in range(2):
        run("scan", model, "all", "-o", "all/out", "--restart")
    assert len(inputs(tmp_path / "all" / "out")) == 3


def test_bad_inputs_become_rows(run: Run, model: Path, tmp_path: Path) -> None:
    folder = photos(tmp_path / "bad", 2)
    (folder / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 cut")
    (folder / "dead.png").symlink_to("nowhere")
    (folder / "sound.wav").write_bytes(b"RIFF")
    (folder / "notes.txt").write_text("no input")
    (folder / b"caf\xe9.png".decode("utf-8", "surrogateescape")).write_bytes(png(9))
    whole = tar(folder / "whole.tar", 6).read_bytes()
    (folder / "cut.tar").write_bytes(whole[: len(whole) // 2])
    (folder / "empty.tar").write_bytes(b"")
    (folder / "none.tar").write_bytes(bytes(10_240))
    (folder / "cut.parquet").write_bytes(table(folder / "two.parquet", 5, other=[b"x"] * 5).read_bytes()[:-9])
    table(folder / "null.parquet", 2, image=[None, png(3)])
    done = run("scan", model, folder, "-o", "out")
    assert done.returncode == 0
    found = failures(tmp_path / "out")
    assert set(found) >= {"broken.jpg", "dead.png", "sound.wav", "empty.tar", "none.tar", "cut.parquet"}
    assert "takes" in found["sound.wav"]
    assert "2 columns of bytes" in found["two.parquet"]
    assert "empty" in found["null.parquet: 0"]
    (cut,) = [error for name, error in found.items() if name.startswith("cut.tar")]
    before = [row for row in rows(tmp_path / "out") if "cut.tar" in row["path"] and not row["error"]]
    assert f"{len(before)} inputs came before" in cut
    assert len(before) > 0
    fine = {Path(row["path"]).name for row in rows(tmp_path / "out") if not row["error"]}
    assert {"000.png", "001.png", "caf�.png", "whole.tar", "null.parquet"} <= fine
    assert "notes.txt" not in {Path(row["path"]).name for row in rows(tmp_path / "out")}
    assert all("\n" not in error for error in found.values())
    asked = run("scan", model, folder / "two.parquet", "-o", "chosen", "--column", "image")
    assert (asked.returncode, failures(tmp_path / "chosen")) == (0, {})
    wrong = run("scan", model, folder / "two.parquet", "-o", "wrong", "--column", "picture")
    assert wrong.returncode == 1
    assert "no input could be read" in wrong.stderr
    assert "'picture'" in failures(tmp_path / "wrong")["two.parquet"]


def test_only_what_is_missing_is_done(run: Run, model: Path, tmp_path: Path) -> None:
    photos(tmp_path / "photos", 10)
    words = ("scan", model, "photos", "-o", "out", "--chunk", 2)
    assert run(*words).returncode == 0
    whole = rows(tmp_path / "out")
    parts = sorted((tmp_path / "out" / "parts").rglob("*.parquet"))
    times = {part: part.stat().st_mtime_ns for part in parts}
    assert run(*words).stdout.startswith("nothing is missing")
    parts[3].unlink()
    parts[0].with_name(".half.part").write_bytes(b"left by a dead worker")
    done = run(*words)
    assert "4 of 5 part files were there already\n2 inputs" in done.stdout
    assert [part for part in parts if part.stat().st_mtime_ns != times[part]] == [parts[3]]
    assert rows(tmp_path / "out") == whole


def test_another_question_is_refused(run: Run, model: Path, tmp_path: Path) -> None:
    photos(tmp_path / "photos", 4)
    photos(tmp_path / "more", 1)
    assert run("scan", model, "photos", "-o", "out").returncode == 0
    (tmp_path / "other").mkdir()
    other = artifact(tmp_path / "other" / "model.onnx")
    asked = {
        "the content of the model file": (other, "photos"),
        "the inputs": (model, "more"),
        "--chunk": (model, "photos", "--chunk", 7),
        "--column": (model, "photos", "--column", "x"),
        "--engine": (model, "photos", "--engine", "onnxruntime-portable"),
    }
    for words, given in asked.items():
        done = run("scan", *given, "-o", "out")
        assert done.returncode == 1
        assert words in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert len(rows(tmp_path / "out")) == 4
    assert run("scan", model, "more", "-o", "out", "--restart").returncode == 0
    assert len(rows(tmp_path / "out")) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere", "-o", "out"), "nowhere"),
        (("no*where/*.png", "-o", "out"), "nothing to scan"),
        (("photos/000.png/*.png", "-o", "out"), "no folder for the glob"),
        (("empty", "-o", "out"), "nothing to scan"),
        (("photos", "-o", "other"), "holds 1 entries that are no scan"),
        (("photos", "-o", "photos/000.png"), "is a file"),
        (("ftp-of-mine://host/photos", "-o", "out"), "cannot open"),
        (("s3://key:secret@birds/2024", "-o", "out"), "AWS_ACCESS_KEY_ID"),
    ],
)
def test_what_cannot_begin_says_why(
    run: Run, model: Path, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    photos(tmp_path / "photos", 1)
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("years of work")
    for _ in range(2):
        done = run("scan", model, *words, "--restart")
        assert done.returncode == 1
        assert said in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert (tmp_path / "other" / "thesis.tex").read_text() == "years of work"
    assert run("scan", model, "photos", "-o", "out").returncode == 0  # what failed to begin is not in the way


def test_a_url_is_a_place_like_any_other(run: Run, model: Path, tmp_path: Path) -> None:
    photos(tmp_path / "a b%20c", 3)
    tar(tmp_path / "a b%20c" / "shard.tar", 2)
    table(tmp_path / "a b%20c" / "t.parquet", 3)
    url = (tmp_path / "a b%20c").as_uri()
    assert run("scan", model, url, f"{url}/*.png", "-o", "out").returncode == 0
    assert run("scan", model, "a b%20c", "-o", "plain").returncode == 0
    found, plain = rows(tmp_path / "out"), rows(tmp_path / "plain")
    assert [f"file://{row.pop('path')}" for row in plain] == [row.pop("path") for row in found]
    assert found == plain


def test_sound_has_a_row_for_each_window(run: Run, tmp_path: Path) -> None:
    soundfile = pytest.importorskip("soundfile", reason="needs the extra `audio`", exc_type=ImportError)
    sound = {"sample_rate": 32_000, "clip_samples": 320_000, "filling": "silence"}
    changes = {"input.kind": "frames", "input.sound": sound, "classes": ["no bird", "bird"]}
    ear = artifact(tmp_path / "ear.onnx", shape=(1, 240, 64), normalized=False, outputs=1, changes=changes)
    (tmp_path / "sounds").mkdir()
    noise = np.random.default_rng(0).uniform(-0.4, 0.4, 25 * 32_000)
    soundfile.write(tmp_path / "sounds" / "long.wav", noise, 32_000)
    (tmp_path / "sounds" / "photo.jpg").write_bytes(b"mixed")
    held = (tmp_path / "sounds" / "long.wav").read_bytes()
    pq.write_table(pa.table({"audio": [{"bytes": held, "path": "x"}]}), tmp_path / "sounds" / "t.parquet")
    assert run("scan", ear, "sounds", "-o", "out").returncode == 0
    found = rows(tmp_path / "out")
    starts = [(0, 0.0), (1, 10.0), (2, 15.0)]
    assert [(row["window"], row["start_s"]) for row in found if not row["error"]] == [*starts, *starts]
    assert {row["label"] for row in found if not row["error"]} <= {"bird", "no bird"}
    assert list(failures(tmp_path / "out")) == ["photo.jpg"]


def test_motion_windows_come_in_every_form(run: Run, tmp_path: Path) -> None:
    torch.manual_seed(0)
    windows, about = made_up(np.arange(20) % 6), dataset_info("har")
    convert(
        build("motion_cnn"),
        windows,
        tmp_path / "m.onnx",
        gate="calibrated",
        mean=about.mean,
        std=about.std,
        classes=about.classes,
    )
    model, windows = tmp_path / "m.onnx", windows[:5]
    (tmp_path / "motion").mkdir()
    np.save(tmp_path / "motion" / "a.npy", windows)
    np.savez(tmp_path / "motion" / "b.npz", x=windows[:2])
    np.savetxt(tmp_path / "motion" / "c.csv", windows[4].T, delimiter=",")
    (tmp_path / "motion" / "photo.png").write_bytes(png(0))
    held = [(tmp_path / "motion" / name).read_bytes() for name in ("a.npy", "b.npz", "c.csv")]
    pq.write_table(pa.table({"window": held}), tmp_path / "motion" / "t.parquet")
    assert run("scan", model, "motion", "-o", "out").returncode == 0
    found = rows(tmp_path / "out")
    assert list(failures(tmp_path / "out")) == ["photo.png"]
    shifts = [row["shift"] for row in found if not row["error"]]
    assert len(shifts) == 16
    np.testing.assert_allclose(shifts[8:], shifts[:8], rtol=0, atol=1e-6)  # in a table they are the same
    assert [row["window"] for row in found if row["path"].endswith("a.npy")] == [0, 1, 2, 3, 4]


def test_an_input_that_kills_is_the_only_one_lost(model: Path, tmp_path: Path) -> None:
    folder = photos(tmp_path / "photos", 6)
    (folder / "002a.png").write_bytes(POISON)
    words = ("scan", model, folder, "-o", tmp_path / "out", "--chunk", 4)
    deaths = 0
    while (done := leantta(*words, env=poisoned(tmp_path / "hole"))).returncode == -signal.SIGSEGV:
        deaths += 1
        assert deaths < 9
    assert (done.returncode, deaths) == (0, 4)
    assert list(failures(tmp_path / "out")) == ["002a.png"]
    assert "died" in failures(tmp_path / "out")["002a.png"]
    assert len(inputs(tmp_path / "out")) == len(set(inputs(tmp_path / "out"))) == 7


def test_a_killed_scan_goes_on_and_two_do_not_share_a_folder(run: Run, model: Path, tmp_path: Path) -> None:
    photos(tmp_path / "photos", 400)
    words = [*map(str, ("scan", model, "photos", "-o", "out", "--chunk", 5, "--batch", 1))]
    first = subprocess.Popen([sys.executable, "-m", "leantta", *words], stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not list((tmp_path / "out").glob("parts/*/0*.parquet")) and time.monotonic() < until:
        time.sleep(0.005)
    first.send_signal(signal.SIGSTOP)  # it holds the folder, and does nothing
    beside = run(*words)
    assert (beside.returncode, "another scan" in beside.stderr) == (1, True)
    first.kill()
    first.wait()
    assert len(list((tmp_path / "out").glob("parts/*/0*.parquet"))) < 80
    assert run(*words).returncode == 0
    assert len(inputs(tmp_path / "out")) == len(set(inputs(tmp_path / "out"))) == 400


@pytest.mark.skipif(
    shutil.which("unshare") is None or os.geteuid() != 0, reason="a small disk needs root to mount"
)
def test_a_full_disk_loses_nothing(model: Path, tmp_path: Path) -> None:
    """A real file system of 200 KB, mounted for these processes only."""
    photos(tmp_path / "photos", 60)
    small = tmp_path / "small"
    small.mkdir()
    command = f"{sys.executable} -m leantta scan {model} {tmp_path}/photos -o {small}/out --chunk 4"
    script = (
        f"mount -t tmpfs -o size=160k none {small} && head -c 90000 /dev/zero > {small}/taken && "
        f"{command}; code=$?; rm {small}/taken; {command} || exit 99; "
        f"cp -r {small}/out {tmp_path}; exit $code"
    )
    done = subprocess.run(
        ["unshare", "-m", "bash", "-c", script], capture_output=True, text=True, check=False
    )
    if "permission denied" in done.stderr.lower():
        pytest.skip("no right to mount here")
    assert done.returncode == 1, done.stderr
    assert any(line.startswith("error: ") and "No space left" in line for line in done.stderr.splitlines())
    assert "part files were there already" in done.stdout
    assert len(inputs(tmp_path / "out")) == len(set(inputs(tmp_path / "out"))) == 60
    assert failures(tmp_path / "out") == {}


def test_report(run: Run, model: Path, tmp_path: Path) -> None:
    photos(tmp_path / "archive" / "north", 5)
    photos(tmp_path / "archive" / "south", 3, seed=50)
    (tmp_path / "archive" / "south" / "bad.png").write_bytes(b"no image")
    tar(tmp_path / "archive" / "old.tar", 4)
    assert run("scan", model, "archive", "-o", "out", "--chunk", 4).returncode == 0
    found = rows(tmp_path / "out")
    told = json.loads(run("report", "out", "--json").stdout)
    assert (told["inputs"], told["errors"], told["part_files_missing"]) == (13, 1, 0)
    shifts = [row["shift"] for row in found if not row["error"]]
    assert told["mean_shift"] == pytest.approx(np.mean(shifts), abs=1e-5)
    assert told["above_1"] == pytest.approx(np.mean(np.array(shifts) > 1), abs=1e-5)
    assert sum(told["labels"].values()) == 12
    assert {Path(name).name: group["inputs"] for name, group in told["folders"].items()} == {
        "archive": 4,
        "north": 5,
        "south": 4,
    }
    assert told["times"]["2023-11-14"]["inputs"] == 4
    assert [each["shift"] for each in told["worst"]] == pytest.approx(sorted(shifts)[:-11:-1], abs=1e-5)
    assert [Path(each["input"]).name for each in told["failed"]] == ["bad.png"]
    text = run("report", "out").stdout
    assert "complete" in text
    assert "bad.png" in text
    next((tmp_path / "out" / "parts").rglob("*.parquet")).unlink()
    assert "1 parts missing" in run("report", "out").stdout
