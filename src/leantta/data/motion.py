"""Windows of motion sensors as a modality: UCI HAR, and what happens to a phone's sensors."""

import numpy as np

from leantta.data.datasets import Inputs, Samples
from leantta.data.har import load_windows
from leantta.data.modality import Modality
from leantta.data.motion_shifts.apply import shift
from leantta.data.motion_shifts.table import EDITION, SHIFTS


def _inputs(samples: Samples) -> Inputs:
    """Return windows (n, 9, 128) as models take them: as they are."""
    return np.ascontiguousarray(samples, dtype=np.float32)


MOTION = Modality(
    noun="windows",
    load=load_windows,
    inputs=_inputs,
    corruptions=tuple(SHIFTS),
    corruptor=lambda _: shift,
    made_by=lambda: f"generated, motion shifts, edition {EDITION}",
)
