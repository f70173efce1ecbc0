"""Shifts of motion sensors: how a phone differs from those that a model was trained with.

They act on windows (n, 9, 128), accelerations in g and angular velocities in rad/s, and go from what is
usual, such as a phone that sits a little crooked, to what a defect or another place of the phone does.

The body's acceleration was made from the total one by taking gravity away, with a high-pass filter. So what a
sensor does to its axes is done to both, but what is constant over a window never reaches the body's.
"""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from leantta.data.datasets import Samples
from leantta.data.seeds import Draws
from leantta.data.windows import BODY, GYRO, SAMPLES, TOTAL, as_windows
from leantta.disturbances.levels import Disturbance, check_asked, levels

Windows = npt.NDArray[np.float64]

EDITION = 1
"""Counts the times that the same seed came to give other windows: older records are then not gone on with.

tests/disturbances/test_motion_golden.py fails when they change; raise this number and its values.
"""


def gain(windows: Windows, draws: Draws, *, error: float) -> Windows:
    """Return windows of a sensor whose axes measure too much or too little, each by the part `error`."""
    signs = np.where(draws.uniform(0, 1, (6, 1)) < 0.5, -1.0, 1.0)  # (n, 6, 1): accelerometer, gyroscope
    return windows * (1 + error * np.concatenate((signs, signs[:, :3]), axis=1))


def bias_drift(windows: Windows, draws: Draws, *, acceleration: float, turning: float) -> Windows:
    """Return windows with an offset that grows from half of these g and rad/s to one and a half of them.

    Its direction is random, one for the accelerometer and one for the gyroscope.
    """
    course = np.linspace(0.5, 1.5, SAMPLES)
    accelerometer = acceleration * _directions(draws) * course  # (n, 3, 128)
    gyroscope = turning * _directions(draws) * course
    moving = accelerometer - accelerometer.mean(axis=2, keepdims=True)
    offset: Windows = np.concatenate((moving, gyroscope, accelerometer), axis=1)
    return windows + offset


def axis_rotation(windows: Windows, draws: Draws, *, degrees: float) -> Windows:
    """Return windows of a phone turned by an angle around a random axis: all sensors turn with it."""
    turn = _rotations(_directions(draws)[..., 0], np.radians(degrees))  # (n, 3, 3)
    return np.concatenate([turn @ windows[:, part] for part in (BODY, GYRO, TOTAL)], axis=1)


def noise(windows: Windows, draws: Draws, *, acceleration: float, turning: float) -> Windows:
    """Return windows with white noise of these deviations in g and rad/s; one noise in both accelerations."""
    accelerometer = draws.normal(0, acceleration, (3, SAMPLES))
    gyroscope = draws.normal(0, turning, (3, SAMPLES))
    return windows + np.concatenate((accelerometer, gyroscope, accelerometer), axis=1)


def drop_outs(windows: Windows, draws: Draws, *, share: float, burst: int) -> Windows:
    """Return windows in which about this share of the samples is lost, in bursts: all channels read zero."""
    starts = draws.uniform(0, 1, (SAMPLES,)) < 1 - (1 - share) ** (1 / burst)  # (n, 128)
    lost = starts.copy()
    for behind in range(1, burst):
        lost[:, behind:] |= starts[:, :-behind]
    return np.where(lost[:, None], 0.0, windows)


def sampling_rate(windows: Windows, draws: Draws, *, factor: float) -> Windows:
    """Return windows of a sensor that samples so many times as fast: 128 samples are a part of the time.

    Where in the window the part lies is drawn; samples between two moments lie on the line between them.
    """
    length = (SAMPLES - 1) / factor
    start = draws.uniform(0, 1) * (SAMPLES - 1 - length)  # (n,)
    moments = start[:, None] + np.linspace(0, length, SAMPLES)  # (n, 128)
    before = np.minimum(moments.astype(np.int64), SAMPLES - 2)
    weight = (moments - before)[:, None]
    first = np.take_along_axis(windows, before[:, None], axis=2)
    second = np.take_along_axis(windows, before[:, None] + 1, axis=2)
    return first + weight * (second - first)


def _directions(draws: Draws) -> Windows:
    """Return a random direction for each window, (n, 3, 1), every one as likely."""
    drawn = draws.normal(0, 1, (3, 1))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


def _rotations(axes: Windows, angle: float) -> Windows:
    """Return the matrices (n, 3, 3) that turn by an angle around axes (n, 3): Rodrigues' formula."""
    x, y, z = axes.T
    zero = np.zeros_like(x)
    cross = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=1).reshape(-1, 3, 3)
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross)


MotionShift = Disturbance[Callable[[Windows, Draws], Windows]]

MOTION_SHIFTS: Mapping[str, MotionShift] = {
    "gain": MotionShift(levels(gain, error=(0.1, 0.2, 0.3, 0.4, 0.5))),
    "bias_drift": MotionShift(
        levels(bias_drift, acceleration=(0.05, 0.1, 0.2, 0.3, 0.4), turning=(0.05, 0.1, 0.2, 0.3, 0.4))
    ),
    "axis_rotation": MotionShift(levels(axis_rotation, degrees=(10, 20, 30, 45, 60))),
    "noise": MotionShift(
        levels(noise, acceleration=(0.02, 0.05, 0.1, 0.15, 0.25), turning=(0.04, 0.1, 0.2, 0.3, 0.5))
    ),
    "drop_outs": MotionShift(levels(drop_outs, share=(0.05, 0.1, 0.2, 0.35, 0.5), burst=(8, 8, 8, 8, 8))),
    "sampling_rate": MotionShift(levels(sampling_rate, factor=(1.1, 1.25, 1.5, 1.75, 2.0))),
}


def shift_motion(samples: Samples, name: str, severity: int, *, seed: int, first: int = 0) -> Samples:
    """Return shifted copies of windows (n, 9, 128), as float32.

    Window i of the batch is changed by (name, severity, seed, first + i) alone, as images are corrupted.

    >>> shift_motion(np.ones((1, 9, 128)), "drop_outs", 5, seed=0).min()
    np.float32(0.0)

    Raises:
        SettingError: no such shift, a severity outside 1 to 5, or a negative seed or number.
        DataError: not a batch of windows, or values that are not finite.
    """
    check_asked("motion shift", name, MOTION_SHIFTS, severity, seed=seed, number=("first window", first))
    windows = as_windows(samples, "the batch").astype(np.float64)
    draws = Draws(seed, name, severity, first=first, count=len(windows))
    return MOTION_SHIFTS[name].levels[severity - 1](windows, draws).astype(np.float32)
