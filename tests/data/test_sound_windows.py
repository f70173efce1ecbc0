"""Recordings of any length, window by window: the same samples as in one piece, in bounded memory."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from leantta.data.audio import read_wave
from leantta.data.sound_windows import read_sound_windows
from leantta.errors import DataError, MissingFileError, SettingError

soundfile = pytest.importorskip("soundfile", reason="needs the extra `audio`", exc_type=ImportError)


def recording(folder: Path, seconds: float, rate: int = 32_000) -> Path:
    wave = np.random.default_rng(0).uniform(-0.5, 0.5, round(seconds * rate))
    soundfile.write(folder / "long.wav", wave, rate)
    return folder / "long.wav"


@pytest.mark.parametrize("rate", [8_000, 32_000, 44_100])
@pytest.mark.parametrize(
    ("seconds", "starts"),
    [
        (0.01, [0]),
        (3, [0]),
        (10, [0]),
        (10.2, [0]),  # a rest of less than half a second is left out
        (10.6, [0, 0.6]),
        (19.99, [0, 9.99]),
        (20, [0, 10]),
        (20.3, [0, 10]),
        (25, [0, 10, 15]),  # the last window ends with the recording
    ],
)
def test_windows_are_parts_of_the_whole(
    tmp_path: Path, rate: int, seconds: float, starts: list[float]
) -> None:
    path = recording(tmp_path, seconds, rate)
    whole = read_wave(path)
    found = list(read_sound_windows(path))
    assert [window.start_s for window in found] == pytest.approx(starts)
    for start_s, wave in found:
        first = round(start_s * 32_000)
        assert len(wave) == min(320_000, len(whole))
        np.testing.assert_allclose(wave, whole[first : first + len(wave)], rtol=0, atol=5e-6)


def test_a_window_may_have_another_length(tmp_path: Path) -> None:
    found = list(read_sound_windows(recording(tmp_path, 5), 64_000))
    assert [window.start_s for window in found] == [0, 2, 3]


def test_an_hour_needs_the_memory_of_two_windows(tmp_path: Path) -> None:
    second = (127 * np.sin(np.arange(8_000) * 0.3)).astype(np.int16) * 256
    with soundfile.SoundFile(tmp_path / "hour.wav", "w", 8_000, 1, "PCM_U8") as file:
        for _ in range(3600):
            file.write(second)
    tracemalloc.start()
    starts = [window.start_s for window in read_sound_windows(tmp_path / "hour.wav")]
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert starts == [10.0 * i for i in range(360)]
    assert peak_bytes < 10_000_000  # the hour itself has 461 MB at 32 kHz


def test_windows_before_a_damaged_place_are_given(tmp_path: Path) -> None:
    wave = np.full(32_000 * 25, 0.1)
    wave[32_000 * 22] = np.nan
    soundfile.write(tmp_path / "long.wav", wave, 32_000, subtype="FLOAT")
    windows = read_sound_windows(tmp_path / "long.wav")
    assert next(windows).start_s == 0
    assert next(windows).start_s == 10
    with pytest.raises(DataError, match=r"long\.wav holds NaN or infinite samples"):
        next(windows)


def test_a_recording_without_samples(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"long\.wav holds no samples"):
        list(read_sound_windows(recording(tmp_path, 0)))


def test_nothing_at_the_path(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no sound file at"):
        list(read_sound_windows(tmp_path / "none.wav"))


def test_a_window_without_samples(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="at least one sample; 0"):
        list(read_sound_windows(recording(tmp_path, 1), 0))
