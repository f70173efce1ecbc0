"""`leantta watch` as people use it: folders that fill, films, pipes, hooks, a broker; the page of its log."""

import json
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from leantta.monitor.log import read_lines
from running import Run

GOLDEN = Path(__file__).resolve().parents[1] / "runtime" / "golden" / "format1.onnx"


@pytest.fixture(scope="module")
def pictures() -> tuple[list[np.ndarray[Any, Any]], list[np.ndarray[Any, Any]]]:
    """Images that the golden file finds usual, and others that it finds shifted."""
    import leantta

    random = np.random.default_rng(0)
    with leantta.load(GOLDEN, threads=1) as session:
        height, width = session.info.input.shape[1:]
        stored = np.load(GOLDEN.with_suffix(".npz"))["images"]
        tried = [*stored, *random.integers(0, 256, (40, height, width, 3), dtype=np.uint8)]
        tried += [np.full((height, width, 3), value, np.uint8) for value in range(0, 256, 8)]
        found = [image for image in tried if image.dtype == np.uint8]
        shifts = session.shift(np.stack(found))
    calm = [image for image, shift in zip(found, shifts, strict=True) if shift <= 1]
    odd = [image for image, shift in zip(found, shifts, strict=True) if shift > 1]
    assert calm
    assert odd
    return calm, odd


def fill(folder: Path, images: list[np.ndarray[Any, Any]], count: int, name: str) -> None:
    folder.mkdir(exist_ok=True)
    for number in range(count):
        Image.fromarray(images[number % len(images)]).save(folder / f"{name}{number:03d}.png")


def test_a_folder_is_watched_and_its_drift_is_told(run: Run, tmp_path: Path, pictures) -> None:
    calm, odd = pictures
    fill(tmp_path / "in", calm, 30, "a")
    fill(tmp_path / "in", odd, 30, "b")
    (tmp_path / "in" / "c.png").write_bytes(b"no picture")
    said = tmp_path / "said.json"
    hook = f"{sys.executable} -c \"import sys; open({str(said)!r}, 'w').write(sys.stdin.read())\""
    words = ("watch", GOLDEN, "in", "--once", "--log", "log.jsonl", "--examples", "odd", "--keep", 5)
    done = run(*words, "--hook", hook, "--threads", 1)
    assert done.returncode == 0
    assert "ALARM" in done.stdout
    assert "60 inputs" in done.stdout
    assert json.loads(said.read_text())["kind"] == "alarm"
    lines = list(read_lines(tmp_path / "log.jsonl"))
    assert sum("shift" in line and "path" in line for line in lines) == 60
    assert sum("error" in line for line in lines) == 1
    assert len(list((tmp_path / "odd").glob("*.png"))) == min(5, 30)
    again = run(*words, "--threads", 1)
    assert "0 inputs" in again.stdout, "what is in the log is not watched again"
    page(run, tmp_path)


def page(run: Run, folder: Path) -> None:
    done = run("report", "log.jsonl", "--examples", "odd", "-o", "page.html")
    assert done.returncode == 0
    seen = _Links()
    seen.feed((folder / "page.html").read_text())
    assert len(seen.sources) == 2 + 5
    assert all(source.startswith("data:") for source in seen.sources)
    assert not seen.links


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.sources: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        self.sources += [told["src"] or ""] if "src" in told else []
        self.links += [told["href"] or ""] if "href" in told else []


def test_a_folder_that_fills_is_followed_until_it_is_stopped(tmp_path: Path, pictures) -> None:
    calm, _ = pictures
    fill(tmp_path / "in", calm, 2, "a")
    words = ["watch", str(GOLDEN), "in", "--log", "log.jsonl", "--threads", "1"]
    started = subprocess.Popen(
        [sys.executable, "-m", "leantta", *words], cwd=tmp_path, stdout=subprocess.PIPE
    )
    try:
        wait_for(lambda: count(tmp_path / "log.jsonl") == 2)
        fill(tmp_path / "in", calm, 1, "later")
        wait_for(lambda: count(tmp_path / "log.jsonl") == 3)
    finally:
        started.send_signal(signal.SIGTERM)
    told = started.communicate(timeout=30)[0]
    assert started.returncode == 0
    assert b"3 inputs" in told


def count(log: Path) -> int:
    return sum("shift" in line and "path" in line for line in read_lines(log)) if log.exists() else 0


