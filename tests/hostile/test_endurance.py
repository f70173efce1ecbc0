"""Many predictions, and files opened and closed again and again: memory and open files stay as they were."""

import gc
from pathlib import Path

import numpy as np
import pytest

import leantta
from leantta.errors import ArtifactError, DataError
from leantta.runtime.session import Session

GOLDEN = Path(__file__).parents[1] / "runtime" / "golden" / "format1_fused.onnx"
PREDICTIONS, OPENINGS = 200_000, 2_000
ROOM_BYTES = 8_000_000  # for what allocators keep; a leak of 100 bytes a prediction would take 20 MB


def rss_bytes() -> int:
    gc.collect()
    return 1024 * int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0])


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from Linux's /proc"),
]


def predict(session: Session, count: int) -> None:
    """Of each ten inputs one is refused."""
    images = np.random.default_rng(0).random((64, *session.info.input.shape), np.float32)
    wrong = np.full(session.info.input.shape, np.nan, np.float32)
    for number in range(count):
        if number % 10 == 9:
            with pytest.raises(DataError):
                session.predict_one(wrong)
        else:
            session.predict_one(images[number % 64])


@pytest.mark.parametrize("engine", ["onnxruntime", "onnxruntime-portable"])
def test_predictions_leave_nothing_behind(engine: str) -> None:
    count = PREDICTIONS if engine == "onnxruntime" else PREDICTIONS // 10
    with leantta.load(GOLDEN, engine=engine, threads=1) as session:
        predict(session, count // 20)
        before, files = rss_bytes(), open_files()
        predict(session, count)
        assert rss_bytes() - before < ROOM_BYTES
        assert open_files() == files


def test_opening_and_closing_leaves_nothing_behind(tmp_path: Path) -> None:
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(GOLDEN.read_bytes()[:-100])

    def cycles(count: int) -> None:
        for number in range(count):
            if number % 10 == 9:
                with pytest.raises(ArtifactError):
                    leantta.load(bad)
            else:
                with leantta.load(GOLDEN, threads=1) as session:
                    predict(session, 2)

    cycles(OPENINGS // 5)
    before, files, threads = rss_bytes(), open_files(), len(list(Path("/proc/self/task").iterdir()))
    cycles(OPENINGS)
    assert rss_bytes() - before < ROOM_BYTES
    assert open_files() == files
    assert len(list(Path("/proc/self/task").iterdir())) <= threads
