"""Contract of every motion shift, and what each does to the sensors."""

import numpy as np
import pytest

from leantta.data.windows import BODY, GYRO, TOTAL
from leantta.disturbances.corruptions.names import SEVERITIES
from leantta.disturbances.motion import MOTION_SHIFTS, shift_motion
from leantta.errors import DataError, SettingError
from motion_files import made_up

WINDOWS = made_up(np.arange(120) % 6)


def mean_change(name: str, severity: int) -> float:
    changed = shift_motion(WINDOWS, name, severity, seed=0)
    if name == "sampling_rate":  # moves everything at once; what it does is to make the motion slower
        return -float(np.abs(np.diff(changed[:, GYRO], axis=2)).mean())
    return float(np.abs(changed - WINDOWS).mean())


@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("name", MOTION_SHIFTS)
def test_a_window_depends_on_nothing_but_itself_its_number_and_the_seed(name: str, severity: int) -> None:
    given = WINDOWS[:6].copy()
    together = shift_motion(given, name, severity, seed=3)
    np.testing.assert_array_equal(given, WINDOWS[:6])
    assert (together.shape, together.dtype) == (given.shape, np.float32)
    assert np.isfinite(together).all()
    for i in range(6):
        np.testing.assert_array_equal(
            shift_motion(given[i : i + 1], name, severity, seed=3, first=i), together[i : i + 1]
        )
    assert not np.array_equal(shift_motion(given, name, severity, seed=4), together)
    assert not np.array_equal(shift_motion(given, name, severity, seed=3, first=1), together)


@pytest.mark.parametrize("name", MOTION_SHIFTS)
def test_a_higher_severity_changes_more(name: str) -> None:
    changes = [mean_change(name, severity) for severity in SEVERITIES]
    assert changes == sorted(changes)
    assert len(set(changes)) == len(changes)


def test_turning_the_phone_keeps_lengths_and_turns_all_sensors_alike() -> None:
    turned = shift_motion(WINDOWS, "axis_rotation", 5, seed=0)
    for part in (BODY, GYRO, TOTAL):
        np.testing.assert_allclose(
            np.linalg.norm(turned[:, part], axis=1), np.linalg.norm(WINDOWS[:, part], axis=1), atol=1e-5
        )
    for before, after in zip(WINDOWS[:9], turned[:9], strict=True):
        matrix = np.linalg.lstsq(before[TOTAL].T, after[TOTAL].T, rcond=None)[0]  # from one sensor
        np.testing.assert_allclose(before[GYRO].T @ matrix, after[GYRO].T, atol=1e-3)  # to another
        assert np.trace(matrix) == pytest.approx(1 + 2 * np.cos(np.radians(60)), abs=1e-3)


def test_gain_scales_an_axis_of_both_accelerations_alike() -> None:
    ratio = shift_motion(WINDOWS, "gain", 3, seed=0) / WINDOWS
    np.testing.assert_allclose(np.abs(ratio - 1), 0.3, atol=1e-3)
    np.testing.assert_allclose(ratio[:, BODY], ratio[:, TOTAL], atol=1e-3)
    assert len(np.unique(np.round(ratio[:, :6, 0], 2))) == 2


def test_the_bodys_acceleration_has_no_constant_bias() -> None:
    added = shift_motion(WINDOWS, "bias_drift", 5, seed=0) - WINDOWS
    np.testing.assert_allclose(added[:, BODY].mean(2), 0, atol=1e-4)
    for part in (GYRO, TOTAL):
        np.testing.assert_allclose(np.linalg.norm(added[:, part].mean(2), axis=1), 0.4, atol=1e-3)
        growth = np.linalg.norm(added[:, part], axis=1)
        assert (np.diff(growth, axis=1) > -1e-5).all()


def test_noise_is_white_and_the_same_in_both_accelerations() -> None:
    added = shift_motion(WINDOWS, "noise", 5, seed=0) - WINDOWS
    np.testing.assert_allclose(added[:, BODY], added[:, TOTAL], atol=1e-5)
    assert added[:, TOTAL].std() == pytest.approx(0.25, rel=0.02)
    assert added[:, GYRO].std() == pytest.approx(0.5, rel=0.02)
    steps = added[:, GYRO, 1:] * added[:, GYRO, :-1]
    assert abs(steps.mean()) < 0.01


@pytest.mark.parametrize(("severity", "share"), [(1, 0.05), (2, 0.1), (3, 0.2), (4, 0.35), (5, 0.5)])
def test_as_many_samples_are_lost_as_it_says_in_all_channels(severity: int, share: float) -> None:
    changed = shift_motion(WINDOWS + 10, "drop_outs", severity, seed=0)
    lost = changed == 0
    assert (lost == lost[:, :1]).all()
    np.testing.assert_array_equal(changed[~lost], (WINDOWS + 10)[~lost])
    assert lost[:, 0, 8:].mean() == pytest.approx(share, abs=0.35 * share)


def test_another_rate_makes_the_same_motion_slower() -> None:
    time = np.arange(128)
    line = np.broadcast_to(time.astype(np.float32), (1, 9, 128))
    steps = np.diff(shift_motion(line, "sampling_rate", 5, seed=0))
    np.testing.assert_allclose(steps, 0.5, atol=1e-4)


def test_what_cannot_be_shifted_is_refused() -> None:
    with pytest.raises(SettingError, match="no motion shift is called 'fog'; there are gain, "):
        shift_motion(WINDOWS, "fog", 1, seed=0)
    with pytest.raises(SettingError, match="severity 6 of gain"):
        shift_motion(WINDOWS, "gain", 6, seed=0)
    with pytest.raises(SettingError, match="seed -1 and first window 0"):
        shift_motion(WINDOWS, "gain", 1, seed=-1)
    with pytest.raises(DataError, match=r"holds the shape \(120, 9, 64\)"):
        shift_motion(WINDOWS[:, :, :64], "gain", 1, seed=0)
