"""Files of the first format, as they lie in the repository, stay readable and say what they said."""

from pathlib import Path

import numpy as np
import pytest

import leantta
from leantta.runtime.verify import verify
from reference import assert_close

FILES = sorted((Path(__file__).parent / "golden").glob("*.onnx"))
STREAM = Path(__file__).parent / "golden" / "format1_stream.onnx"
ENGINES = ("onnxruntime", "onnxruntime-portable")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("golden", FILES, ids=lambda path: path.stem)
def test_a_golden_file_says_what_it_said(golden: Path, engine: str) -> None:
    stored = np.load(golden.with_suffix(".npz"))
    with leantta.load(golden, engine=engine) as session:
        found = session.run(stored["images"])
        tolerance = session.info.selftest.tolerance
    assert found.shift is not None
    assert_close(found.logits, stored["logits"], atol=tolerance)
    assert_close(found.shift, stored["shift"], atol=0.02)
    assert np.ptp(stored["logits"], axis=0).max() > 2 * tolerance  # else any file would pass


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("golden", FILES, ids=lambda path: path.stem)
def test_a_golden_file_is_whole(golden: Path, engine: str) -> None:
    assert all(check.ok for check in verify(golden, engine=engine))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_stream_mode_that_is_no_longer_made_follows_a_stream_as_it_did(engine: str) -> None:
    assert b"StreamFilterNorm" in STREAM.read_bytes()
    stored = np.load(STREAM.with_suffix(".npz"))
    with leantta.load(STREAM, engine=engine, memory=True) as session:
        found = session.predict(stored["images"])
        tolerance = session.info.selftest.tolerance
    assert_close(found, stored["followed"], atol=tolerance)
    assert np.abs(stored["followed"] - stored["logits"]).max() > 2 * tolerance  # it remembers


def test_there_are_files_with_one_step_and_with_a_step_for_each_channel() -> None:
    assert [path.stem for path in FILES] == ["format1", "format1_fused", "format1_steps", STREAM.stem]
    assert [b"/scales" in path.read_bytes() for path in FILES] == [False, False, True, True]


def test_there_is_a_file_for_each_thing_the_kernel_does_at_once() -> None:
    _, fused_file, *_ = FILES
    fused = fused_file.read_bytes()
    for name in (b"QLinearCalibratedNormHardSwish", b"QLinearCalibratedNormAdd", b"QLinearDepthwise"):
        assert name in fused
