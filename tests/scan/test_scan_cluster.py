"""`leantta scan --ray HOST:PORT` on three nodes with addresses of their own, one of which is cut off.

pytest -n0 -s -m slow tests/scan/test_scan_cluster.py, as root, with Ray and Debian's iproute2 installed.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as datasets
import pyarrow.parquet as pq
import pytest

from runtime.artifacts import artifact
from scan.archives import png
from scan.process_tree import title

SCRIPT = Path(__file__).with_name("cluster_in_namespaces.sh")
FILES, ROWS = 40, 2500

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra `ray`"),
    pytest.mark.skipif(shutil.which("ip") is None or os.geteuid() != 0, reason="needs root and iproute2"),
]


@pytest.fixture
def cluster() -> Iterator[list[str]]:
    """Three nodes; gives what comes before a command to run it on the first."""
    folder = Path("/tmp", f"lts{os.getpid()}")  # Ray's sockets have room for few letters
    folder.mkdir()
    try:
        up = subprocess.run(["bash", SCRIPT, "up", sys.executable, folder], capture_output=True, text=True)
        if "Operation not permitted" in up.stderr:
            pytest.skip("no right to make network namespaces here")
        assert up.returncode == 0, up.stderr
        yield ["ip", "netns", "exec", "leantta-scan-1", "env", "RAY_AUTH_MODE=disabled"]
    finally:
        subprocess.run(["bash", SCRIPT, "down"], check=True)
        shutil.rmtree(folder, ignore_errors=True)


def working(node: int) -> bool:
    pids = subprocess.check_output(["ip", "netns", "pids", f"leantta-scan-{node}"], text=True).split()
    return any(title(int(pid)).startswith("ray::Actor.do") for pid in pids)


def test_a_node_is_cut_off(cluster: list[str], tmp_path: Path) -> None:
    artifact(tmp_path / "model.onnx", kind="image")
    (tmp_path / "archive").mkdir()
    contents = [png(seed) for seed in range(50)] * (ROWS // 50)
    for number in range(FILES):
        pq.write_table(
            pa.table({"image": contents}), tmp_path / f"archive/{number:03d}.parquet", row_group_size=250
        )
    words = ["scan", "model.onnx", "archive", "-o", "out", "--chunk", "250", "--batch", "1"]
    words += ["--ray", "10.213.7.1:6379", "--actors", "3"]
    driver = subprocess.Popen(
        [*cluster, sys.executable, "-m", "leantta", *words], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    until = time.monotonic() + 180
    parts = tmp_path / "out" / "parts"
    try:
        while not (all(map(working, (1, 2, 3))) and any(parts.glob("*/0*.parquet"))):
            assert driver.poll() is None
            assert time.monotonic() < until
            time.sleep(0.1)
        subprocess.run(["bash", SCRIPT, "cut"], check=True)
        before, started = len(list(parts.glob("*/0*.parquet"))), time.monotonic()
        stdout, _ = driver.communicate(timeout=600)
    finally:
        driver.kill()
    found = datasets.dataset(str(parts)).to_table(columns=["path", "member", "error"])
    once = found.group_by(["path", "member"]).aggregate([([], "count_all")])
    sys.stdout.write(
        f"cut after {before} of {FILES * ROWS // 250} parts; done {time.monotonic() - started:.0f} s later: "
        f"{len(found):,} rows, {len(once):,} inputs\n{stdout}"
    )
    assert driver.returncode == 0
    assert before < FILES * ROWS // 250
    assert len(found) == len(once) == FILES * ROWS
    assert found["error"].null_count == len(found)
