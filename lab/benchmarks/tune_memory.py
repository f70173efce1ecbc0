"""When a layer with a memory should use it and when forget, found without the corruptions of the tables.

    python lab/benchmarks/tune_memory.py resnet18 cifar100 --images cifar100.npz [--weights FILE]

runs stream mode on training images with the shifts of `leantta.disturbances.camera`, once in random
order (abrupt) and once shift by shift with rising and falling severity (gradual), and writes what each
setting got right to results/memory_tuning.json; what is there already is not run again.
`--show` prints the table.
"""

from pathlib import Path

import numpy as np

from leantta.data.datasets import Dataset, model_inputs
from leantta.disturbances.camera import CAMERA_SHIFTS, shifted
from leantta.disturbances.corruptions.names import SEVERITIES
from tune_gate import FIRST, Sets, Tuning, main

OUTPUT = Path(__file__).resolve().parents[2] / "results" / "memory_tuning.json"
EACH = 20
"""Images of each step of the gradual stream; the abrupt one has the same images."""

PLAIN = "leantta:sixteen:calibrated"
METHODS = (
    PLAIN,
    *(
        f"{PLAIN}:memory:agreement={agreement}:patience={patience}"
        for agreement, patience in ((0.1, 1), (0.3, 1), (0.2, 8), (0.3, 8), (0.5, 8), (0.3, 16))
    ),
)


def streams(data: Dataset) -> Sets:
    """Return the two streams, images with their labels."""
    images, labels = data.samples[FIRST:], data.labels[FIRST:]
    severities = len(SEVERITIES)
    kinds = len(CAMERA_SHIFTS) * severities
    count = 2 * kinds * EACH
    abrupt = np.random.default_rng(0).permutation(count)
    shifted_images, place = shifted(images[:count]), np.arange(count).reshape(2 * EACH, kinds)
    up = np.arange(severities)
    steps = []
    for shift in range(len(CAMERA_SHIFTS)):
        columns = severities * shift + np.concatenate([up, up[::-1]])
        for step, column in enumerate(columns):
            half = slice(0, EACH) if step < severities else slice(EACH, None)
            steps.append(place[half, column])
    orders = {"abrupt": abrupt, "gradual": np.concatenate(steps)}
    return {name: (model_inputs(shifted_images[order]), labels[order]) for name, order in orders.items()}


if __name__ == "__main__":
    main(__doc__, Tuning(OUTPUT, METHODS, ("abrupt", "gradual")), PLAIN, streams)
