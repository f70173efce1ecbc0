"""Every shift of motion sensors, with its strengths at the severities 1 to 5.

They go from what is usual, such as a phone that sits a little crooked, to what a defect or another place of
the phone does. Accelerations are in g, angular velocities in rad/s.
"""

from collections.abc import Callable, Mapping
from functools import partial

from leantta.data.corruptions.draws import Draws
from leantta.data.motion_shifts.changes import (
    Windows,
    axis_rotation,
    bias_drift,
    drop_outs,
    gain,
    noise,
    sampling_rate,
)

Level = Callable[[Windows, Draws], Windows]
"""One shift at one severity."""

Levels = tuple[Level, Level, Level, Level, Level]

EDITION = 1
"""Counts the times that the same seed came to give other windows: older records are then not gone on with.

tests/data/motion_shifts/test_motion_golden.py fails when they change; raise this number and its values.
"""

SHIFTS: Mapping[str, Levels] = {
    "gain": (
        partial(gain, error=0.1),
        partial(gain, error=0.2),
        partial(gain, error=0.3),
        partial(gain, error=0.4),
        partial(gain, error=0.5),
    ),
    "bias_drift": (
        partial(bias_drift, acceleration=0.05, turning=0.05),
        partial(bias_drift, acceleration=0.1, turning=0.1),
        partial(bias_drift, acceleration=0.2, turning=0.2),
        partial(bias_drift, acceleration=0.3, turning=0.3),
        partial(bias_drift, acceleration=0.4, turning=0.4),
    ),
    "axis_rotation": (
        partial(axis_rotation, degrees=10),
        partial(axis_rotation, degrees=20),
        partial(axis_rotation, degrees=30),
        partial(axis_rotation, degrees=45),
        partial(axis_rotation, degrees=60),
    ),
    "noise": (
        partial(noise, acceleration=0.02, turning=0.04),
        partial(noise, acceleration=0.05, turning=0.1),
        partial(noise, acceleration=0.1, turning=0.2),
        partial(noise, acceleration=0.15, turning=0.3),
        partial(noise, acceleration=0.25, turning=0.5),
    ),
    "drop_outs": (
        partial(drop_outs, share=0.05, burst=8),
        partial(drop_outs, share=0.1, burst=8),
        partial(drop_outs, share=0.2, burst=8),
        partial(drop_outs, share=0.35, burst=8),
        partial(drop_outs, share=0.5, burst=8),
    ),
    "sampling_rate": (
        partial(sampling_rate, factor=1.1),
        partial(sampling_rate, factor=1.25),
        partial(sampling_rate, factor=1.5),
        partial(sampling_rate, factor=1.75),
        partial(sampling_rate, factor=2.0),
    ),
}
