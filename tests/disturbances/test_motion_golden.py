"""The same seed gives the same windows as it always did: records name the edition, not the windows."""

import numpy as np
import pytest

from leantta.disturbances.motion import EDITION, MOTION_SHIFTS, shift_motion

WAVE = np.broadcast_to(np.sin(np.arange(128) / 5) + np.arange(9)[:, None] / 9, (1, 9, 128))
PLACES = ((0, 10), (4, 60), (8, 120))  # channel and sample

VALUES = {  # at severity 3, of edition 1
    "gain": (1.1821, -0.0645, -0.0117),
    "bias_drift": (0.9689, -0.0605, -0.2199),
    "axis_rotation": (0.3677, -0.0593, -0.1415),
    "noise": (0.9390, 0.2624, -0.0398),
    "drop_outs": (0.9093, 0.0000, -0.0167),
    "sampling_rate": (-0.9943, -0.4994, 1.3384),
}


@pytest.mark.parametrize("name", MOTION_SHIFTS)
def test_windows_are_those_of_the_edition(name: str) -> None:
    assert EDITION == 1  # raise it, and take the new values, when a change is meant
    found = shift_motion(WAVE, name, 3, seed=7, first=2)[0]
    assert [float(found[place]) for place in PLACES] == pytest.approx(VALUES[name], abs=1e-4)
