"""Files with a stream mode say what torch says of a stream; without a memory they say what others say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

import leantta
from export.models import info_of
from gates.striped import GOOD, Striped, given, hazy, pixels, striped
from leantta.errors import ArtifactError, SettingError
from leantta.export.convert import Conversion, convert
from leantta.export.options import FileOptions, Precision
from leantta.gates.filter import FilterGate
from leantta.layer_memory import LayerMemory
from leantta.memory import StreamMemory
from leantta.methods.contenders import ModelFile, from_file, parse_contender
from leantta.nn import AdaptiveNorm, forget
from leantta.runtime import kernel
from leantta.runtime.engines import open_engine
from leantta.surgery.adaptation import Adaptation
from reference import assert_close

FORMS: dict[str, tuple[Precision, bool]] = {
    "fp32": ("fp32", False),
    "int8": ("int8", False),
    "int8 portable": ("int8", True),
}
HAZY = 12  # inputs in a row


@pytest.fixture(scope="module")
def model() -> Striped:
    return striped()


def written(
    model: Striped,
    form: str,
    path: Path,
    memory: StreamMemory | None = StreamMemory(),  # noqa: B008 - frozen
) -> Conversion:
    precision, portable = FORMS[form]
    options = FileOptions(precision=precision, portable=portable, memory=memory)
    return convert(model, pixels(240), path, layers="all", gate=FilterGate(), options=options, **GOOD)


def remembering(adapted: torch.nn.Module) -> list[AdaptiveNorm]:
    """Give the layers of a torch model the memory that its file has."""
    layers = [each for each in adapted.modules() if isinstance(each, AdaptiveNorm)]
    for layer in layers:
        layer.memory = LayerMemory(StreamMemory())
    return layers


@pytest.mark.parametrize("form", FORMS)
def test_a_file_follows_a_stream_as_torch_does(model: Striped, form: str, tmp_path: Path) -> None:
    done = written(model, form, tmp_path / "x.onnx")
    layers = remembering(done.adapted)
    assert layers
    images = np.concatenate([hazy(pixels(HAZY, seed=5)), pixels(4, seed=6)])
    with torch.no_grad():
        wanted = done.adapted(given(images)).numpy()
        forget(done.adapted)
        alone = np.concatenate([done.adapted(given(images[i : i + 1])).numpy() for i in range(1)])
        forget(done.adapted)
    peak = np.abs(wanted).max()
    with leantta.load(done.path) as plain, leantta.load(done.path, memory=True) as streaming:
        assert plain.stateless
        assert not streaming.stateless
        found = streaming.predict(images)
        single = plain.predict(images)
    assert_close(found, wanted, atol=(1e-4 if form == "fp32" else 0.06) * peak)
    assert_close(found[:1], alone, atol=(1e-4 if form == "fp32" else 0.06) * peak)
    assert_close(found[:1], single[:1], atol=1e-5 * peak)  # nothing is remembered yet
    assert np.abs(found[HAZY - 1] - single[HAZY - 1]).max() > 1e-3 * peak  # and now something is


@pytest.mark.skipif(not kernel.paths(), reason="this installation has no kernel: there was no compiler")
@pytest.mark.parametrize("form", ["fp32", "int8"])
def test_the_kernel_follows_a_stream_as_standard_operators_do(
    model: Striped, form: str, tmp_path: Path
) -> None:
    done = written(model, form, tmp_path / "x.onnx")
    assert open_engine("onnxruntime", done.path).native
    images = np.concatenate([hazy(pixels(HAZY, seed=5)), pixels(4, seed=6)])
    with (
        leantta.load(done.path, memory=True) as native,
        leantta.load(done.path, memory=True, engine="onnxruntime-portable") as portable,
    ):
        found, wanted = native.predict(images), portable.predict(images)
        tolerance = 1e-4 * np.abs(wanted).max() if form == "fp32" else native.info.selftest.tolerance
        assert_close(found, wanted, atol=tolerance)
        remembered = [session._streams[""] for session in (native, portable)]
    peak = np.abs(remembered[1]).max()
    assert_close(remembered[0], remembered[1], atol=(1e-4 if form == "fp32" else 0.02) * peak)


def test_without_a_memory_it_says_what_a_file_without_a_stream_mode_says(
    model: Striped, tmp_path: Path
) -> None:
    streaming = written(model, "int8", tmp_path / "x.onnx")
    plain = written(model, "int8", tmp_path / "y.onnx", None)
    images = hazy(pixels(24, seed=3))
    with leantta.load(streaming.path) as one, leantta.load(plain.path) as other:
        first, second = one.run(images), other.run(images)
    assert_close(first.logits, second.logits, atol=1e-5 * np.abs(second.logits).max())
    assert first.shift is not None
    assert second.shift is not None
    assert_close(first.shift, second.shift, atol=1e-4)
    assert info_of(streaming.path).memory == (size_of(streaming.path), 16)
    assert info_of(plain.path).memory is None


def size_of(path: Path) -> int:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (memory,) = session.get_overridable_initializers()
    assert memory.name == "memory"
    return int(memory.shape[1])


def test_streams_are_kept_apart_and_forgotten_by_name(model: Striped, tmp_path: Path) -> None:
    done = written(model, "fp32", tmp_path / "x.onnx")
    one, other = hazy(pixels(HAZY, seed=1)), pixels(HAZY, seed=2)
    with leantta.load(done.path, memory=True) as session:
        wanted = session.predict(one)
        session.reset()
        pairs = [
            (session.predict(a[None], stream="a"), session.predict(b[None], stream="b"))
            for a, b in zip(one, other, strict=True)
        ]
        assert_close(np.concatenate([a for a, _ in pairs]), wanted, atol=0)
        last = session.predict_one(one[-1], stream="a").logits
        session.reset("b")
        assert_close(session.predict(other[:1], stream="b"), pairs[0][1], atol=0)
        session.reset("a")
        assert np.abs(session.predict(one[-1:], stream="a")[0] - last).max() > 0


def test_a_batch_may_hold_one_input_of_each_of_several_streams(model: Striped, tmp_path: Path) -> None:
    """As a server feeds it: a row of the memory for each input."""
    done = written(model, "fp32", tmp_path / "x.onnx")
    engine = onnxruntime.InferenceSession(done.path, providers=["CPUExecutionProvider"])
    one, other = given(hazy(pixels(HAZY, seed=1))).numpy(), given(pixels(HAZY, seed=2)).numpy()
    state, found = None, []
    for pair in np.stack([one, other], 1):
        fed = {"input": pair} if state is None else {"input": pair, "memory": state}
        logits, state = engine.run(["logits", "memory_next"], fed)
        found.append(logits)
    with leantta.load(done.path, memory=True) as session:
        for place, images in enumerate((hazy(pixels(HAZY, seed=1)), pixels(HAZY, seed=2))):
            session.reset()
            assert_close(np.stack(found)[:, place], session.predict(images), atol=1e-4)


def test_a_study_runs_the_stream_mode_if_it_is_asked_for(model: Striped, tmp_path: Path) -> None:
    done = written(model, "int8", tmp_path / "x.onnx")
    images = (hazy(pixels(HAZY, seed=1)).transpose(0, 3, 1, 2) / 255).astype(np.float32)
    with leantta.load(done.path, memory=True) as session:
        wanted = session.predict(images)
    asked = parse_contender(f"{done.path}:memory", Adaptation())
    assert asked == ModelFile(done.path, memory=True)
    settings, predictor = from_file(asked, "cifar10", threads=1)
    assert settings.method == "x.onnx:memory"
    assert settings.method_settings["memory"] is True
    assert not predictor.stateless  # so a run is not broken into parts
    for _ in range(2):
        assert_close(predictor.predict(images), wanted, atol=0)
        predictor.reset()
    settings, predictor = from_file(ModelFile(done.path), "cifar10", threads=1)
    assert "memory" not in settings.method_settings
    assert predictor.stateless


def test_a_file_without_a_stream_mode_says_so(model: Striped, tmp_path: Path) -> None:
    done = written(model, "int8", tmp_path / "x.onnx", None)
    with pytest.raises(SettingError, match="--stream"):
        leantta.load(done.path, memory=True)


def test_a_gate_that_remembers_nothing_has_no_stream_mode(model: Striped, tmp_path: Path) -> None:
    options = FileOptions(memory=StreamMemory())
    with pytest.raises(SettingError, match="remembers nothing"):
        convert(model, pixels(), tmp_path / "x.onnx", gate="paper", options=options, **GOOD)
    assert not (tmp_path / "x.onnx").exists()


def test_a_memory_of_another_size_is_an_error(model: Striped, tmp_path: Path) -> None:
    done = written(model, "int8", tmp_path / "x.onnx")
    with leantta.load(done.path, memory=True) as session:
        session._streams[""] = np.zeros((1, 3), np.float32)
        with pytest.raises(ArtifactError, match="cannot run"):
            session.predict(pixels(1))
