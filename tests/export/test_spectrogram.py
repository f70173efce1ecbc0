"""The spectrogram inside a graph against numpy's, and against the sums written out."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import pytest

from leantta.data.logmel import BANDS, FLOOR, clip_samples, log_mel, mel_filters
from leantta.errors import SettingError
from leantta.export.spectrogram import with_spectrogram
from leantta.graph.ir import BATCH, Graph, Node, Tensor, write_graph
from leantta.graph.run import run_graph
from reference import assert_close

BIRDS = Path(__file__).resolve().parents[2] / "../shared/data/birds"
REAL = np.dtype(np.float32)
Wave = npt.NDArray[np.float32]


def hearing(frames: int, shape: tuple[int, ...] = ()) -> Graph:
    """A graph that returns the features themselves."""
    features = Tensor(REAL, (BATCH, *(shape or (1, frames, BANDS))))
    nodes = (Node("Identity", ("input",), ("logits",)),)
    return Graph(nodes, {}, {"input": features, "logits": features}, ("input",), ("logits",))


def heard(waves: Wave, frames: int) -> npt.NDArray[np.float32]:
    found: npt.NDArray[np.float32] = run_graph(with_spectrogram(hearing(frames)), waves, ["logits"])[0]
    return found


def noise(count: int, frames: int) -> Wave:
    return np.random.default_rng(0).normal(size=(count, clip_samples(frames))).astype(np.float32)


@pytest.mark.parametrize("frames", [1, 2, 17, 240])
def test_it_is_what_numpy_computes(frames: int) -> None:
    waves = noise(3, frames) * np.array([[1], [1e-4], [30]], np.float32)
    waves[1, : waves.shape[1] // 2] = 0
    graph = with_spectrogram(hearing(frames))
    onnx.checker.check_model(write_graph(graph, "g"), full_check=True)
    found = run_graph(graph, waves, ["logits"])[0]
    assert found.shape == (3, 1, frames, BANDS)
    for features, wave in zip(found, waves, strict=True):
        assert_close(features[0], log_mel(wave, frames=frames), atol=1e-5)


def test_it_is_the_formula_written_out() -> None:
    wave = noise(1, 2)[0]
    samples = np.arange(2048)
    window = 0.54 - 0.46 * np.cos(2 * np.pi * samples / 2047)
    level = wave / np.abs(wave).max()
    for frame in (0, 1):
        piece = level[1328 * frame : 1328 * frame + 2048] * window / np.sqrt((window**2).sum())
        lines = [abs(np.sum(piece * np.exp(-2j * np.pi * k * samples / 2048))) for k in range(1025)]
        assert_close(heard(wave[None], 2)[0, 0, frame], np.log(lines @ mel_filters() + FLOOR), atol=1e-4)


def test_a_loud_low_tone_does_not_hide_quiet_bands() -> None:
    time = np.arange(320_000) / 32_000
    pulse = np.exp(-(((time % 0.5) - 0.25) ** 2) / 2e-5) * np.sin(2 * np.pi * 200 * time)
    wave = pulse.astype(np.float32)
    assert log_mel(wave).min() < -17  # near the floor, where float32 would be wrong by far more
    assert_close(heard(wave[None], 240)[0, 0], log_mel(wave), atol=1e-4)


def test_silence_is_not_divided_by_zero() -> None:
    silent = np.full((1, 1, 240, BANDS), np.log(1e-8))
    assert_close(heard(np.zeros((1, 320_000), np.float32), 240), silent, atol=1e-5)


@pytest.mark.skipif(not BIRDS.exists(), reason="the bird clips for development are not on this machine")
def test_real_clips() -> None:
    soundfile = pytest.importorskip("soundfile", reason="needs the extra `audio`", exc_type=ImportError)
    paths = [
        *sorted((BIRDS / "esc50").glob("*.ogg"))[::100],
        *sorted((BIRDS / "capuchin").glob("*.ogg"))[::100],
    ]
    waves = [soundfile.read(path, dtype="float32")[0] for path in paths]
    filled = np.stack([np.pad(wave, (0, 320_000 - len(wave))) for wave in waves])
    for features, wave in zip(heard(filled, 240), waves, strict=True):
        assert_close(features[0], log_mel(wave), atol=1e-4)


def test_openvino_computes_it_in_float32() -> None:
    openvino = pytest.importorskip("openvino", reason="needs the extra `openvino`")
    raw = write_graph(with_spectrogram(hearing(240)), "g").SerializeToString()
    core = openvino.Core()
    settings = {"INFERENCE_PRECISION_HINT": "f32"}
    model = core.compile_model(core.read_model(raw), "CPU", settings)
    waves = noise(2, 240)
    assert_close(np.array(model(waves)[0])[1, 0], log_mel(waves[1]), atol=1e-4)


@pytest.mark.parametrize("shape", [(3, 32, 32), (1, 240, 32), (64,)])
def test_a_model_that_takes_no_features_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(SettingError, match=r"inputs of shape \(1, frames, 64\); this takes"):
        with_spectrogram(hearing(0, shape))
