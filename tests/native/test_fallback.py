"""Without a usable library only the speed is another one: files run, and it is said once why."""

import logging
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from numpy.random import _common as some_extension

import leantta
from leantta.runtime import kernel
from leantta.runtime.engines import open_engine
from leantta.runtime.prediction import Outputs
from native.conftest import GOLDEN
from native.swish import shifted
from reference import assert_close

NATIVE = kernel.library()
ARM64, X86_64 = (183).to_bytes(2, "little"), (62).to_bytes(2, "little")

built = pytest.mark.skipif(NATIVE is None, reason="this installation has no kernel: there was no compiler")


@pytest.fixture(autouse=True)
def unsaid() -> Iterator[None]:
    """Nothing was said before a test, and nothing counts as said after it."""
    kernel.say_once.cache_clear()
    yield
    kernel.say_once.cache_clear()


def images_of(path: Path) -> np.ndarray:
    return np.load(path.with_suffix(".npz"))["images"] if path == GOLDEN else shifted(8)


def run(path: Path) -> tuple[Outputs, float]:
    with leantta.load(path) as session:
        return session.run(images_of(path)), session.info.selftest.tolerance


@built
@pytest.mark.parametrize("name", ["golden", "int8", "fp32"])
def test_removing_the_library_changes_no_result(
    name: str, files: Mapping[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = files[name]
    assert open_engine("onnxruntime", path).native
    wanted, tolerance = run(path)
    monkeypatch.setattr(kernel, "LIBRARIES", tmp_path)
    assert not open_engine("onnxruntime", path).native
    found, _ = run(path)
    assert found.distance is not None
    assert wanted.distance is not None
    assert_close(found.logits, wanted.logits, atol=tolerance)
    assert_close(found.distance / wanted.distance, np.ones_like(wanted.distance), atol=0.02)
    assert (found.logits.argmax(1) == wanted.logits.argmax(1)).all()
    assert np.ptp(wanted.logits, axis=0).max() > 2 * tolerance  # else any file would pass


def test_a_missing_library_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(kernel, "LIBRARIES", tmp_path)
    with caplog.at_level(logging.DEBUG):
        for _ in range(3):
            leantta.load(GOLDEN).close()
    (record,) = (record for record in caplog.records if record.name == kernel.__name__)
    assert record.levelno == logging.WARNING
    assert "there was no C++ compiler" in record.getMessage()
    assert kernel.describe() == "portable (no compiled library)"
    assert kernel.paths() == ()


def text(path: Path) -> None:
    path.write_text("not a library")


def empty(path: Path) -> None:
    path.touch()


def of_arm64(path: Path) -> None:
    """Our library, but its header says that it is for another processor."""
    assert NATIVE is not None
    code = bytearray(NATIVE.read_bytes())
    machine = slice(18, 20)
    code[machine] = X86_64 if bytes(code[machine]) == ARM64 else ARM64
    path.write_bytes(code)


def of_someone_else(path: Path) -> None:
    shutil.copy(some_extension.__file__, path)


@built
@pytest.mark.parametrize("make", [text, empty, of_arm64, of_someone_else])
def test_what_is_no_library_of_ours_is_passed_over(
    make: Callable[[Path], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    wanted, tolerance = run(GOLDEN)
    broken = tmp_path / "libleantta_kernel.so"
    make(broken)
    monkeypatch.setattr(kernel, "LIBRARIES", tmp_path)
    found, _ = run(GOLDEN)
    assert_close(found.logits, wanted.logits, atol=tolerance)
    assert not open_engine("onnxruntime", GOLDEN).native
    (record,) = (record for record in caplog.records if record.name == kernel.__name__)
    assert broken.name in record.getMessage()


@built
def test_one_who_asks_for_standard_operators_gets_them(caplog: pytest.LogCaptureFixture) -> None:
    assert not open_engine("onnxruntime-portable", GOLDEN).native
    assert not caplog.records
