"""Whether other layers or gates would help where sound shifts, found without the test clips.

    python lab/benchmarks/tune_sound.py FOLDER

runs the bird detector on training clips of ESC-50, as they are and with each shift at each severity, and
writes what each setting got right to results/sound_tuning.json; what is there already is not run again.
`--show` prints the table.
"""

import argparse
from pathlib import Path

import numpy as np
import torch

from leantta.data.datasets import Dataset
from leantta.disturbances.corruptions.names import SEVERITIES
from leantta.files import sha256_of
from leantta.methods.method import SourceModel
from leantta.modalities.datasets import dataset_info
from leantta.modalities.sound import SOUND
from leantta.models.opening import pretrained
from leantta.progress import Bar
from leantta_lab.datasets.bird_lists import load_clips
from leantta_lab.models.checkpoints import find_weights
from tune_gate import Loaded, Sets, Tuning, run_rows, table_of

OUTPUT = Path(__file__).resolve().parents[2] / "results" / "sound_tuning.json"
MODEL, DATASET = "vggish", "esc50"
EACH = 20
"""Clips of each shift at each severity."""

METHODS = (
    "none",
    "leantta:half:paper",
    "leantta:half:paper:tau=0.8",
    "leantta:half:paper:tau=0.95",
    "leantta:all:paper",
    "leantta:sixteen:calibrated",
    "leantta:sixteen:calibrated:floor=0.075",
    "leantta:sixteen:calibrated:ceiling=0.8",
    "leantta:all:calibrated",
)


def clean_and_shifted(data: Dataset) -> Sets:
    """Return what is compared on: training clips with a shift, and all as they are."""
    change = SOUND.corruptor(data)
    random = np.random.default_rng(0)
    kinds = [(name, severity) for name in SOUND.corruptions for severity in SEVERITIES]
    progress = Bar("shifts")
    made, labels = [], []
    for place, (name, severity) in enumerate(kinds):
        for clip in random.permutation(len(data))[:EACH]:
            made.append(
                SOUND.inputs(change(data.samples[clip : clip + 1], name, severity, seed=0, first=int(clip)))
            )
            labels.append(data.labels[clip])
        progress(place + 1, len(kinds))
    order = random.permutation(len(labels))  # so that any part has all of them
    return {
        "shifted": (np.concatenate(made)[order], np.array(labels)[order]),
        "clean": (SOUND.inputs(data.samples), data.labels),
    }


def loaded(data: Dataset) -> Loaded:
    """Return the detector and the clips it was trained on."""
    torch.set_num_threads(1)
    info = dataset_info(DATASET)
    network = pretrained(MODEL, DATASET)
    subject = SourceModel(
        model=network,
        example=torch.from_numpy(SOUND.inputs(data.samples[:2])),
        mean=info.mean,
        std=info.std,
        classes=info.outputs,
        source=lambda count: SOUND.inputs(data.samples[:count]),
        modality=SOUND.name,
    )
    return Loaded(MODEL, data, sha256_of(find_weights(MODEL, DATASET)), subject)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="with the clips of ESC-50 and their table")
    parser.add_argument("--show", action="store_true", help="print the table, run nothing")
    told = parser.parse_args()
    tuning = Tuning(OUTPUT, METHODS, ("shifted", "clean"))
    if not told.show:
        if told.folder is None:
            parser.error("which folder?")
        clips = load_clips(told.folder, DATASET, "train")
        run_rows(tuning, loaded(clips), clean_and_shifted(clips))
    print(table_of(tuning, "none"))
