"""`leantta run` with sound: clips, folders, long recordings, and files that are no sound."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from leantta.data.audio import read_wave
from leantta.runtime.inputs import hear
from leantta.runtime.session import load
from running import Done, Run
from runtime.artifacts import artifact

soundfile = pytest.importorskip("soundfile", reason="needs the extra `audio`", exc_type=ImportError)

SOUND = {"sample_rate": 32_000, "clip_samples": 320_000, "filling": "silence"}
Array = npt.NDArray[Any]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model of log-mel frames that says yes or no."""
    changes = {"input.kind": "frames", "input.sound": SOUND, "classes": ["no bird", "bird"]}
    shape = (1, 240, 64)
    return artifact(tmp_path / "ear.onnx", shape=shape, normalized=False, outputs=1, changes=changes)


@pytest.fixture
def sounds(tmp_path: Path) -> Path:
    folder = tmp_path / "sounds"
    (folder / "inner").mkdir(parents=True)
    soundfile.write(folder / "a.wav", noise(2.0), 32_000)
    soundfile.write(folder / "inner" / "b.flac", noise(12.0), 32_000)
    return folder


def noise(seconds: float, rate: int = 32_000) -> Array:
    return np.random.default_rng(0).uniform(-0.4, 0.4, round(seconds * rate))


