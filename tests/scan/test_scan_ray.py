"""`leantta scan --ray` with a real Ray: the same rows, a poisoned input, and thirty kills.

They need Ray, which is not among the packages for development: .venv/bin/pip install -c constraints.txt
'ray>=2.40,<3'. All but the first are slow: pytest -n0 -m slow tests/scan/test_scan_ray.py
"""

import os
import random
import socket
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.dataset as datasets
import pyarrow.parquet as pq
import pytest

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
from scan.process_tree import actors, below, kill

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra `ray`")

KILLS = 30
FILES, ROWS = 80, 2500


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return artifact(tmp_path / "model.onnx", kind="image")


def test_ray_gives_the_same_rows(model: Path, tmp_path: Path) -> None:
    folder = photos(tmp_path / "archive", 20)
    (folder / "bad.png").write_bytes(b"no image")
    tar(folder / "shard.tar", 9)
    table(folder / "table.parquet", 30)
    words = ("scan", model, folder, "--chunk", 8, "-o")
    assert leantta(*words, tmp_path / "plain").returncode == 0
    done = leantta(*words, tmp_path / "out", "--ray", "--actors", 2)
    assert done.returncode == 0, done.stderr
    assert "60 inputs, of which 1 could not be read," in done.stdout
    same_rows(rows(tmp_path / "out"), rows(tmp_path / "plain"))
    again = leantta(*words, tmp_path / "out")
    assert again.stdout.startswith("nothing is missing")  # whoever did it, it is done


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:1", "no Ray cluster answers at 127.0.0.1:1"),
        ("nonsense", "no address"),
        ("auto", "no address"),
        ("ray://127.0.0.1:10001", "HOST:PORT"),
    ],
)
def test_where_no_cluster_is(model: Path, tmp_path: Path, address: str, said: str) -> None:
    photos(tmp_path / "photos", 1)
    done = leantta("scan", model, tmp_path / "photos", "-o", tmp_path / "out", "--ray", address)
    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()  # an archive is not listed for nothing


