"""Files of ours and of others, opened by every engine that takes them, here and in fresh processes."""

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto

from leantta.errors import ArtifactError, MissingFileError, SettingError
from leantta.measure.candidates import PLAIN, inputs_for, is_ours, open_file, scores
from leantta.measure.probe import fresh_process, high_water_mark_bytes
from leantta.runtime.engines import Port
from measure.foreign import foreign
from runtime.artifacts import artifact


@pytest.mark.parametrize("engine", ["onnxruntime", "onnxruntime-portable", "openvino", PLAIN])
def test_every_engine_gives_the_same_scores_of_our_file(tmp_path: Path, engine: str) -> None:
    path = artifact(tmp_path / "a.onnx", inlined=True)
    images = np.random.default_rng(0).standard_normal((3, 3, 8, 8), np.float32)
    wanted = scores(open_file(path, PLAIN, 1), images)
    opened = open_file(path, engine, 1)
    (port,) = opened.inputs
    assert port.shape[1:] == (3, 8, 8)
    np.testing.assert_allclose(scores(opened, images), wanted, rtol=1e-4, atol=1e-4)
    opened.close()


@pytest.mark.parametrize("engine", [PLAIN, "openvino"])
def test_a_file_of_others_runs_too(tmp_path: Path, engine: str) -> None:
    path = foreign(tmp_path / "theirs.onnx")
    assert not is_ours(path)
    opened = open_file(path, engine, 1)
    (port,) = opened.inputs
    images = inputs_for(port, 2, seed=0)
    assert (images.shape, images.dtype) == ((2, 3, 8, 8), np.float32)
    np.testing.assert_allclose(scores(opened, images)[:, :3], images.mean((2, 3)), atol=1e-6)


def test_whose_file_it_is(tmp_path: Path) -> None:
    assert is_ours(artifact(tmp_path / "ours.onnx"))
    (tmp_path / "text.onnx").write_text("hello")
    assert not is_ours(tmp_path / "text.onnx")
    with pytest.raises(ArtifactError, match="cannot load"):
        open_file(tmp_path / "text.onnx", PLAIN, 1)
    with pytest.raises(MissingFileError, match=r"no model file at .*gone.onnx"):
        is_ours(tmp_path / "gone.onnx")


def test_inputs_are_what_the_port_takes() -> None:
    pixels = inputs_for(Port("x", "uint8", (None, 4, 4, 3)), 2, seed=0)
    assert (pixels.dtype, pixels.shape) == (np.uint8, (2, 4, 4, 3))
    assert len(np.unique(pixels)) > 20
    open_sizes = Port("x", "float32", (None, 3, None, None))
    with pytest.raises(SettingError, match="leaves sizes open: say them with --shape"):
        inputs_for(open_sizes, 1, seed=0)
    assert inputs_for(open_sizes, 1, seed=0, shape=(3, 5, 6)).shape == (1, 3, 5, 6)
    with pytest.raises(SettingError, match=r"is tensor\(int64\); float32 and uint8"):
        inputs_for(Port("x", "tensor(int64)", (None, 3)), 1, seed=0)


@pytest.mark.parametrize(("engine", "shape"), [("onnxruntime", (1, 3, 8, 8)), (PLAIN, (2, 3, 8, 8))])
def test_a_fresh_process_tells_what_it_took(tmp_path: Path, engine: str, shape: tuple[int, ...]) -> None:
    found = fresh_process(str(artifact(tmp_path / "a.onnx")), engine, 1, shape)
    assert found.keys() == {"import_ms", "load_ms", "first_ms", "peak_rss_bytes"}
    assert all(value is not None and value > 0 for value in found.values())
    peak = found["peak_rss_bytes"]
    assert peak is not None
    assert 20e6 < peak < 300e6  # numpy and onnxruntime, and none of what this process holds


def test_a_model_for_pixels_runs_in_a_fresh_process(tmp_path: Path) -> None:
    ours = artifact(tmp_path / "pixels.onnx", kind="image")
    assert fresh_process(str(ours), "onnxruntime", 1, (1, 8, 8, 3))["load_ms"]
    theirs = foreign(tmp_path / "theirs.onnx", dtype=TensorProto.UINT8)
    assert fresh_process(str(theirs), PLAIN, 1, (1, 3, 8, 8))["load_ms"]


def test_a_fresh_process_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"the fresh process failed: .*no model file"):
        fresh_process(str(tmp_path / "gone.onnx"), "onnxruntime", 1, (1, 3, 8, 8))


def test_the_peak_only_grows() -> None:
    before = high_water_mark_bytes()
    if before is None:
        pytest.skip("this system does not say")
    held = np.ones(8_000_000)
    after = high_water_mark_bytes()
    assert after is not None
    assert after >= before
    assert after >= held.nbytes
