"""What happens to motion windows (n, 9, 128): each function takes a strength and draws the rest.

The body's acceleration was made from the total one by taking gravity away, with a high-pass filter. So what a
sensor does to its axes is done to both, but what is constant over a window never reaches the body's.
"""

import numpy as np
import numpy.typing as npt

from leantta.data.corruptions.draws import Draws
from leantta.data.windows import BODY, GYRO, SAMPLES, TOTAL

Windows = npt.NDArray[np.float64]


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
