"""Calibration with sound files, and files that take frames or the waveform."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from leantta.data.audio import read_wave
from leantta.data.logmel import log_mel
from leantta.errors import DataError, SettingError
from leantta.export.convert import convert
from leantta.export.folders import read_features
from leantta.export.options import FileOptions, InputKind
from leantta.export.source import selftest_wave
from leantta.runtime.inputs import hear
from leantta.runtime.session import load
from leantta.runtime.verify import verify

soundfile = pytest.importorskip("soundfile", reason="needs the extra `audio`", exc_type=ImportError)

FRAMES = 20


def ear() -> nn.Module:
    """A small network over log-mel features with one logit."""
    torch.manual_seed(0)
    layers = (
        nn.Conv2d(1, 8, 5, stride=3),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Conv2d(8, 8, 3),
        nn.BatchNorm2d(8),
    )
    return nn.Sequential(*layers, nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 1)).eval()


@pytest.fixture(scope="module")
def sounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 clips at two rates, in folders, and one that is long."""
    folder = tmp_path_factory.mktemp("sounds")
    rng = np.random.default_rng(0)
    for number in range(24):
        rate = (32_000, 44_100)[number % 2]
        t = np.arange(rate) / rate
        wave = 0.5 * np.sin(2 * np.pi * 200 * (number + 1) * t) + 0.05 * rng.normal(size=t.size)
        path = folder / f"{number % 3}" / f"{number:02d}.{('wav', 'flac', 'ogg')[number % 3]}"
        path.parent.mkdir(exist_ok=True)
        soundfile.write(path, np.clip(wave, -1, 1), rate)
    soundfile.write(folder / "long.wav", rng.uniform(-0.5, 0.5, 32_000 * 8), 32_000)
    return folder


def test_features_of_every_file(sounds: Path) -> None:
    found = read_features(sounds, 512, "silence", frames=FRAMES)
    assert found.dtype == np.float32
    assert found.shape[1:] == (1, FRAMES, 64)
    assert len(found) > 25 + 5  # the long one gives several windows
    first = sorted(path for path in sounds.rglob("*") if path.is_file())[0]
    wave = read_wave(first)
    np.testing.assert_allclose(found[0, 0], log_mel(wave[:28_800], frames=FRAMES), rtol=0, atol=1e-3)


def test_of_many_files_some_are_taken_at_even_steps(sounds: Path) -> None:
    found = read_features(sounds, 3, "repeat", frames=FRAMES)
    files = sorted(path for path in sounds.rglob("*") if path.is_file())
    assert len(found) == 3
    for features, file in zip(found, (files[0], files[12], files[-1]), strict=True):
        wave = read_wave(file)[:28_800]
        np.testing.assert_allclose(
            features[0], log_mel(wave, frames=FRAMES, filling="repeat"), rtol=0, atol=1e-3
        )


def test_no_sound_to_calibrate_with(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no sound file in"):
        read_features(tmp_path, 5, "silence")


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_frames_and_waveform_say_the_same(
    sounds: Path, tmp_path: Path, precision: str, portable: bool
) -> None:
    source = read_features(sounds, 64, "silence", frames=FRAMES)
    inputs: tuple[InputKind, ...] = ("tensor", "waveform")
    for kind in inputs:
        options = FileOptions(precision=precision, portable=portable, input=kind)  # type: ignore[arg-type] # as given
        path = tmp_path / f"{kind}.onnx"
        convert(ear(), source, path, gate="calibrated", options=options, sound="silence")
        assert all(check.ok for check in verify(path))
    with load(tmp_path / "tensor.onnx") as frames, load(tmp_path / "waveform.onnx") as waveform:
        assert (frames.info.input.kind, frames.info.input.shape) == ("frames", (1, FRAMES, 64))
        assert (waveform.info.input.kind, waveform.info.input.shape) == ("waveform", (28_800,))
        assert frames.info.layers == waveform.info.layers != ()
        for file in sorted(sounds.rglob("*.wav"))[:6]:
            wave = read_wave(file)
            first, second = (each.predict_one(hear(wave, each.info)) for each in (frames, waveform))
            assert second.logits == pytest.approx(first.logits, abs=0.02 if precision == "int8" else 1e-4)
            assert second.shift == pytest.approx(first.shift, abs=0.05)
    if portable:
        with load(tmp_path / "waveform.onnx", engine="openvino") as session:
            assert session.predict_one(hear(wave, session.info)).logits == pytest.approx(
                second.logits, abs=0.05
            )


def test_the_made_up_wave_packs_into_little() -> None:
    import zlib

    wave = selftest_wave(320_000)
    assert wave.shape == (1, 320_000)
    assert np.abs(wave).max() == 1
    assert len(zlib.compress(wave.tobytes(), 9)) < 40_000


def test_what_cannot_become_a_file_that_hears(tmp_path: Path) -> None:
    features = np.random.default_rng(0).normal(size=(16, 1, FRAMES, 64)).astype(np.float32)
    waveform = FileOptions(input="waveform")
    with pytest.raises(SettingError, match="a waveform as input needs a model for sound"):
        convert(ear(), features, tmp_path / "x.onnx", options=waveform)
    with pytest.raises(SettingError, match="unknown filling 'noise'"):
        convert(ear(), features, tmp_path / "x.onnx", sound="noise")  # type: ignore[arg-type] # the mistake
    with pytest.raises(SettingError, match="as they are; leave mean and std out"):
        convert(ear(), features, tmp_path / "x.onnx", sound="silence", mean=[0.1], std=[2.0])
    with pytest.raises(DataError, match=r"log-mel features \(n, 1, frames, 64\).*inputs \(16, 1, 20, 32\)"):
        convert(ear(), features[..., :32], tmp_path / "x.onnx", sound="silence")
    assert not (tmp_path / "x.onnx").exists()
