"""The running server: its token, its limits, how it stops, and how a file is replaced under load."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import leantta
from reference import assert_close
from running import Run
from runtime.artifacts import artifact
from serve.load import load, requests_for
from serve.served import GOLDEN, Answer, Served, binary_body, read_binary, read_json, serving

Array = npt.NDArray[Any]

SMALL = np.random.default_rng(0).random((2, 3, 12, 12), dtype=np.float32)
LARGE = np.random.default_rng(0).integers(0, 256, (2, 1024, 1024, 3), dtype=np.uint8)  # a second's work or so


@pytest.fixture
def slow_model(tmp_path: Path) -> Path:
    return artifact(tmp_path / "slow.onnx", kind="image", shape=(3, 1024, 1024))


def ask_slowly(served: Served) -> Answer:
    body, headers = binary_body(LARGE)
    return served.ask("POST", "/v2/models/slow/infer", body, headers)


def until(met: object, seconds: float = 20) -> None:
    assert callable(met)
    end = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "token.txt").write_text("a-secret-of-mine\n")
    with serving(folder, GOLDEN / "format1.onnx", "--token-file", "token.txt", "--threads", 1) as served:
        yield served


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v2"),
        ("GET", "/v2/models/format1"),
        ("POST", "/v2/models/format1/infer"),
        ("POST", "/v2/repository/index"),
        ("POST", "/predict"),
        ("GET", "/metrics"),
        ("GET", "/openapi.json"),
    ],
)
def test_without_the_token_nothing_is_told(guarded: Served, method: str, path: str) -> None:
    for headers in (
        {},
        {"Authorization": "Bearer a-secret-of-min"},
        {"Authorization": "Basic a-secret-of-mine"},
        {"Authorization": "Bearer ü"},
    ):
        encoded = {key: value.encode("latin-1").decode("latin-1") for key, value in headers.items()}
        answer = guarded.ask(method, path, b"", encoded)
        assert answer.status == 401
        assert answer.headers["www-authenticate"] == "Bearer"
    with_token = guarded.ask(method, path, b"", {"Authorization": "Bearer a-secret-of-mine"})
    assert with_token.status != 401


def test_health_is_open_to_all(guarded: Served) -> None:
    for path in ("/v2/health/live", "/v2/health/ready", "/v2/models/format1/ready"):
        assert guarded.ask("GET", path).status == 200


def test_a_full_queue_says_when_to_try_again(slow_model: Path, tmp_path: Path) -> None:
    limits = ("--queue", 1, "--max-batch", 2, "--max-bytes", 50_000_000, "--threads", 1)
    with serving(tmp_path, slow_model, *limits) as served, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask_slowly(served), range(8)))
        codes = [answer.status for answer in answers]
        assert set(codes) == {200, 429}
        assert all(each.headers["retry-after"] == "1" for each in answers if each.status == 429)
        numbers = served.metrics()
        key = "leantta_requests_total|code=429|model=slow|route=infer"
        assert numbers[key] == codes.count(429)


def test_what_takes_too_long_is_given_up(slow_model: Path, tmp_path: Path) -> None:
    with serving(tmp_path, slow_model, "--timeout", 0.05, "--max-bytes", 50_000_000) as served:
        answer = ask_slowly(served)
        assert answer.status == 504
        assert "0.05 seconds" in answer.json()["error"]
        assert served.ask("GET", "/v2/health/live").status == 200


def test_a_stop_finishes_what_was_accepted_and_refuses_more(slow_model: Path, tmp_path: Path) -> None:
    settings = ("--max-bytes", 50_000_000, "--threads", 1, "--max-batch", 2)
    with serving(tmp_path, slow_model, *settings) as served, ThreadPoolExecutor(6) as pool:
        waiting = [pool.submit(ask_slowly, served) for _ in range(4)]
        until(lambda: served.metrics()["leantta_queue_length|model=slow"] >= 2)
        served.process.send_signal(signal.SIGTERM)
        until(lambda: served.ask("GET", "/v2/health/ready").status == 503)
        late = ask_slowly(served)
        assert late.status == 503
        assert late.headers["retry-after"] == "1"
        assert [each.result().status for each in waiting] == [200] * 4
        assert served.process.wait(30) == 0
        assert served.said() == ""


def replacement(path: Path, source: Path) -> None:
    """Put another file in the place of one, as `leantta convert` does."""
    part = path.with_suffix(".part")
    part.write_bytes(source.read_bytes())
    part.replace(path)


def version_of(served: Served) -> str:
    version: str = served.ask("GET", "/v2/models/model").json()["versions"][0]
    return version


def test_a_file_that_is_replaced_under_load_answers_old_or_new(tmp_path: Path) -> None:
    kinds = ("format1", "format1_steps")
    expected = {}
    for kind in kinds:
        with leantta.load(GOLDEN / f"{kind}.onnx", threads=1) as session:
            expected[kind] = session.predict(SMALL)
            tolerance = session.info.selftest.tolerance
    assert np.abs(expected[kinds[0]] - expected[kinds[1]]).max() > 4 * tolerance
    model = tmp_path / "model.onnx"
    replacement(model, GOLDEN / "format1.onnx")
    body, headers = binary_body(SMALL)
    answers: list[Answer] = []
    stop = threading.Event()

    def ask_on(served: Served) -> None:
        while not stop.is_set():
            answers.append(served.ask("POST", "/v2/models/model/infer", body, headers))

    with serving(tmp_path, model, "--threads", 1) as served, ThreadPoolExecutor(4) as pool:
        versions = [version_of(served)]
        asking = [pool.submit(ask_on, served) for _ in range(4)]
        try:
            for kind in (kinds[1], kinds[0]):
                replacement(model, GOLDEN / f"{kind}.onnx")
                until(lambda: version_of(served) != versions[-1])
                versions.append(version_of(served))
        finally:
            stop.set()
        for each in asking:
            each.result()
        assert versions[0] == versions[2] != versions[1]
        assert served.metrics()["leantta_reloads_total|result=taken"] == 2
    assert {each.status for each in answers} == {200}
    seen = set()
    for answer in answers:
        logits = read_binary(answer)["logits"]
        matches = [kind for kind in kinds if np.abs(logits - expected[kind]).max() <= tolerance]
        assert len(matches) == 1
        seen.add(matches[0])
        version = versions[kinds.index(matches[0])]
        assert f'"model_version":"{version}"'.encode() in answer.body
    assert seen == set(kinds)


def test_a_file_that_breaks_leaves_the_old_one_at_work(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    replacement(model, GOLDEN / "format1.onnx")
    with serving(tmp_path, model, "--threads", 1) as served:
        version = version_of(served)
        whole = model.read_bytes()
        model.write_bytes(whole[: len(whole) // 2])
        until(lambda: served.metrics()["leantta_reloads_total|result=refused"] == 1)
        assert version_of(served) == version
        assert served.infer("model", SMALL).status == 200
        assert "answers on" in served.said()
        model.unlink()
        time.sleep(1.2)
        assert served.infer("model", SMALL).status == 200
        replacement(model, GOLDEN / "format1_steps.onnx")
        until(lambda: version_of(served) != version)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def test_clients_that_try_again_lose_nothing_when_the_server_is_killed(tmp_path: Path) -> None:
    port = free_port()
    file = GOLDEN / "format1.onnx"
    requests = requests_for("format1", (3, 12, 12), 1)
    most = 8 * 80

    async def asked() -> tuple[int, int, int]:
        found, answers = await load(port, requests, clients=8, seconds=120, batch=1, most=most, retry=True)
        return found.answered, found.lost, max(map(len, answers.values()))

    with ThreadPoolExecutor(1) as pool:
        with serving(tmp_path, file, "--threads", 1, port=port) as first:
            waiting = pool.submit(asyncio.run, asked())
            until(lambda: first.metrics().get("leantta_inputs_total|model=format1", 0) > most / 8)
            os.kill(first.process.pid, signal.SIGKILL)
            first.process.wait(10)
        assert not waiting.done()
        with serving(tmp_path, file, "--threads", 1, port=port) as second:
            answered, lost, _ = waiting.result(120)
            assert second.metrics()["leantta_inputs_total|model=format1"] > 0
    assert (answered, lost) == (most, 0)


def test_only_so_many_streams_are_remembered(tmp_path: Path) -> None:
    images = np.load(GOLDEN / "format1_stream.npz")["images"]
    middle = len(images) // 2
    with serving(tmp_path, GOLDEN / "format1_stream.onnx", "--streams", 3, "--threads", 1) as served:

        def second_half(stream: str) -> Array:
            return read_json(served.infer("format1_stream", images[middle:], stream=stream))["logits"]

        for name in ("kept", "gone", "b", "kept", "c"):  # the one not used for longest is "gone"
            served.infer("format1_stream", images[:middle], stream=name)
            served.infer("format1_stream", images[:middle], stream="kept")
        kept, gone = second_half("kept"), second_half("gone")
        assert served.metrics()["leantta_streams|model=format1_stream"] == 3
        assert_close(gone, second_half("new"), atol=1e-5)
        assert np.abs(gone - kept).max() > 1e-3
        served.infer("format1_stream", images[:1], sequence_id="new", sequence_end=True)
        assert served.metrics()["leantta_streams|model=format1_stream"] == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["none.onnx"], "none.onnx"),
        (["a/model.onnx", "b/model.onnx"], "both be called"),
        (["bad.onnx"], "bad.onnx"),
        (["a/model.onnx", "--token-file", "none.txt"], "none.txt"),
        (["a/model.onnx", "--token-file", "short.txt"], "short.txt"),
        (["a/model.onnx", "--port", "PORT"], "cannot listen"),
        (["a/model.onnx", "--host", "no.such.host.invalid"], "cannot listen"),
    ],
    ids=lambda value: "" if isinstance(value, str) else " ".join(value),
)
def test_a_server_that_cannot_start_says_why(run: Run, tmp_path: Path, words: list[str], says: str) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        replacement(tmp_path / folder / "model.onnx", GOLDEN / "format1.onnx")
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    (tmp_path / "short.txt").write_text("abc\n")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = ["--port", "0"] if "--port" not in words else []
        filled = [str(taken.getsockname()[1]) if word == "PORT" else word for word in words]
        done = run("serve", *filled, *port)
    assert done.returncode == 1
    assert says in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_others_are_let_in_with_a_warning_only(tmp_path: Path) -> None:
    (tmp_path / "token.txt").write_text("a-secret-of-mine")
    file = GOLDEN / "format1.onnx"
    with serving(tmp_path, file, "--host", "0.0.0.0") as served:
        assert "WITHOUT A TOKEN" in served.said()
    with serving(tmp_path, file, "--host", "0.0.0.0", "--token-file", "token.txt") as served:
        assert "warning" in served.said()
        assert "WITHOUT" not in served.said()


def test_the_server_never_loads_torch_or_onnx() -> None:
    code = (
        "import sys\n"
        "for name in ('torch', 'onnx', 'scipy'): sys.modules[name] = None\n"
        "import leantta.serve.server"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_the_extra_the_line_that_brings_it_is_said() -> None:
    code = (
        "import sys; sys.modules['starlette'] = None; sys.argv = ['leantta', 'serve', 'a.onnx']\n"
        "from leantta.cli.main import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install 'leantta[serve]'" in done.stderr
