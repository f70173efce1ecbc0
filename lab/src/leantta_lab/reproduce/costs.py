"""What runs take on one core: guesses that order the jobs and begin the estimate of the remaining time.

They are corrected by what is measured as the jobs run, so only their proportions matter for long.
"""

from collections.abc import Mapping
from typing import NamedTuple

CORRUPTING_SECONDS = 0.0013
"""Of one small image; it is made when the stream comes to it. Large ones are within the costs below."""


class Cost(NamedTuple):
    """Seconds to get ready, and per image at batch 1 and in larger batches."""

    ready: float  # EATA's half a minute and TTN's two are shared by the runs of one process
    single: float
    batched: float


COSTS: Mapping[str, Mapping[str, Cost]] = {
    "resnet18": {
        "none": Cost(1, 0.016, 0.006),
        "leantta": Cost(3, 0.018, 0.007),
        "int8": Cost(1, 0.0035, 0.0025),
        "tent": Cost(1, 0.045, 0.014),
        "eata": Cost(8, 0.020, 0.009),
        "realistic_tta": Cost(1, 0.036, 0.012),
        "cotta": Cost(1, 0.300, 0.220),
        "cotta, 1 view": Cost(1, 0.060, 0.025),
        "ttn": Cost(20, 0.024, 0.008),
        "mixnorm": Cost(1, 0.040, 0.018),
        "unmix_tns": Cost(1, 0.022, 0.009),
    },
    "mobilenet_v2": {
        "none": Cost(1, 0.014, 0.009),
        "leantta": Cost(5, 0.020, 0.010),
        "int8": Cost(1, 0.003, 0.002),
        "tent": Cost(1, 0.040, 0.025),
        "eata": Cost(14, 0.018, 0.014),
        "realistic_tta": Cost(1, 0.036, 0.016),
        "cotta": Cost(1, 0.300, 0.350),
        "cotta, 1 view": Cost(1, 0.065, 0.040),
        "ttn": Cost(25, 0.024, 0.011),
        "mixnorm": Cost(1, 0.045, 0.025),
        "unmix_tns": Cost(1, 0.026, 0.013),
    },
    "efficientnet_lite0": {
        "none": Cost(2, 0.030, 0.026),
        "leantta": Cost(60, 0.045, 0.040),
        "int8": Cost(1, 0.010, 0.010),
    },
    "motion_cnn": {
        "none": Cost(1, 0.0008, 0.0003),
        "leantta": Cost(2, 0.0015, 0.0004),
        "int8": Cost(1, 0.0003, 0.0002),
        "tent": Cost(1, 0.005, 0.0008),
        "eata": Cost(3, 0.004, 0.0008),
        "realistic_tta": Cost(1, 0.003, 0.001),
        "cotta": Cost(1, 0.020, 0.005),
        "cotta, 1 view": Cost(1, 0.008, 0.002),
        "ttn": Cost(2, 0.002, 0.0006),
        "mixnorm": Cost(1, 0.003, 0.0015),
        "unmix_tns": Cost(1, 0.0025, 0.0008),
    },
}

SLOWER: Mapping[str, float] = {"mobilevit_s": 1.0, "vggish": 8.0}
"""Models without a line of their own: how many times as long as MobileNetV2 they take."""


CONVERTING_SECONDS: Mapping[str, float] = {
    "resnet18": 20,
    "mobilenet_v2": 35,
    "vggish": 60,
    "efficientnet_lite0": 180,
    "motion_cnn": 6,
}
"""Of an int8 file."""


def run_seconds(model: str, method: str, batch_size: int, inputs: int) -> float:
    """Return the guess for a method on a model over so many images.

    >>> run_seconds("resnet18", "none", 1, 1000)
    18.3
    """
    name = method.partition(":")[0]
    if name == "cotta" and "augmentations=1" in method:
        name = "cotta, 1 view"
    factor = 1.0 if model in COSTS else SLOWER[model]
    ready, single, batched = COSTS[model if model in COSTS else "mobilenet_v2"][name]
    per_image = single if batch_size == 1 else batched
    return round(factor * (ready + inputs * per_image) + inputs * CORRUPTING_SECONDS, 1)


PROBE_SECONDS: Mapping[str, float] = {"resnet18": 0.006, "mobilenet_v2": 0.02}
"""Of one image through a model that is looked into."""
