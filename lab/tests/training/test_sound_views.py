"""Training views of sound: every setting changes something, labels follow the sound, the dice decide."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from leantta.data.logmel import log_mel
from leantta.errors import DataError, SettingError
from leantta_lab.training.views import SoundViews, mix, moved, sound_view, swelled

Wave = npt.NDArray[np.float32]
PLAIN = SoundViews(mixing=0, shifting=0, swell_db=0)


def noise(seed: int, length: int = 8_000) -> Wave:
    return np.random.default_rng(seed).normal(size=length).astype(np.float32)


def view(views: SoundViews, seed: int = 0, label: int = 0, other_label: int = 1) -> tuple[Wave, int]:
    return sound_view(noise(1), label, noise(2), other_label, np.random.default_rng(seed), views)


def test_without_changes_the_clip_comes_back() -> None:
    wave, label = view(PLAIN)
    np.testing.assert_array_equal(wave, noise(1))
    assert label == 0


@pytest.mark.parametrize("change", [{"mixing": 1.0}, {"shifting": 1.0}, {"swell_db": 6.0}])
def test_every_setting_changes_the_clip(change: dict[str, float]) -> None:
    views = replace(PLAIN, **change)
    wave, label = view(views)
    assert wave.shape == (8_000,)
    assert wave.dtype == np.float32
    assert np.abs(log_mel(wave, frames=4) - log_mel(noise(1), frames=4)).max() > 0.01
    assert label == int("mixing" in change)
    np.testing.assert_array_equal(wave, view(views)[0])
    assert np.any(wave != view(views, seed=1)[0])


def test_the_quietest_mixture_matters() -> None:
    loud, quiet = (view(SoundViews(mixing=1, quietest_db=db))[0] for db in (0.0, -30.0))
    assert np.any(loud != quiet)


@pytest.mark.parametrize(("label", "other", "wanted"), [(0, 0, 0), (1, 0, 1), (0, 1, 1), (1, 1, 1)])
def test_a_mixture_has_a_bird_if_either_has(label: int, other: int, wanted: int) -> None:
    assert view(SoundViews(mixing=1), label=label, other_label=other)[1] == wanted
    assert view(SoundViews(mixing=0), label=label, other_label=other)[1] == label


def test_shares_are_shares() -> None:
    labels = [view(SoundViews(mixing=0.25), seed=seed)[1] for seed in range(400)]
    assert 0.17 < np.mean(labels) < 0.33


def test_both_clips_of_a_mixture_are_levelled_first() -> None:
    first, second = 100 * noise(1), 0.01 * noise(2, 3_000)
    found = mix(first, second, -6.0)
    other = np.resize(second, 8_000) / np.abs(second).max()
    wanted = first / np.abs(first).max() + 10 ** (-6 / 20) * other
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(mix(np.zeros(5, np.float32), np.zeros(2, np.float32), 0), 0)


def test_moving_loses_nothing() -> None:
    np.testing.assert_array_equal(moved(moved(noise(1), 700), -700), noise(1))


def test_a_swell_ends_at_its_gain() -> None:
    ones = np.ones(100, np.float32)
    swell = swelled(ones, 6.0)
    assert (swell[0], swell[-1]) == (1, pytest.approx(10**0.3))
    assert (np.diff(swell) > 0).all()
    np.testing.assert_array_equal(swelled(ones, 0.0), ones)


def test_what_cannot_be() -> None:
    for wrong in ({"mixing": 1.5}, {"shifting": -0.1}, {"quietest_db": 1.0}, {"swell_db": -1.0}):
        with pytest.raises(SettingError, match="got"):
            SoundViews(**wrong)
    with pytest.raises(DataError, match="without samples"):
        mix(noise(1), noise(1, 0), 0)
