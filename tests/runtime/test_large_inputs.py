"""Inputs larger than memory: computed in parts, or refused in one line before anything is allocated."""

import re
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leantta.errors import ArtifactError, DataError, LeanTTAError
from leantta.runtime import inputs
from leantta.runtime.engines import Port
from leantta.runtime.inputs import fit_image, hear
from leantta.runtime.session import Session, load
from reference import assert_close
from runtime.artifacts import artifact

ENGINES = ("onnxruntime", "onnxruntime-portable", "openvino")
SOUND = {"sample_rate": 32_000, "clip_samples": 320_000, "filling": "silence"}
HUGE = 2**40  # as a view of one number it costs nothing; as an array of its own no machine has room for it


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return artifact(tmp_path_factory.mktemp("large") / "a.onnx", inlined=True)


@pytest.fixture
def session(model: Path) -> Iterator[Session]:
    with load(model) as session:
        yield session


@pytest.mark.parametrize("engine", ENGINES)
def test_a_batch_of_any_size_is_computed_in_parts(
    model: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "AT_ONCE_BYTES", 4 * 3 * 8 * 8 * 10)
    images = np.random.default_rng(0).random((34, 3, 8, 8))
    with load(model, engine=engine) as session:
        sizes, run = [], session._engine.run  # type: ignore[union-attr]

        def counted(given: Any) -> Any:
            sizes.append(len(given))
            return run(given)

        monkeypatch.setattr(session._engine, "run", counted)
        found = session.run(images)
        assert sizes == [10, 10, 10, 4]
        parts = [session.run(images[i : i + 1]) for i in range(34)]
        prepared = session.run_prepared(inputs.prepare(images, session.info.input))
    for name in ("logits", "distance", "shift"):
        wanted = np.concatenate([part.named()[name] for part in parts])
        assert_close(found.named()[name], wanted, atol=1e-5)
        np.testing.assert_array_equal(prepared.named()[name], found.named()[name])
    assert found.latency_ms > 0


def test_memory_stays_flat_however_large_the_batch_is(session: Session) -> None:
    few = 4_000
    session.run(np.broadcast_to(np.float64(0.5), (few, 3, 8, 8)))
    peaks = []
    for count in (2 * few, 20 * few):  # as float32, 61 MB
        tracemalloc.start()
        session.run(np.broadcast_to(np.float64(0.5), (count, 3, 8, 8)))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    answers = 20 * few * 4 * 7 * 2  # four scores, two distances, a shift; twice while they are joined
    assert peaks[1] - answers < 2 * peaks[0]


def test_a_bad_value_far_behind_is_named_and_changes_nothing(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "AT_ONCE_BYTES", 4 * 3 * 8 * 8 * 10)
    images = np.full((34, 3, 8, 8), 0.5)
    images[27, 0, 0, 0] = np.nan
    with pytest.raises(DataError, match="input 27 of the batch has NaN"):
        session.predict(images)


class Unable:
    """An engine in whose answers there is no room."""

    native = False
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()

    def run(self, images: Any) -> Any:  # noqa: ARG002 - it has no room for any
        raise MemoryError("Unable to allocate 48.0 GiB")

    def close(self) -> None:
        pass


def one_line(error: BaseException) -> bool:
    return "\n" not in str(error) and str(error).endswith(".")


def test_what_does_not_fit_is_told_in_one_line(session: Session) -> None:
    full = Session(Unable(), session.info, "a.onnx")
    for call in (full.predict, full.run, full.shift, full.explain):
        with pytest.raises(DataError, match=r"not enough memory .* 48\.0 GiB") as told:
            call(np.zeros((2, 3, 8, 8)))
        assert one_line(told.value)


HOPELESS: dict[str, Callable[[Session], object]] = {
    "predict, another shape": lambda s: s.predict(np.broadcast_to(np.float32(0), (HUGE, 3, 8, 9))),
    "predict, whole numbers": lambda s: s.predict(np.broadcast_to(np.int64(0), (HUGE, 3, 8, 8))),
    "predict, a list": lambda s: s.predict([np.broadcast_to(np.float64(0), (HUGE // 2,))] * 2),
    "predict, rows of two lengths": lambda s: s.predict([[0.0], [0.0, 1.0]]),
    "predict, nothing": lambda s: s.predict(None),  # type: ignore[arg-type]
    "predict_one, a list": lambda s: s.predict_one([np.broadcast_to(np.float64(0), (HUGE // 2,))] * 2),
    "predict_one, another shape": lambda s: s.predict_one(np.broadcast_to(np.uint8(0), (HUGE, 8, 3))),
    "run, a bad value": lambda s: s.run(np.broadcast_to(np.float64(np.nan), (HUGE // 1024, 3, 8, 8))),
    "shift, out of range": lambda s: s.shift(np.broadcast_to(np.float64(7), (HUGE // 1024, 3, 8, 8))),
    "run_prepared, another shape": lambda s: s.run_prepared(
        np.broadcast_to(np.float32(0), (HUGE // 1024, 3, 8, 9))
    ),
    "fit_image": lambda s: fit_image(np.broadcast_to(np.uint8(0), (2**20, 2**20, 3)), s.info),
}


@pytest.mark.parametrize("name", HOPELESS)
def test_the_hopeless_is_refused_in_one_line(name: str, session: Session) -> None:
    with pytest.raises((DataError, ArtifactError)) as told:
        HOPELESS[name](session)
    assert one_line(told.value)


def test_a_wave_without_end_is_cut_before_it_is_looked_at(tmp_path: Path) -> None:
    changes = {"input.kind": "frames", "input.sound": SOUND}
    path = artifact(tmp_path / "ear.onnx", shape=(1, 240, 64), normalized=False, changes=changes)
    with load(path) as session:
        assert hear(np.broadcast_to(np.float32(0.5), (HUGE,)), session.info).shape == (1, 240, 64)


def test_the_command_line_tells_it_in_one_line(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise MemoryError("Unable to allocate 48.0 GiB")

    monkeypatch.setattr("leantta.runtime.facts.facts_of", full)
    done = run("inspect", "a.onnx")
    assert done.returncode == 1
    assert re.fullmatch(r"error: this machine has not enough memory .* 48\.0 GiB\.\n", done.stderr)
    assert not issubclass(MemoryError, LeanTTAError)
