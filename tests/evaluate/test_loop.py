"""The loop, with real predictors: what it records, how it goes on after a kill, and what it refuses."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from leantta.errors import DataError, RecordError, SettingError, StorageError
from leantta.evaluate.loop import evaluate
from leantta.evaluate.record import Record, RunSettings, read_record
from leantta.streams.stream import Domain, Stream

SETTINGS = RunSettings(model="linear", method="none", dataset="noise", threads=1)
COUNT = 500


def stream_of(count: int = COUNT, seed: int = 0, classes: int = 10) -> Stream:
    generator = np.random.default_rng(seed)
    inputs = generator.random((count, 3, 2, 2), dtype=np.float32)
    return Stream(
        name="noise",
        seed=seed,
        settings={"count": count},
        domains=(Domain("clean", 0), Domain("fog", 3), Domain("fog", 5)),
        domain=generator.integers(0, 3, count),
        labels=generator.integers(0, classes, count),
        index=np.arange(count),
        load=lambda positions: inputs[positions],
    )


class Linear:
    """A stateless predictor: random weights, one product."""

    stateless = True

    def __init__(self, classes: int = 10) -> None:
        self.weights = np.random.default_rng(9).normal(size=(12, classes)).astype(np.float32)
        self.seen = 0
        self.batches: list[int] = []

    def predict(self, images: np.ndarray) -> np.ndarray:
        self.seen += len(images)
        self.batches.append(len(images))
        return np.asarray((images.reshape(len(images), 12) - 0.5) @ self.weights)

    def reset(self) -> None:
        self.seen = 0


class Drifting(Linear):
    """A predictor with a memory: what it says depends on all that it saw since the last reset."""

    stateless = False

    def predict(self, images: np.ndarray) -> np.ndarray:
        logits = super().predict(images)
        return np.roll(logits, self.seen // 50, axis=1)


def same(first: Record, second: Record) -> None:
    np.testing.assert_array_equal(first.predictions, second.predictions)
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_array_equal(first.domain, second.domain)
    assert first.header.recipe == second.header.recipe
    assert (first.finished is None) == (second.finished is None)


@pytest.mark.parametrize("batch_size", [1, 7, 64, 1000])
def test_a_record_holds_what_was_said(batch_size: int, tmp_path: Path) -> None:
    stream, predictor = stream_of(), Linear()
    record = evaluate(
        predictor, stream, batch_size=batch_size, settings=SETTINGS, path=tmp_path / "new" / "r.jsonl"
    )
    expected = np.array([Linear().predict(stream.load(np.array([i])))[0].argmax() for i in range(COUNT)])
    np.testing.assert_array_equal(record.predictions, expected)
    np.testing.assert_array_equal(record.labels, stream.labels)
    np.testing.assert_array_equal(record.domain, stream.domain)
    np.testing.assert_array_equal(record.correct, expected == stream.labels)
    assert len(record) == COUNT
    assert record.finished is not None
    assert max(predictor.batches) <= batch_size
    same(read_record(tmp_path / "new" / "r.jsonl"), record)
    same(evaluate(Linear(), stream, batch_size=batch_size, settings=SETTINGS), record)  # in memory


def test_the_header_says_what_was_run(tmp_path: Path) -> None:
    settings = RunSettings(
        model="resnet18",
        method="leantta",
        dataset="cifar10",
        method_settings={"tau": 0.9, "layers": [1, 2]},
        weights_sha256="ab" * 32,
        threads=2,
    )
    evaluate(Linear(), stream_of(), batch_size=8, settings=settings, path=tmp_path / "r.jsonl")
    header = json.loads((tmp_path / "r.jsonl").read_text().splitlines()[0])
    assert header["record"] == 1
    assert header["recipe"]["stream"]["name"] == "noise"
    assert {
        key: header["recipe"][key] for key in ("model", "method", "threads", "batch_size", "weights_sha256")
    } == {
        "model": "resnet18",
        "method": "leantta",
        "threads": 2,
        "batch_size": 8,
        "weights_sha256": "ab" * 32,
    }
    assert header["recipe"]["method_settings"] == {"tau": 0.9, "layers": [1, 2]}
    assert header["domains"] == [["clean", 0], ["fog", 3], ["fog", 5]]
    assert header["machine"]["cores"] >= 1
    assert header["versions"]["numpy"] == np.__version__
    assert header["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert header["command"]


def test_a_single_score_is_a_yes_or_no() -> None:
    stream = stream_of(classes=2)
    record = evaluate(Linear(classes=1), stream, batch_size=8, settings=SETTINGS)
    scores = Linear(classes=1).predict(stream.load(np.arange(COUNT)))
    np.testing.assert_array_equal(record.predictions, scores[:, 0] > 0)
    assert set(record.predictions) == {0, 1}


def test_a_finished_record_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    first = evaluate(Linear(), stream_of(), batch_size=8, settings=SETTINGS, path=path)
    written = path.read_bytes()
    unused = Linear()
    same(evaluate(unused, stream_of(), batch_size=8, settings=SETTINGS, path=path), first)
    assert unused.batches == []
    assert path.read_bytes() == written


def test_another_run_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    evaluate(Linear(), stream_of(), batch_size=8, settings=SETTINGS, path=path)
    written = path.read_bytes()
    with pytest.raises(RecordError, match="the record of another run: its batch_size is 8, not 16"):
        evaluate(Linear(), stream_of(), batch_size=16, settings=SETTINGS, path=path)
    with pytest.raises(RecordError, match="its stream is"):
        evaluate(Linear(), stream_of(seed=1), batch_size=8, settings=SETTINGS, path=path)
    other = RunSettings(model="linear", method="tent", dataset="noise", threads=1)
    with pytest.raises(RecordError, match="its method is 'none', not 'tent'"):
        evaluate(Linear(), stream_of(), batch_size=8, settings=other, path=path)
    assert path.read_bytes() == written


def test_other_files_are_not_overwritten(tmp_path: Path) -> None:
    for content in (b"precious", b"precious\n", b'{"a": 1}\n', b"\x89PNG\r\n\x1a\n", b"[]\n"):
        path = tmp_path / "file"
        path.write_bytes(content)
        with pytest.raises(RecordError, match="is not a record"):
            evaluate(Linear(), stream_of(), batch_size=8, settings=SETTINGS, path=path)
        assert path.read_bytes() == content
    with pytest.raises(RecordError, match="is a folder"):
        evaluate(Linear(), stream_of(), batch_size=8, settings=SETTINGS, path=tmp_path)


def test_an_empty_file_is_filled(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.touch()
    assert evaluate(Linear(), stream_of(), batch_size=8, settings=SETTINGS, path=path).finished
    assert read_record(path).finished


@pytest.mark.parametrize("batch_size", [1, 48])
@hypothesis_settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(share=st.floats(0, 1))
def test_a_record_cut_anywhere_is_completed(batch_size: int, share: float, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.unlink(missing_ok=True)
    whole = evaluate(Linear(), stream_of(), batch_size=batch_size, settings=SETTINGS, path=path)
    written = path.read_bytes()
    header = written.index(b"\n") + 1
    cut = header + int(share * (len(written) - header))
    path.write_bytes(written[:cut])
    kept = len(read_record(path))
    predictor = Linear()
    same(evaluate(predictor, stream_of(), batch_size=batch_size, settings=SETTINGS, path=path), whole)
    assert sum(predictor.batches) == COUNT - kept
    same(read_record(path), whole)
    assert (path.read_bytes().count(b'{"resumed":') == 1) == (cut < len(written))


def test_a_predictor_with_a_memory_starts_over(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    whole = evaluate(Drifting(), stream_of(), batch_size=8, settings=SETTINGS, path=path)
    written = path.read_bytes()
    assert (
        whole.predictions != evaluate(Linear(), stream_of(), batch_size=8, settings=SETTINGS).predictions
    ).any()
    path.write_bytes(written[: len(written) // 2])
    predictor = Drifting()
    predictor.predict(np.zeros((300, 3, 2, 2), np.float32))  # it was used before: the loop resets it
    predictor.batches.clear()
    same(evaluate(predictor, stream_of(), batch_size=8, settings=SETTINGS, path=path), whole)
    assert sum(predictor.batches) == COUNT
    same(read_record(path), whole)


SCRIPT = """
import sys, time
from pathlib import Path
sys.path.insert(0, {here!r})
from test_loop import SETTINGS, Drifting, Linear, stream_of
from leantta.evaluate.loop import evaluate

