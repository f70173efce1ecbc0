"""A wave as a model takes it, and what the metadata of such a model must say."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leantta.data.logmel import log_mel
from leantta.errors import ArtifactError, DataError, SettingError
from leantta.runtime.container import read_container
from leantta.runtime.input_info import SoundInfo
from leantta.runtime.inputs import hear, sound_info
from leantta.runtime.metadata import Info, read_info
from runtime.artifacts import artifact

SOUND = {"sample_rate": 32_000, "clip_samples": 320_000, "filling": "silence"}
WAVE = np.random.default_rng(0).normal(size=400_000).astype(np.float32)


def info_of(folder: Path, kind: str = "frames", changes: Mapping[str, Any] = {}) -> Info:
    told: dict[str, Any] = {"input.kind": kind, "input.sound": SOUND}
    if kind == "waveform":
        told |= {"input.shape": [320_000], "selftest.shape": [1, 320_000]}
    told.update(changes)
    path = artifact(folder / "ear.onnx", shape=(1, 240, 64), normalized=False, outputs=1, changes=told)
    return read_info(read_container(path))


def test_frames_are_log_mel_features(tmp_path: Path) -> None:
    info = info_of(tmp_path)
    assert info.input.sound == SoundInfo(32_000, 320_000, "silence")
    found = hear(WAVE[:50_000], info)
    assert found.shape == (1, 240, 64)
    np.testing.assert_array_equal(found[0], log_mel(WAVE[:50_000]))
    np.testing.assert_array_equal(hear(WAVE, info)[0], log_mel(WAVE[:320_000]))
    repeating = info_of(tmp_path, changes={"input.sound": {**SOUND, "filling": "repeat"}})
    np.testing.assert_array_equal(hear(WAVE[:50_000], repeating)[0], log_mel(WAVE[:50_000], filling="repeat"))


def test_a_waveform_is_cut_or_filled(tmp_path: Path) -> None:
    info = info_of(tmp_path, "waveform")
    np.testing.assert_array_equal(hear(WAVE, info), WAVE[:320_000])
    short = hear(WAVE[:7].astype(np.float64), info)
    assert (short.shape, short.dtype) == ((320_000,), np.float32)
    np.testing.assert_array_equal(short[:7], WAVE[:7])
    assert not short[7:].any()


@pytest.mark.parametrize("kind", ["frames", "waveform"])
@pytest.mark.parametrize("wave", [WAVE[:0], WAVE.reshape(2, -1), np.full(9, np.nan, np.float32)])
def test_waves_that_cannot_be_heard(tmp_path: Path, kind: str, wave: Any) -> None:
    with pytest.raises(DataError, match=r"mono wave|NaN"):
        hear(wave, info_of(tmp_path, kind))


def test_a_model_for_something_else(tmp_path: Path) -> None:
    info = read_info(read_container(artifact(tmp_path / "eye.onnx")))
    with pytest.raises(SettingError, match=r"tiny takes inputs of shape \(3, 8, 8\), not sound"):
        sound_info(info)


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("frames", {"input.sound": None}, "'input.sound' must be an object"),
        (
            "frames",
            {"input.sound": {**SOUND, "sample_rate": 16_000}},
            "'input.sound.sample_rate' must be 32000",
        ),
        ("frames", {"input.sound": {**SOUND, "filling": "noise"}}, "'input.sound.filling' must be one of"),
        ("frames", {"input.sound": {**SOUND, "clip_samples": 9_000}}, "enough for 240 frames"),
        ("frames", {"input.shape": [1, 240, 32]}, "'input.shape' must be 1 channel, the frames and 64 bands"),
        ("frames", {"input.shape": [64]}, "1 channel, the frames and 64 bands"),
        ("waveform", {"input.shape": [1, 240, 64]}, r"'input.shape' must be \[320000\]"),
        ("frames", {"input.kind": "smell"}, "must be one of tensor, image, signal, frames, waveform"),
    ],
)
def test_metadata_that_cannot_be(tmp_path: Path, kind: str, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ArtifactError, match=message):
        info_of(tmp_path, kind, change)
