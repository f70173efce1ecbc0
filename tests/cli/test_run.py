"""`leantta run` as a device uses it: files, folders and pipes, with Pillow and without."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from leantta.data.resize import cover, luminance
from leantta.runtime.session import load
from running import Done, Run
from runtime.artifacts import artifact

PICTURE = np.random.default_rng(0).integers(0, 256, (20, 33, 3), dtype=np.uint8)
SMALL = np.random.default_rng(1).integers(0, 256, (8, 8, 3), dtype=np.uint8)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return artifact(tmp_path / "model.onnx", kind="image")


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    (tmp_path / "photos").mkdir()
    Image.fromarray(SMALL).save(tmp_path / "photos" / "a.png")
    Image.fromarray(PICTURE).save(tmp_path / "photos" / "b.bmp")
    return tmp_path / "photos"


def in_own_process(*words: object, stdin: bytes = b"", **variables: str) -> Done:
    done = subprocess.run(
        [sys.executable, "-m", "leantta", "run", *map(str, words)],
        input=stdin,
        capture_output=True,
        env={**os.environ, **variables},
        timeout=60,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def lines(done: Done) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_json_lines_are_what_the_session_says(run: Run, model: Path, photos: Path) -> None:
    done = run("run", model, photos, "--json", "--top", 2, "--explain", "--threads", 1)
    assert (done.returncode, done.stderr) == (0, "")
    found = lines(done)
    assert [Path(line["path"]).name for line in found] == ["a.png", "b.bmp"]
    with load(model, threads=1) as session:
        for line, image in zip(found, (SMALL, cover(PICTURE, 8, 8)), strict=True):
            wanted = session.predict_one(image)
            assert line["label"] == wanted.label
            assert line["probability"] == pytest.approx(wanted.probability, abs=1e-5)
            assert line["shift"] == pytest.approx(wanted.shift, abs=1e-5)
            assert line["distances"] == pytest.approx(wanted.distances, abs=1e-5)
            assert 0 < line["latency_ms"] < 1000
            assert line["top"][0]["label"] == wanted.label
            assert len(line["top"]) == 2
            assert line["top"][0]["probability"] >= line["top"][1]["probability"]


def test_table(run: Run, model: Path, photos: Path) -> None:
    done = run("run", model, photos / "a.png", photos / "b.bmp")
    assert done.returncode == 0
    header, *rows = done.stdout.splitlines()
    assert header.split() == ["path", "label", "probability", "shift", "latency_ms"]
    assert [row.split()[0] for row in rows] == [str(photos / "a.png"), str(photos / "b.bmp")]
    ends = {len(row) for row in (header, *rows)}
    assert len(ends) == 1  # the columns are aligned, though each line is printed on its own
    explained = run("run", model, photos / "a.png", "--explain", "--top", 9).stdout.splitlines()
    assert explained[2].startswith("  bn1  ")
    assert explained[3].startswith("  layer1.bn1  ")
    assert explained[1].count("class ") == 4  # the model has no more


def test_a_model_that_does_not_adapt_has_no_shift(run: Run, tmp_path: Path, photos: Path) -> None:
    fixed = artifact(tmp_path / "fixed.onnx", adapts=False)
    assert lines(run("run", fixed, photos, "--json"))[0]["shift"] is None
    assert run("run", fixed, photos).stdout.splitlines()[1].split()[-2] == "-"
    done = run("run", fixed, photos, "--explain")
    assert done.returncode == 1
    assert "nothing adapts" in done.stderr


def test_grey_models_see_luminance(run: Run, tmp_path: Path, photos: Path) -> None:
    grey = artifact(tmp_path / "grey.onnx", shape=(1, 8, 8))
    (line,) = lines(run("run", grey, photos / "b.bmp", "--json"))
    with load(grey) as session:
        wanted = session.predict_one(luminance(cover(PICTURE, 8, 8)))
    assert line["probability"] == pytest.approx(wanted.probability, abs=1e-5)


def test_what_cannot_be_read_does_not_stop_the_rest(run: Run, model: Path, photos: Path) -> None:
    (photos / "aa.png").write_text("no image")
    (photos / "ab.png").write_bytes(b"")
    done = run("run", model, "nowhere", photos)
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == 3
    errors = done.stderr.splitlines()
    assert len(errors) == 3
    assert all(line.startswith("error: ") for line in errors)
    for name, line in zip(("nowhere", "aa.png", "ab.png"), errors, strict=True):
        assert name in line
    found = lines(run("run", model, "nowhere", photos, "--json"))
    assert [set(line) == {"path", "error"} for line in found] == [True, False, True, True, False]
    assert Path(found[2]["path"]).name == "aa.png"


def test_standard_input_may_be_an_image(model: Path) -> None:
    for kind in ("PNG", "JPEG", "BMP", "WEBP"):
        stream = io.BytesIO()
        Image.fromarray(PICTURE).save(stream, kind)
        done = in_own_process(model, "-", "--json", stdin=stream.getvalue())
        assert done.returncode == 0, done.stderr
        (line,) = lines(done)
        assert (line["path"], line["label"][:5]) == ("-", "class")


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_standard_input_may_be_paths(model: Path, photos: Path, end: bytes) -> None:
    names = [b"", os.fsencode(photos / "a.png"), b"BMW.png", b"", os.fsencode(photos)]
    done = in_own_process(model, "-", "--json", stdin=end.join(names))
    assert done.returncode == 1
    found = lines(done)
    assert [Path(line["path"]).name for line in found] == ["a.png", "BMW.png", "a.png", "b.bmp"]
    assert "no image or folder of images at BMW.png" in found[1]["error"]
    done = in_own_process(model, "-", "--json", stdin=b"BMW.png\n" + os.fsencode(photos / "a.png"))
    assert ["error" in line for line in lines(done)] == [True, False]


@pytest.mark.parametrize(
    "stdin", [b"", b"\n\n", b"\x89PNG\r\n\x1a\n and no more", b"\0\1\2\n" * 3, b"x" * 9999]
)
def test_standard_input_may_be_nothing_of_use(model: Path, stdin: bytes) -> None:
    done = in_own_process(model, "-", stdin=stdin)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_lines_come_as_soon_as_they_are_known(model: Path, photos: Path) -> None:
    command = [sys.executable, "-m", "leantta", "run", str(model), "-", "--json"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(2):  # an answer before the next question is asked
            process.stdin.write(os.fsencode(photos / "a.png") + b"\n")
            assert json.loads(process.stdout.readline())["label"].startswith("class")
        process.stdin.close()
        assert process.wait(30) == 0


def test_a_reader_that_leaves_early_is_no_traceback(model: Path, photos: Path) -> None:
    paths = " ".join([str(photos)] * 200)
    command = f"{sys.executable} -m leantta run {model} {paths} --json | head -1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert len(done.stdout.splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_a_device_has_numpy_pillow_and_onnxruntime_only(model: Path, photos: Path, tmp_path: Path) -> None:
    names = ("torch", "onnx", "scipy", "safetensors", "openvino", "soundfile")
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nfor name in {names}: sys.modules[name] = None\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = in_own_process(model, photos, "--json", PYTHONPATH=path)
    labels = [line["label"] for line in lines(done)]
    assert labels == [line["label"] for line in lines(in_own_process(model, photos, "--json"))]
    assert done.returncode == 0
    done = in_own_process(model, photos, "--engine", "openvino", PYTHONPATH=path)
    assert done.stderr == "error: this needs the package 'openvino': pip install 'leantta[openvino]'\n"


def test_what_cannot_be_run(run: Run, model: Path, photos: Path, tmp_path: Path) -> None:
    def says(*words: object) -> str:
        done = run("run", *words)
        assert done.returncode == 1
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        return line

    assert "no model file at gone.onnx" in says("gone.onnx", photos)
    (tmp_path / "text.onnx").write_text("hello")
    assert "is not an ONNX file" in says("text.onnx", photos)
    sound = artifact(tmp_path / "sound.onnx", normalized=False)
    assert "not grey or RGB images" in says(sound, photos)
    assert "convert with --portable" in says(model, photos, "--engine", "openvino")
    assert run("run", model).returncode == 2
    assert run("run", model, photos, "--top", 0).returncode == 2


def test_names_cannot_command_the_terminal(run: Run, model: Path, photos: Path) -> None:
    (photos / "a.png").rename(photos / "\x1b[2Jred\n.png")
    done = run("run", model, photos)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert len(done.stdout.splitlines()) == 3


def test_help_teaches_by_example(run: Run) -> None:
    assert "\n    leantta run model.onnx cat.png\n" in run("run", "--help").stdout