class Slow({base}):
    def predict(self, images):
        time.sleep(0.005)
        return super().predict(images)

evaluate(Slow(), stream_of(), batch_size=4, settings=SETTINGS, path=Path({path!r}))
"""


@pytest.mark.parametrize("base", ["Linear", "Drifting"])
def test_a_killed_run_can_be_taken_up(base: str, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    script = SCRIPT.format(here=str(Path(__file__).parent), base=base, path=str(path))
    with subprocess.Popen([sys.executable, "-c", script]) as process:
        deadline = time.monotonic() + 60
        while not path.exists() or path.read_bytes().count(b"\n") < 3:  # the header and two chunks
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    left = read_record(path)
    assert 0 < len(left) < COUNT
    assert left.finished is None
    predictor = {"Linear": Linear, "Drifting": Drifting}[base]()
    record = evaluate(predictor, stream_of(), batch_size=4, settings=SETTINGS, path=path)
    same(record, evaluate(type(predictor)(), stream_of(), batch_size=4, settings=SETTINGS))
    same(read_record(path), record)
    assert sum(predictor.batches) == (COUNT - len(left) if predictor.stateless else COUNT)


FULL = """
import resource, sys
from pathlib import Path
sys.path.insert(0, {here!r})
from test_loop import SETTINGS, Linear, stream_of
from leantta.errors import StorageError
from leantta.evaluate.loop import evaluate

resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
try:
    evaluate(Linear(), stream_of(), batch_size=4, settings=SETTINGS, path=Path({path!r}))
except StorageError as e:
    sys.exit(str(e))
"""


@pytest.mark.skipif(os.name != "posix", reason="a limit for the size of files is needed")
@pytest.mark.parametrize("limit", [10, 3000])
def test_a_full_disk_is_an_error_and_loses_nothing(limit: int, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    script = FULL.format(here=str(Path(__file__).parent), limit=limit, path=str(path))
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "cannot write" in ended.stderr
    assert "Traceback" not in ended.stderr
    if limit > 2000:  # the header and some chunks fit
        kept = len(read_record(path))
        assert f"{kept} of {COUNT} inputs are kept" in ended.stderr
        assert kept > 0
    else:
        assert list(tmp_path.iterdir()) == []
    same(
        evaluate(Linear(), stream_of(), batch_size=4, settings=SETTINGS, path=path),
        evaluate(Linear(), stream_of(), batch_size=4, settings=SETTINGS),
    )


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot write"):
        evaluate(Linear(), stream_of(), batch_size=4, settings=SETTINGS, path=tmp_path / "file" / "r.jsonl")


class Returning:
    """Returns a given value for the third batch."""

    stateless = True

    def __init__(self, value: object) -> None:
        self.value = value
        self.calls = 0

    def predict(self, images: np.ndarray) -> np.ndarray:
        self.calls += 1
        return self.value if self.calls == 3 else np.zeros((len(images), 10), np.float32)  # type: ignore[return-value]  # that is the point

    def reset(self) -> None:
        self.calls = 0


BAD: dict[str, tuple[object, str]] = {
    "a list": ([[0.0] * 10] * 4, "this returned list"),
    "too few": (
        np.zeros((3, 10)),
        r"scores \(4, classes\) for the inputs 8 to 11; this returned shape \(3, 10\)",
    ),
    "flat": (np.zeros(40), r"shape \(40,\)"),
    "no classes": (np.zeros((4, 0)), r"shape \(4, 0\)"),
    "NaN": (np.full((4, 10), np.nan), "NaN or infinity for the inputs 8 to 11"),
    "infinite": (np.full((4, 10), np.inf), "NaN or infinity"),
    "too few classes": (np.zeros((4, 2)), "knows 2 classes, but a label"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_a_predictor_returns_is_checked(name: str) -> None:
    value, message = BAD[name]
    stream = stream_of()
    stream.labels[8:12] = 5
    with pytest.raises(DataError, match=message):
        evaluate(Returning(value), stream, batch_size=4, settings=SETTINGS)


def test_progress_counts_inputs(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    path = tmp_path / "r.jsonl"
    for _ in range(2):  # the second time it is read back
        evaluate(
            Linear(),
            stream_of(),
            batch_size=200,
            settings=SETTINGS,
            path=path,
            progress=lambda *at: seen.append(at),
        )
    assert seen == [(200, 500), (400, 500), (500, 500), (500, 500)]


def test_bad_settings_are_refused() -> None:
    with pytest.raises(SettingError, match="at least 1; it is 0"):
        evaluate(Linear(), stream_of(), batch_size=0, settings=SETTINGS)
    for value in (object(), float("nan")):
        settings = RunSettings(model="m", method="odd", dataset="d", method_settings={"x": value})
        with pytest.raises(SettingError, match="settings of odd must be plain JSON"):
            evaluate(Linear(), stream_of(), batch_size=4, settings=settings)


def test_neither_torch_nor_scipy_is_needed() -> None:
    modules = "leantta.evaluate.loop, leantta.evaluate.metrics, leantta.streams.by_name"
    more = "leantta.report.summary, leantta.report.families"
    check = "assert not {'torch', 'scipy', 'PIL', 'onnxruntime'} & set(sys.modules), sys.modules.keys()"
    subprocess.run([sys.executable, "-c", f"import sys, {modules}, {more}; {check}"], check=True)