def lines(done: Done) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def in_own_process(*words: object, stdin: bytes = b"", **variables: str) -> Done:
    done = subprocess.run(
        [sys.executable, "-m", "leantta", "run", *map(str, words)],
        input=stdin,
        capture_output=True,
        env={**os.environ, **variables},
        timeout=120,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_json_lines_are_what_the_session_says(run: Run, model: Path, sounds: Path) -> None:
    done = run("run", model, sounds / "a.wav", sounds / "inner", "--json", "--threads", 1)
    assert (done.returncode, done.stderr) == (0, "")
    found = lines(done)
    assert [(Path(line["path"]).name, line["start_s"]) for line in found] == [
        ("a.wav", 0.0),
        ("b.flac", 0.0),
        ("b.flac", 2.0),  # the last window ends with the recording
    ]
    long = read_wave(sounds / "inner" / "b.flac")
    waves = (read_wave(sounds / "a.wav"), long[:320_000], long[64_000:])
    with load(model, threads=1) as session:
        for line, wave in zip(found, waves, strict=True):
            wanted = session.predict_one(hear(wave, session.info))
            assert line["label"] == wanted.label in ("no bird", "bird")
            assert line["probability"] == pytest.approx(wanted.probability, abs=1e-5)
            assert line["probability"] >= 0.5
            assert line["shift"] == pytest.approx(wanted.shift, abs=1e-5)
            assert line["latency_ms"] > 0


def test_the_table_says_when(run: Run, model: Path, sounds: Path) -> None:
    done = run("run", model, sounds)
    header, *rows = done.stdout.splitlines()
    assert header.split() == ["path", "start_s", "label", "probability", "shift", "latency_ms"]
    assert [row.split()[1] for row in rows] == ["0.0", "0.0", "2.0"]
    assert len({len(line) for line in (header, *rows)}) == 1  # the columns are aligned


USABLE: dict[str, tuple[Array, int, str]] = {
    "ten milliseconds": (noise(0.01), 32_000, "PCM_16"),
    "silence": (np.zeros(32_000), 32_000, "PCM_16"),
    "8 bits": (noise(1), 32_000, "PCM_U8"),
    "96 kHz": (noise(1, 96_000), 96_000, "PCM_24"),
    "six channels": (np.stack([noise(1)] * 6, axis=1), 32_000, "PCM_16"),
}


@pytest.mark.parametrize("what", USABLE)
def test_odd_clips_that_can_be_heard(run: Run, model: Path, tmp_path: Path, what: str) -> None:
    wave, rate, subtype = USABLE[what]
    soundfile.write(tmp_path / "clip.wav", wave, rate, subtype=subtype)
    done = run("run", model, tmp_path / "clip.wav", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = lines(done)
    assert line["start_s"] == 0
    assert np.isfinite([line["probability"], line["shift"]]).all()


def test_what_cannot_be_heard_does_not_stop_the_rest(run: Run, model: Path, sounds: Path) -> None:
    (sounds / "b_text.wav").write_text("no sound")
    (sounds / "c_nothing.ogg").write_bytes(b"")
    soundfile.write(sounds / "d_empty.wav", np.zeros(0), 32_000)
    broken = noise(12)
    broken[-5] = np.nan
    soundfile.write(sounds / "e_nan.wav", broken, 32_000, subtype="FLOAT")
    (sounds / "notes.txt").write_text("not meant")
    done = run("run", model, sounds / "notes.txt", "nowhere", sounds, "--json")
    assert done.returncode == 1
    wanted = [
        ("notes.txt", "does not end like a sound file"),
        ("nowhere", "no sound file or folder of sound files at nowhere"),
        ("a.wav", None),
        ("b_text.wav", "cannot be read as sound"),
        ("c_nothing.ogg", "cannot be read as sound"),
        ("d_empty.wav", "holds no samples"),
        ("e_nan.wav", None),  # its first ten seconds are sound
        ("e_nan.wav", "holds NaN or infinite samples"),
        ("b.flac", None),
        ("b.flac", None),
    ]
    for line, (name, message) in zip(lines(done), wanted, strict=True):
        assert Path(line["path"]).name == name
        assert ("error" in line) == (message is not None)
        assert message is None or message in line["error"]
    shown = run("run", model, sounds)
    assert len(shown.stderr.splitlines()) == 4
    assert all(line.startswith("error: ") for line in shown.stderr.splitlines())


def test_standard_input_may_be_paths(model: Path, sounds: Path) -> None:
    names = b"\n".join([os.fsencode(sounds / "a.wav"), b"", b"gone.wav"])
    done = in_own_process(model, "-", "--json", stdin=names)
    assert done.returncode == 1
    assert ["error" in line for line in lines(done)] == [False, True]
    done = in_own_process(model, "-", stdin=b"\n")
    assert done.stderr == "error: standard input names no sound files; give paths, one to a line.\n"


def test_a_device_needs_soundfile_beside_the_runtime(model: Path, sounds: Path, tmp_path: Path) -> None:
    names = ["torch", "onnx", "PIL", "scipy", "safetensors", "openvino"]
    blocked = "import sys\nfor name in {}: sys.modules[name] = None\n"
    (tmp_path / "sitecustomize.py").write_text(blocked.format(names))
    done = in_own_process(model, sounds, "--json", PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert len(lines(done)) == 3
    (tmp_path / "sitecustomize.py").write_text(blocked.format([*names, "soundfile"]))
    done = in_own_process(model, sounds / "a.wav", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.endswith("Run: pip install 'leantta[audio]'\n")


@pytest.mark.slow
def test_an_hour_is_heard_in_little_memory(model: Path, tmp_path: Path) -> None:
    minute = noise(60, 8_000)
    with soundfile.SoundFile(tmp_path / "hour.wav", "w", 8_000, 1, "PCM_U8") as file:
        for _ in range(60):
            file.write(minute)
    code = (
        "import resource, sys\nfrom leantta.cli.main import main\n"
        "try:\n    main()\nfinally:\n"
        "    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    )

    def peak_kb(path: Path) -> tuple[int, int]:
        done = subprocess.run(
            [sys.executable, "-c", code, "run", str(model), str(path), "--json", "--threads", "1"],
            capture_output=True,
            text=True,
            check=True,
        )
        return int(done.stderr.split()[-1]), len(done.stdout.splitlines())

    soundfile.write(tmp_path / "short.wav", noise(20, 8_000), 8_000, subtype="PCM_U8")
    short, windows = peak_kb(tmp_path / "short.wav")
    assert windows == 2
    long, windows = peak_kb(tmp_path / "hour.wav")
    assert windows == 360
    assert long - short < 30_000