@pytest.mark.parametrize("greets", [b"HTTP/1.0 400 Bad Request\r\n\r\n", b"", None])
def test_what_is_no_ray_is_told_at_once(model: Path, tmp_path: Path, greets: bytes | None) -> None:
    """A web server, one that hangs up, and one that says nothing."""
    photos(tmp_path / "photos", 1)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                if greets is None:
                    connection.recv(100)  # until the other has enough of it
                else:
                    connection.sendall(greets)

        threading.Thread(target=serve, daemon=True).start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        words = ("scan", model, tmp_path / "photos", "-o", tmp_path / "out", "--ray", address)
        done = leantta(*words, timeout=60)
    assert done.returncode == 1
    assert f"no Ray cluster answers at {address}" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_a_cluster_that_asks_for_a_token(model: Path, tmp_path: Path) -> None:
    photos(tmp_path / "photos", 3)
    ray = Path(sys.executable).with_name("ray")
    with TemporaryDirectory(prefix="lts") as short:  # Ray's sockets have room for few letters
        settings = {**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "7" * 64}
        words = ["start", "--head", "--port", "6437", "--num-cpus", "1", "--temp-dir", short, "--block"]
        more = ["--include-dashboard", "false", "--object-store-memory", "100000000"]
        head = subprocess.Popen(
            [ray, *words, *more], env=settings, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            asked = ("scan", model, tmp_path / "photos", "-o", tmp_path / "out", "--ray", "127.0.0.1:6437")
            until = time.monotonic() + 60
            while (done := leantta(*asked, env=settings)).returncode and time.monotonic() < until:
                time.sleep(1)
            assert done.returncode == 0, done.stderr
            plain = {**os.environ, "RAY_AUTH_MODE": "disabled"}
            done = leantta(*asked, "--restart", env=plain)
            assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr
            assert "RAY_AUTH_MODE=token" in done.stderr
        finally:
            kill(below(head.pid)[::-1])
            head.wait()


@pytest.mark.slow
def test_a_poisoned_input_is_the_only_one_lost(model: Path, tmp_path: Path) -> None:
    folder = photos(tmp_path / "photos", 60)
    for name in ("007a.png", "007b.png", "033a.png"):
        (folder / name).write_bytes(POISON)
    words = ("scan", model, folder, "-o", tmp_path / "out", "--chunk", 16, "--ray", "--actors", 2)
    done = leantta(*words, env=poisoned(tmp_path / "hole"), timeout=600)
    assert done.returncode == 0, done.stderr
    assert set(failures(tmp_path / "out")) == {"007a.png", "007b.png", "033a.png"}
    assert all("died" in error for error in failures(tmp_path / "out").values())
    assert len(inputs(tmp_path / "out")) == len(set(inputs(tmp_path / "out"))) == 63


@pytest.mark.slow
def test_no_worker_can_begin(model: Path, tmp_path: Path) -> None:
    """All die while they load the model: the scan ends and says so, instead of trying for ever."""
    hole = tmp_path / "hole"
    hole.mkdir()
    (hole / "sitecustomize.py").write_text(
        "import sys, os\n"
        "if any('default_worker' in word for word in sys.orig_argv):\n"
        "    import leantta.scan.scoring as scoring\n"
        "    scoring.load = lambda *words, **more: os._exit(9)\n"
    )
    photos(tmp_path / "photos", 3)
    words = ("scan", model, tmp_path / "photos", "-o", tmp_path / "out", "--ray", "--actors", 1)
    done = leantta(*words, env={**poisoned(tmp_path / "unused"), "PYTHONPATH": str(hole)}, timeout=600)
    assert done.returncode == 1
    assert "workers died one after the other" in done.stderr.splitlines()[-1]


def _archive(folder: Path) -> None:
    folder.mkdir()
    contents = [png(seed) for seed in range(50)] * (ROWS // 50)
    for number in range(FILES):
        pq.write_table(pa.table({"image": contents}), folder / f"{number:03d}.parquet", row_group_size=250)


@pytest.mark.slow
@pytest.mark.usefixtures("model")
def test_thirty_kills(tmp_path: Path) -> None:
    """Workers, the driver and the whole cluster are killed at random moments; each input is there once."""
    seed = random.randrange(1_000_000)
    sys.stdout.write(f"seed {seed}\n")
    draw = random.Random(seed)
    _archive(tmp_path / "archive")
    words = ["scan", "model.onnx", "archive", "-o", "out", "--chunk", "250", "--ray", "--actors", "2"]
    kills: dict[str, int] = {"worker": 0, "driver": 0, "cluster": 0}
    parts = lambda: len(list((tmp_path / "out").glob("parts/*/[0-9]*.parquet")))  # noqa: E731
    while sum(kills.values()) < KILLS:
        driver: Any = subprocess.Popen(
            [sys.executable, "-m", "leantta", *words], cwd=tmp_path, stderr=subprocess.DEVNULL
        )
        what = "worker"
        try:
            while what == "worker" and sum(kills.values()) < KILLS:
                assert driver.poll() is None, f"it was done after {kills}: give it more to do"
                what = draw.choices(["worker", "driver", "cluster"], [4, 2, 1])[0]
                begun = draw.random() < 0.75  # else at any moment, also while Ray starts
                until = time.monotonic() + 60
                while begun and not actors(driver.pid) and time.monotonic() < until:
                    time.sleep(0.05)
                time.sleep(draw.uniform(0.0, 3.0))
                own = actors(driver.pid)
                if what == "worker":
                    kill(draw.sample(own, 1) if own else [])
                    kills["worker"] += bool(own)
                else:
                    everybody = below(driver.pid)
                    kill([driver.pid] if what == "driver" else everybody[::-1])
                    kills[what] += 1
                    driver.wait()
                    time.sleep(draw.uniform(0.0, 1.0))
                    kill([pid for pid in everybody if Path(f"/proc/{pid}/cmdline").exists()])
        finally:
            kill(below(driver.pid))
            driver.wait()
        sys.stdout.write(f"{kills}, {parts()} parts\n")
    before = parts()
    assert before < FILES * ROWS / 250, "nothing was left to do at the end"
    done = leantta(*words, cwd=tmp_path, timeout=900)
    assert done.returncode == 0, done.stderr
    found = datasets.dataset(str(tmp_path / "out" / "parts")).to_table(columns=["path", "member", "error"])
    once = found.group_by(["path", "member"]).aggregate([([], "count_all")])
    sys.stdout.write(f"{before} parts before the last start; {len(found):,} rows, {len(once):,} inputs\n")
    assert len(found) == len(once) == FILES * ROWS
    assert found["error"].null_count == len(found)  # and nobody was blamed for a kill
    assert all(kills.values())
