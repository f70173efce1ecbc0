"""Sound files in several formats, rates and numbers of channels; damaged ones; a missing extra."""

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from leantta.data import audio
from leantta.data.audio import MonoReader, read_wave
from leantta.data.logmel import log_mel
from leantta.errors import DataError, MissingExtraError, MissingFileError

soundfile = pytest.importorskip("soundfile", reason="needs the extra `audio`", exc_type=ImportError)

BIRDS = Path(__file__).resolve().parents[2] / "../shared/data/birds"


def tone(hz: float, rate: int, seconds: float = 1.0) -> npt.NDArray[np.float64]:
    return 0.5 * np.sin(2 * np.pi * hz * np.arange(int(seconds * rate)) / rate)


@pytest.mark.parametrize(
    ("suffix", "tolerance"), [("wav", 1e-4), ("flac", 1e-4), ("ogg", 0.05), ("mp3", 0.1)]
)
def test_a_mono_clip_at_32_khz_comes_as_it_is(tmp_path: Path, suffix: str, tolerance: float) -> None:
    wave = tone(1000, 32_000)
    soundfile.write(tmp_path / f"clip.{suffix}", wave, 32_000)
    read = read_wave(tmp_path / f"clip.{suffix}")
    assert read.dtype == np.float32
    np.testing.assert_allclose(read[: wave.size], wave, rtol=0, atol=tolerance)
    assert abs(read.size - wave.size) < 3000  # an mp3 may be padded


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE", "ULAW"])
def test_any_number_of_bits(tmp_path: Path, subtype: str) -> None:
    wave = tone(1000, 32_000)
    soundfile.write(tmp_path / "clip.wav", wave, 32_000, subtype=subtype)
    tolerance = {"PCM_U8": 0.01, "ULAW": 0.03}.get(subtype, 1e-4)
    np.testing.assert_allclose(read_wave(tmp_path / "clip.wav"), wave, rtol=0, atol=tolerance)


@pytest.mark.parametrize("rate", [8_000, 22_050, 44_100, 48_000, 96_000])
def test_another_rate_is_converted(tmp_path: Path, rate: int) -> None:
    soundfile.write(tmp_path / "clip.wav", tone(1000, rate), rate, subtype="FLOAT")
    read = read_wave(str(tmp_path / "clip.wav"))
    assert read.shape == (32_000,)
    inside = slice(500, -500)  # the filter fades in and out at the ends
    np.testing.assert_allclose(read[inside], tone(1000, 32_000)[inside], rtol=0, atol=5e-3)


def test_channels_are_averaged(tmp_path: Path) -> None:
    left, right = tone(500, 32_000), tone(3000, 32_000)
    soundfile.write(tmp_path / "clip.wav", np.stack([left, right], axis=1), 32_000, subtype="FLOAT")
    np.testing.assert_allclose(read_wave(tmp_path / "clip.wav"), (left + right) / 2, rtol=0, atol=1e-6)


def test_six_channels_at_96_khz_with_8_bits(tmp_path: Path) -> None:
    wave = tone(1000, 96_000)
    soundfile.write(tmp_path / "clip.wav", np.stack([wave] * 6, axis=1), 96_000, subtype="PCM_U8")
    read = read_wave(tmp_path / "clip.wav")
    assert read.shape == (32_000,)
    np.testing.assert_allclose(read[500:-500], tone(1000, 32_000)[500:-500], rtol=0, atol=0.02)


def test_pieces_make_up_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audio, "_BLOCK_VALUES", 1000)
    wave = tone(1000, 44_100)
    soundfile.write(tmp_path / "clip.wav", np.stack([wave, wave], axis=1), 44_100, subtype="FLOAT")
    with MonoReader(tmp_path / "clip.wav") as reader:
        assert reader.rate == 44_100
        pieces = [reader.read(count) for count in (1, 2500, 40_000, 40_000, 10)]
    assert [len(piece) for piece in pieces] == [1, 2500, 40_000, 1599, 0]
    np.testing.assert_allclose(np.concatenate(pieces), wave, rtol=0, atol=1e-6)


def test_nothing_at_the_path(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"no sound file at .*none\.wav"):
        read_wave(tmp_path / "none.wav")


@pytest.mark.parametrize("content", [b"", b"RIFF", b"not a sound at all " * 20])
def test_a_text_that_is_named_like_a_sound(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "clip.wav").write_bytes(content)
    with pytest.raises(
        DataError, match=r"clip\.wav cannot be read as sound: .*Give a wav, flac, ogg or mp3 file"
    ):
        read_wave(tmp_path / "clip.wav")


@pytest.mark.parametrize("rate", [1, 999, 500_000])
def test_a_rate_that_no_sound_has(tmp_path: Path, rate: int) -> None:
    soundfile.write(tmp_path / "clip.wav", np.zeros(100), rate)
    with pytest.raises(DataError, match=rf"clip\.wav has a sample rate of {rate:,} Hz"):
        read_wave(tmp_path / "clip.wav")


def test_of_a_file_that_was_cut_off_what_is_there_is_heard(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "clip.wav", tone(1000, 32_000), 32_000)
    whole = read_wave(tmp_path / "clip.wav")
    data = (tmp_path / "clip.wav").read_bytes()
    (tmp_path / "clip.wav").write_bytes(data[: len(data) // 2])
    part = read_wave(tmp_path / "clip.wav")
    assert 15_000 < len(part) < 16_001
    np.testing.assert_array_equal(part, whole[: len(part)])


def test_a_folder_is_no_sound(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read as sound"):
        read_wave(tmp_path)


def test_a_clip_without_samples(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "clip.wav", np.zeros(0), 32_000)
    with pytest.raises(DataError, match=r"clip\.wav holds no samples"):
        read_wave(tmp_path / "clip.wav")


@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_a_clip_that_is_not_finite(tmp_path: Path, value: float) -> None:
    wave = tone(500, 32_000)
    wave[100] = value
    soundfile.write(tmp_path / "clip.wav", wave, 32_000, subtype="FLOAT")
    with pytest.raises(DataError, match=r"clip\.wav holds NaN or infinite samples"):
        read_wave(tmp_path / "clip.wav")


def test_without_the_extra_the_install_line_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "soundfile", None)
    with pytest.raises(MissingExtraError, match=r"needs soundfile.*pip install 'leantta\[audio\]'"):
        read_wave(tmp_path / "clip.wav")


@pytest.mark.skipif(not BIRDS.exists(), reason="the bird clips for development are not on this machine")
@pytest.mark.parametrize("folder", ["esc50", "capuchin"])
def test_real_clips_become_features(folder: str) -> None:
    for path in sorted((BIRDS / folder).glob("*.ogg"))[:5]:
        features = log_mel(read_wave(path))
        assert features.shape == (240, 64)
        assert np.isfinite(features).all()
        assert features[:80].std() > 0.5  # there is a sound in it
