"""What makes an epoch cheap on a processor: precision, size of images and batch, and memory that is kept.

    python lab/benchmarks/training_speed.py

Each way takes its turn in a process of its own, several times over; a figure is the time of one epoch of
50,000 images, from the median step. The training steps are those of `leantta train`, on made-up images.
"""

import argparse
import json
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from leantta.progress import Bar
from leantta.records.json_file import write_json
from leantta.records.provenance import provenance_now

RECORD = Path(__file__).resolve().parents[2] / "results" / "training_speed.json"
IMAGES = 50_000

STEPS = """
import json, sys, tempfile, time
from pathlib import Path
import numpy as np, torch
from leantta.data.datasets import Dataset
from leantta.models.named import build
from leantta.allocation import keep_blocks
from leantta_lab.training.request import KEPT_BYTES
from leantta_lab.training.loop import Training
from leantta_lab.training.recipes import Recipe
way = json.loads(sys.argv[1])
if way["kept"]:
    keep_blocks(*KEPT_BYTES)
torch.set_num_threads(way["threads"])
dice = np.random.default_rng(0)
count = way["batch"] * (way["steps"] + 2)
data = Dataset(
    "cifar10", "train", dice.integers(0, 256, (count, 32, 32, 3), np.uint8), dice.integers(0, 10, count), ()
)
recipe = Recipe(epochs=2, growth=((way["side"], 1),), batch_size=way["batch"], peak_rate=0.01)
with tempfile.TemporaryDirectory() as folder:
    run = Training(
        build(way["network"]), data, recipe, checkpoint=Path(folder, "t"), key="", bf16=way["bf16"]
    ).run()
    seconds, last = [], time.perf_counter()
    for step in run:
        now = time.perf_counter()
        seconds.append(now - last)
        last = now
        if step.done == way["steps"] + 2:
            break
print(json.dumps(seconds))
"""


@dataclass(frozen=True, kw_only=True)
class Way:
    """One way to train."""

    network: str
    batch: int = 256
    side: int = 32
    bf16: bool = True
    kept: bool = True
    threads: int = 2

    @property
    def steps(self) -> int:
        """How many steps are timed, after two that warm up."""
        return max(3, 1024 // self.batch)

    def __str__(self) -> str:
        """Return what it is, in a few words."""
        kind = "bf16" if self.bf16 else "float32"
        kept = "" if self.kept else ", memory handed back"
        return f"{self.network}, {self.side} pixels, batches of {self.batch}, {kind}{kept}"


def ways(network: str) -> list[Way]:
    """Return the usual way first, and others that differ from it in one thing."""
    return [
        Way(network=network),
        Way(network=network, side=24),
        Way(network=network, side=16),
        Way(network=network, batch=128),
        Way(network=network, batch=512),
        Way(network=network, bf16=False),
        Way(network=network, kept=False),
    ]


def steps_of(way: Way) -> list[float]:
    """Return the seconds of each step in a fresh process, the two of the warm-up first."""
    asked = json.dumps({**asdict(way), "steps": way.steps})
    done = subprocess.run([sys.executable, "-c", STEPS, asked], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{way}: {done.stderr.strip().splitlines()[-1]}")
    return [round(value, 4) for value in json.loads(done.stdout)]


def main() -> None:
    """Take turns, keep all values, print epochs and ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--networks", default="resnet18,mobilenet_v2", help="named models, with commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=RECORD)
    given = parser.parse_args()
    provenance = provenance_now()
    tried = [way for network in given.networks.split(",") for way in ways(network)]
    seconds: dict[Way, list[list[float]]] = {way: [] for way in tried}
    bar = Bar("steps")
    for turn in range(given.rounds):
        for place, way in enumerate(tried):
            seconds[way].append(steps_of(way))
            bar(turn * len(tried) + place + 1, given.rounds * len(tried))
    rows = [{**asdict(way), "warm_up_steps": 2, "step_seconds": seconds[way]} for way in tried]
    write_json(
        {"kind": "training speed", "format": 1, **asdict(provenance), "images": IMAGES, "ways": rows},
        given.output,
    )
    print(f"{provenance.machine['cpu']}, {tried[0].threads} threads")
    for way in tried:
        usual = next(each for each in tried if each.network == way.network)
        print(
            f"{way}: {epoch(way, seconds[way]):.0f} s an epoch, "
            f"{epoch(way, seconds[way]) / epoch(usual, seconds[usual]):.2f} x"
        )


def epoch(way: Way, turns: list[list[float]]) -> float:
    """Return the seconds of an epoch, from the median of all steps but those of the warm-up."""
    return statistics.median(value for steps in turns for value in steps[2:]) * IMAGES / way.batch


if __name__ == "__main__":
    main()
