"""Log-mel features against the DFT and the triangles written out, and against scipy's spectrogram."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantta.data.logmel import (
    BANDS,
    FLOOR,
    HOP,
    WINDOW,
    Filling,
    clip_samples,
    hz_to_mel,
    log_mel,
    mel_filters,
    mel_to_hz,
)
from leantta.errors import DataError, SettingError

Array = npt.NDArray[np.float64]
SILENCE = np.float32(np.log(1e-8))


def bird(seconds: float = 10.0, rate: int = 32_000) -> Array:
    """A chirp that comes and goes over noise."""
    t = np.arange(int(seconds * rate)) / rate
    noise = np.random.default_rng(0).normal(size=t.size)
    return 0.3 * np.sin(2 * np.pi * (3000 + 800 * np.sin(9 * t)) * t) * (np.sin(3 * t) > 0.5) + 0.02 * noise


def triangles() -> Array:
    """Slaney's filters from their definition, one line at a time."""

    def mel(hz: float) -> float:
        return 3 * hz / 200 if hz < 1000 else 15 + 27 * np.log(hz / 1000) / np.log(6.4)

    def hz(mel: float) -> float:
        return 200 * mel / 3 if mel < 15 else 1000 * 6.4 ** ((mel - 15) / 27)

    corners = [hz(mel(50) + i * (mel(16000) - mel(50)) / 65) for i in range(66)]
    filters = np.zeros((1025, 64))
    for line in range(1025):
        f = line * 32000 / 2048
        for band in range(64):
            left, peak, right = corners[band : band + 3]
            height = 2 / (right - left)
            if left < f <= peak:
                filters[line, band] = height * (f - left) / (peak - left)
            elif peak < f < right:
                filters[line, band] = height * (right - f) / (right - peak)
    return filters


def test_features_are_the_formula_written_out() -> None:
    wave = bird()
    lines, samples = np.arange(1025), np.arange(2048)
    dft = np.exp(-2j * np.pi * (np.outer(lines, samples) % 2048) / 2048)
    window = 0.54 - 0.46 * np.cos(2 * np.pi * samples / 2047)
    frames = [wave[1328 * i : 1328 * i + 2048] / np.abs(wave).max() for i in range(240)]
    spectrum = np.abs(np.array(frames) * window @ dft.T) / np.sqrt((window**2).sum())
    wanted = np.log(spectrum @ triangles() + 1e-8)
    features = log_mel(wave)
    assert features.shape == (240, 64)
    assert features.dtype == np.float32
    np.testing.assert_allclose(features, wanted, rtol=0, atol=1e-4)


def test_features_are_those_of_the_baselines_spectrogram() -> None:
    signal = pytest.importorskip("scipy.signal")
    wave = bird()
    _, _, spectrum = signal.spectrogram(
        wave / np.abs(wave).max(),
        window=np.hamming(2048),
        nperseg=2048,
        noverlap=720,
        detrend=False,
        mode="magnitude",
    )
    assert spectrum.shape == (1025, 240)  # ten seconds hold 240 windows
    np.testing.assert_allclose(log_mel(wave), np.log(spectrum.T @ triangles() + 1e-8), rtol=0, atol=1e-4)


def test_an_error_of_one_percent_would_be_seen() -> None:
    wave = bird()
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(log_mel(wave), np.log(1.01 * np.exp(log_mel(wave))), rtol=0, atol=1e-4)


def test_every_band_has_weight_and_lies_between_its_bounds() -> None:
    filters = mel_filters()
    assert filters.shape == (1025, BANDS)
    assert (filters.sum(axis=0) > 0).all()
    lines = np.flatnonzero(filters.sum(axis=1)) * 32000 / 2048
    assert lines.min() > 50
    assert lines.max() < 16000
    with pytest.raises(ValueError, match="read-only"):
        filters[0, 0] = 1


@given(st.floats(1, 16000))
def test_the_mel_scale_can_be_undone(hz: float) -> None:
    assert float(mel_to_hz(hz_to_mel(np.array(hz)))) == pytest.approx(hz, rel=1e-12)


@pytest.mark.parametrize("tone_hz", [200.0, 1000.0, 4000.0, 12000.0])
def test_a_tone_is_loudest_in_its_band(tone_hz: float) -> None:
    features = log_mel(np.sin(2 * np.pi * tone_hz * np.arange(320_000) / 32_000))
    loudest = int(features.mean(axis=0).argmax())
    line = round(tone_hz * 2048 / 32000)
    assert mel_filters()[line, loudest] > 0


@settings(max_examples=25, deadline=None)
@given(st.floats(1e-3, 1e3))
def test_loudness_does_not_matter(gain: float) -> None:
    wave = bird(0.5)
    np.testing.assert_allclose(log_mel(wave * gain, frames=8), log_mel(wave, frames=8), rtol=0, atol=1e-4)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40_000), st.integers(1, 30), st.sampled_from(["silence", "repeat"]))
def test_any_length_gives_the_frames_asked_for(length: int, frames: int, filling: Filling) -> None:
    features = log_mel(bird(2)[:length], frames=frames, filling=filling)
    assert features.shape == (frames, BANDS)
    assert np.isfinite(features).all()


def test_a_short_clip_is_followed_by_silence() -> None:
    wave = bird(1.0)
    features = log_mel(wave)
    held = 1 + (wave.size - WINDOW) // HOP
    np.testing.assert_array_equal(features[:held], log_mel(wave, frames=held))
    first_silent = -(-wave.size // HOP)
    assert (features[first_silent:] == SILENCE).all()
    assert (features[:first_silent] > SILENCE).all()


def test_a_short_clip_may_be_repeated() -> None:
    wave = bird(1.0)
    np.testing.assert_array_equal(log_mel(wave, filling="repeat"), log_mel(np.tile(wave, 10)))


def test_a_long_clip_is_cut_but_levelled_as_a_whole() -> None:
    wave = bird(12.0)
    wave[-1] = 4 * np.abs(wave).max()
    np.testing.assert_allclose(
        np.exp(log_mel(wave)) - FLOOR, (np.exp(log_mel(wave[:-1])) - FLOOR) / 4, rtol=1e-4, atol=1e-9
    )


def test_silence_is_not_divided_by_zero() -> None:
    assert (log_mel(np.zeros(320_000)) == SILENCE).all()


@pytest.mark.parametrize("shape", [(0,), (2, 320), ()])
def test_a_wave_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match="mono wave with at least one sample"):
        log_mel(np.zeros(shape))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_wave_that_is_not_finite_is_refused(value: float) -> None:
    wave = bird(0.1)
    wave[7] = value
    with pytest.raises(DataError, match="NaN or infinite"):
        log_mel(wave)


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(SettingError, match="at least one frame; 0"):
        log_mel(bird(0.1), frames=0)
    with pytest.raises(SettingError, match="unknown filling 'noise'; known: silence, repeat"):
        log_mel(bird(0.1), filling="noise")  # type: ignore[arg-type]  # the mistake under test


def test_a_clip_has_whole_tenths_of_a_second() -> None:
    assert clip_samples() == 320_000
    for frames in (1, 2, 100, 240):
        assert clip_samples(frames) % 3_200 == 0
        assert 0 <= clip_samples(frames) - (WINDOW + (frames - 1) * HOP) < 3_200