def wait_for(done, seconds: float = 40) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_answers_of_run_are_watched_from_a_pipe(tmp_path: Path) -> None:
    lines = [json.dumps({"path": str(n), "label": "a", "probability": 1, "shift": 3.0}) for n in range(9)]
    done = subprocess.run(
        [sys.executable, "-m", "leantta", "watch", str(GOLDEN), "-"],
        input="\n".join(lines).encode(),
        capture_output=True,
        cwd=tmp_path,
        check=True,
        timeout=60,
    )
    assert b"ALARM" in done.stdout
    assert b"9 inputs, 9 with a shift above 1" in done.stdout


def test_a_film_is_watched(run: Run, tmp_path: Path) -> None:
    cv2 = pytest.importorskip("cv2", reason="films are read with OpenCV")
    writer = cv2.VideoWriter(str(tmp_path / "door.avi"), cv2.VideoWriter.fourcc(*"MJPG"), 10.0, (64, 48))
    for number in range(12):
        writer.write(np.full((48, 64, 3), 20 * number, np.uint8))
    writer.release()
    done = run("watch", GOLDEN, "door.avi", "--every", 0, "--threads", 1)
    assert done.returncode == 0
    assert "12 inputs" in done.stdout


@pytest.fixture
def broker() -> Iterator[int]:
    program = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
    if program is None:
        pytest.skip("the broker mosquitto is not installed (apt-get install mosquitto)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    running = subprocess.Popen([program, "-p", str(port)], stderr=subprocess.DEVNULL)
    wait_for(lambda: _listens(port))
    yield port
    running.terminate()
    running.wait(10)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_broker_and_home_assistant_are_told(run: Run, broker: int, tmp_path: Path) -> None:
    from paho.mqtt import client as paho
    from paho.mqtt.enums import CallbackAPIVersion

    heard: dict[str, list[str]] = {}
    listener = paho.Client(CallbackAPIVersion.VERSION2)
    listener.on_message = lambda _c, _u, m: heard.setdefault(m.topic, []).append(m.payload.decode())
    listener.connect("127.0.0.1", broker)
    listener.subscribe("#", qos=1)
    listener.loop_start()
    lines = [json.dumps({"label": "cat", "probability": 1, "shift": 3.0}) for _ in range(9)]
    (tmp_path / "answers.jsonl").write_text("\n".join(lines))
    done = run("watch", GOLDEN, "answers.jsonl", "--mqtt", f"127.0.0.1:{broker}", "--topic", "leantta/door")
    assert done.returncode == 0
    wait_for(lambda: len(heard.get("leantta/door/state", [])) == 9)
    wait_for(lambda: heard.get("leantta/door/online", [])[-1:] == ["offline"])
    listener.loop_stop()
    listener.disconnect()
    assert json.loads(heard["leantta/door/state"][-1]) == {
        "label": "cat", "probability": 1.0, "shift": 3.0, "drift": "ON",
    }  # fmt: skip
    assert json.loads(heard["leantta/door/event"][0])["kind"] == "alarm"
    found = {
        topic.split("/")[1:4:2][0]: json.loads(texts[0])
        for topic, texts in heard.items()
        if "config" in topic
    }
    assert {"binary_sensor", "sensor"} <= set(found)
    for config in found.values():
        assert config["state_topic"] == "leantta/door/state"
        assert config["unique_id"]


@pytest.mark.parametrize(
    "words",
    [
        ("in", "--windows", "1"),
        ("in", "--hook", ""),
        ("in", "--hook", "'"),
        ("nothing",),
        ("nothing.jsonl",),
        ("no-shift.jsonl",),
        ("in", "--mqtt", "127.0.0.1:1"),
        ("in", "--mqtt", "a b"),
        ("in", "--log", "file/log.jsonl"),
    ],
)
def test_what_cannot_be_is_one_line(run: Run, tmp_path: Path, pictures, words: tuple[object, ...]) -> None:
    fill(tmp_path / "in", pictures[0], 1, "a")
    (tmp_path / "file").write_text("")
    (tmp_path / "no-shift.jsonl").write_text('{"label": "cat"}\n')
    done = run("watch", GOLDEN, *words, "--once", "--threads", 1)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("error: ")


def test_a_hook_that_fails_is_told_and_the_watch_goes_on(run: Run, tmp_path: Path) -> None:
    lines = [json.dumps({"shift": 3.0}) for _ in range(20)]
    (tmp_path / "answers.jsonl").write_text("\n".join(lines))
    done = run("watch", GOLDEN, "answers.jsonl", "--hook", "no-such-command-anywhere")
    assert done.returncode == 0
    assert "no-such-command-anywhere" in done.stderr
    assert "20 inputs" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["answers.jsonl"]
