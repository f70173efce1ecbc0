"""Verification finds each kind of fault that it looks for."""

from pathlib import Path

import numpy as np
import pytest

from leantta.errors import MissingFileError
from leantta.runtime.engines import ENGINES
from leantta.runtime.verify import verify
from runtime.artifacts import Recipe, artifact, info_of, model_of, sealed

NAMES = ["structure", "digest", "metadata", "functions", "engine", "self-test", "batch", "shift"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("settings", [{"kind": "image"}, {"normalized": False}, {"outputs": 1}])
def test_good_files_pass(tmp_path: Path, engine: str, settings: dict[str, object]) -> None:
    checks = verify(artifact(tmp_path / "a.onnx", inlined=True, **settings), engine=engine)
    assert [check.name for check in checks if check.ok] == NAMES


def test_a_file_that_does_not_adapt_has_no_shift(tmp_path: Path) -> None:
    checks = verify(artifact(tmp_path / "a.onnx", adapts=False))
    assert [check.name for check in checks if check.ok] == NAMES[:-1]


def failing(path: Path) -> tuple[list[str], str]:
    """What was looked at, and the detail of the one check that failed."""
    checks = verify(path)
    (detail,) = [check.detail for check in checks if not check.ok]
    return [check.name for check in checks], detail


def test_faults_before_loading_end_the_verification(tmp_path: Path) -> None:
    whole = artifact(tmp_path / "a.onnx")
    data = whole.read_bytes()
    (tmp_path / "cut.onnx").write_bytes(data[:900])
    names, detail = failing(tmp_path / "cut.onnx")
    assert (names, "cut off" in detail) == (["structure"], True)
    (tmp_path / "flipped.onnx").write_bytes(data.replace(b'"tiny"', b'"tony"'))
    names, detail = failing(tmp_path / "flipped.onnx")
    assert (names, "sha256" in detail) == (["structure", "digest"], True)
    (tmp_path / "foreign.onnx").write_bytes(model_of(Recipe()).SerializeToString())
    names, detail = failing(tmp_path / "foreign.onnx")
    assert (names, "not made by leantta" in detail) == (["structure", "metadata"], True)
    names, detail = failing(artifact(tmp_path / "a.onnx", changes={"outputs": ...}))
    assert (names, "'outputs'" in detail) == (["structure", "digest", "metadata"], True)
    names, detail = failing(artifact(tmp_path / "a.onnx", changes={"layers": ["a"]}))
    assert (names, "distance" in detail) == (["structure", "digest", "metadata", "functions", "engine"], True)
    with pytest.raises(MissingFileError):
        verify(tmp_path / "gone.onnx")


def test_other_weights_are_found(tmp_path: Path) -> None:
    recipe = Recipe()
    model = model_of(recipe)
    info = info_of(recipe, model)
    matrix = next(weight for weight in model.graph.initializer if weight.name == "matrix")
    values = np.frombuffer(matrix.raw_data, np.float32)
    matrix.raw_data = (values * np.float32(1.01)).tobytes()  # one per cent off
    (tmp_path / "a.onnx").write_bytes(sealed(model, info))
    assert [check.name for check in verify(tmp_path / "a.onnx") if not check.ok] == ["self-test"]
    matrix.raw_data = np.full_like(values, np.nan).tobytes()
    del model.metadata_props[:]
    (tmp_path / "a.onnx").write_bytes(sealed(model, info))
    assert [check.name for check in verify(tmp_path / "a.onnx") if not check.ok] == ["self-test", "batch"]


def test_a_self_test_that_cannot_be_unpacked_is_found(tmp_path: Path) -> None:
    names, detail = failing(artifact(tmp_path / "a.onnx", changes={"selftest.input": "AAAA"}))
    assert names[-1] == "self-test"
    assert "damaged" in detail


def test_statistics_of_the_batch_are_found(tmp_path: Path) -> None:
    names, detail = failing(artifact(tmp_path / "a.onnx", mixes=True))
    assert names == NAMES
    assert "two inputs at once" in detail
