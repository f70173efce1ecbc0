"""Every shift of sound over the table: its length, its dice, its strength; and what single ones promise."""

import numpy as np
import numpy.typing as npt
import pytest

from leantta.data.logmel import log_mel
from leantta.disturbances.corruptions.names import SEVERITIES
from leantta.disturbances.sound import SOUND_SHIFTS, mixed, shift_sound
from leantta.errors import DataError, SettingError

Wave = npt.NDArray[np.float32]
FRAMES = 70


def bird(seconds: float = 3.0) -> Wave:
    t = np.arange(int(seconds * 32_000)) / 32_000
    noise = np.random.default_rng(0).normal(size=t.size)
    call = np.sin(2 * np.pi * (3000 + 800 * np.sin(9 * t)) * t) * (np.sin(7 * t) > 0.3)
    return (0.3 * call + 0.002 * noise).astype(np.float32)


def rain(seed: int = 1, seconds: float = 1.3) -> Wave:
    return np.random.default_rng(seed).normal(size=int(seconds * 32_000)).astype(np.float32)


def shifted(name: str, severity: int, *, seed: int = 0, clip: int = 0) -> Wave:
    return shift_sound(bird(), name, severity, seed=seed, clip=clip, backgrounds=[rain(1), rain(2)])


@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("name", SOUND_SHIFTS)
def test_length_and_type_are_kept_and_the_seed_decides(name: str, severity: int) -> None:
    wave = bird()
    first = shifted(name, severity)
    assert (first.shape, first.dtype) == (wave.shape, np.float32)
    assert np.isfinite(first).all()
    np.testing.assert_array_equal(wave, bird())
    np.testing.assert_array_equal(first, shifted(name, severity))
    for other in (shifted(name, severity, seed=1), shifted(name, severity, clip=1)):
        assert SOUND_SHIFTS[name].random == bool(np.any(first != other))


@pytest.mark.parametrize("clip", [0, 1, 2])
@pytest.mark.parametrize("name", SOUND_SHIFTS)
def test_features_move_further_with_severity(name: str, clip: int) -> None:
    clean = log_mel(bird(), frames=FRAMES)
    far = [
        float(np.abs(log_mel(shifted(name, severity, clip=clip), frames=FRAMES) - clean).mean())
        for severity in SEVERITIES
    ]
    assert far == sorted(far)
    assert far[0] > 0.02
    assert far[-1] > 1.5 * far[0]


@pytest.mark.parametrize("name", SOUND_SHIFTS)
@pytest.mark.parametrize("length", [1, 2, 333])
def test_short_clips(name: str, length: int) -> None:
    wave = bird()[1000 : 1000 + length]
    found = shift_sound(wave, name, 3, seed=0, clip=0, backgrounds=[rain()])
    assert found.shape == (length,)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("name", SOUND_SHIFTS)
def test_silence_stays_silence_but_for_the_noise_of_the_recorder(name: str) -> None:
    found = shift_sound(np.zeros(3200, np.float32), name, 5, seed=0, clip=0, backgrounds=[rain()])
    assert np.isfinite(found).all()
    assert bool(np.any(found)) == (name == "gain")


@pytest.mark.parametrize("snr_db", [20.0, 0.0, -6.0])
def test_a_mixture_has_the_ratio_asked_for(snr_db: float) -> None:
    wave, other = bird().astype(np.float64), rain(seconds=3).astype(np.float64)
    added = mixed(wave, other, snr_db) - wave
    assert 10 * np.log10(np.mean(wave**2) / np.mean(added**2)) == pytest.approx(snr_db)


@pytest.mark.parametrize(("severity", "snr_db"), [(1, 20), (2, 12), (3, 6), (4, 0), (5, -6)])
def test_a_background_is_real_sound_from_a_random_place(severity: int, snr_db: float) -> None:
    added = shifted("background", severity) - bird()
    assert 10 * np.log10(np.mean(bird() ** 2) / np.mean(added**2)) == pytest.approx(snr_db, abs=0.05)
    likeness = [
        np.abs(np.fft.irfft(np.fft.rfft(added[: rain(s).size]) * np.conj(np.fft.rfft(rain(s))))).max()
        for s in (1, 2)
    ]
    assert max(likeness) > 10 * min(likeness)  # one of the two, turned round


def test_wind_is_low() -> None:
    added = shifted("wind", 5) - bird()
    spectrum = np.abs(np.fft.rfft(added)) ** 2
    frequency = np.fft.rfftfreq(added.size, 1 / 32_000)
    assert spectrum[frequency < 500].sum() > 0.95 * spectrum.sum()


def test_a_phone_passes_its_band() -> None:
    for hz, low, high in ((50, 0.0, 0.05), (1000, 0.9, 1.01), (10_000, 0.0, 0.05)):
        tone = np.sin(2 * np.pi * hz * np.arange(32_000) / 32_000).astype(np.float32)
        kept = np.abs(shift_sound(tone, "phone", 4, seed=0, clip=0)[2000:-2000]).max()
        assert low <= kept <= high


def test_echoes_come_after_the_sound() -> None:
    click = np.zeros(32_000, np.float32)
    click[1000] = 1
    heard = shift_sound(click, "reverberation", 3, seed=0, clip=0)
    assert np.abs(heard[:1000]).max() < 1e-6
    early, late = np.abs(heard[1001:6000]).mean(), np.abs(heard[20_000:]).mean()
    assert early > 10 * late > 0


def test_a_gain_survives_the_front_end() -> None:
    assert np.abs(shifted("gain", 1)).max() == pytest.approx(10 ** (-15 / 20), rel=0.02)
    quiet = shifted("gain", 5)
    steps = quiet.astype(np.float64) * 32767
    np.testing.assert_allclose(steps, np.rint(steps), rtol=0, atol=1e-2)  # 16 bits
    assert log_mel(quiet, frames=FRAMES).min() > log_mel(bird(), frames=FRAMES).min() + 1


def test_few_bits_leave_few_values() -> None:
    for severity, bits in zip(SEVERITIES, (7, 6, 5, 4, 3), strict=True):
        assert len(np.unique(shifted("low_bit_rate", severity))) <= 2**bits + 1


def test_requests_that_make_no_sense() -> None:
    with pytest.raises(SettingError, match="no shift of sound is called 'fog'; there are background, wind"):
        shift_sound(bird(), "fog", 1, seed=0, clip=0)
    for severity in (0, 6):
        with pytest.raises(SettingError, match=f"severity {severity} of wind"):
            shift_sound(bird(), "wind", severity, seed=0, clip=0)
    with pytest.raises(SettingError, match="seed -1 and clip 0"):
        shift_sound(bird(), "wind", 1, seed=-1, clip=0)
    with pytest.raises(DataError, match="mono wave"):
        shift_sound(np.zeros((2, 9), np.float32), "wind", 1, seed=0, clip=0)


def test_a_background_that_cannot_be_used() -> None:
    with pytest.raises(DataError, match=r"needs real sounds, and none were given"):
        shift_sound(bird(), "background", 1, seed=0, clip=0)
    for bad in (np.zeros(9, np.float32), np.ones((2, 9), np.float32), np.full(9, np.nan, np.float32)):
        with pytest.raises(DataError, match=r"background 0 of 1, of shape .* Take it out"):
            shift_sound(bird(), "background", 1, seed=0, clip=0, backgrounds=[bad])
