"""How much of two cores `leantta scan` uses: two actors of Ray beside one process, on photographs.

    python lab/benchmarks/scan_speed.py [--rounds 7] [--output results/scan_speed.json] [--show]

Photographs of 640 x 480 pixels lie in tars; an int8 file of EfficientNet-Lite0 sees 224 x 224 of each. In
turns one process with one core scans them, and two actors with a core each. The rate is that from the first
part file to the last but one, so that neither loading nor the end, when one actor has nothing left, is
counted. CPU time is that of the driver and all that it starts, Ray's own processes included: what it buys
hardly depends on who else uses the machine. Ray gives its workers a lower priority than other processes have;
here it is the same, as the machine may have other work. `--show` prints the record's table.
"""

import argparse
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.dataset as datasets
import pyarrow.parquet as pq

from leantta.tables import Table
from scan_archives import Watched, pictures, write_model, write_tar

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "results" / "scan_speed.json"
SIZE, SEEN = (480, 640), 224
PER_TAR, TARS = 32, 120
NETWORK = "efficientnet_lite0"
ONE, TWO = "one process", "two actors"
WORDS = {ONE: ["--cores", "1"], TWO: ["--ray", "--actors", "2", "--cores", "1"]}
LOOK_S = 0.1


def once(folder: Path, name: str) -> dict[str, float]:
    """Scan the archive in one way; return what it took between the first part file and the last but one."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    words = [
        sys.executable,
        "-m",
        "leantta",
        "scan",
        "model.onnx",
        "in",
        "-o",
        "out",
        "--chunk",
        str(PER_TAR),
    ]
    process = subprocess.Popen(
        [*words, *WORDS[name]],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "RAY_worker_niceness": "0"},
    )
    watched, looks = Watched(process.pid), []
    while process.poll() is None:
        parts = sum(1 for _ in out.glob("parts/*/[0-9]*.parquet"))
        looks.append((time.monotonic(), parts, watched.look().cpu_s))
        time.sleep(LOOK_S)
    if process.returncode:
        raise SystemExit(f"{name} ended with {process.returncode}")
    begin = next(look for look in looks if look[1])
    end = next(look for look in looks if look[1] >= TARS - 1)
    inputs = (end[1] - begin[1]) * PER_TAR
    return {
        "inputs": inputs,
        "seconds": end[0] - begin[0],
        "cpu_s": end[2] - begin[2],
        "inputs_per_s": inputs / (end[0] - begin[0]),
        "inputs_per_cpu_s": inputs / (end[2] - begin[2]),
    }


def measure(folder: Path, rounds: int) -> dict[str, Any]:
    """Return what each way took in each round, and what goes in and out."""
    (folder / "in").mkdir()
    contents = pictures(SIZE, "JPEG")
    for number in range(TARS):
        first = number * PER_TAR % len(contents)
        write_tar(folder / "in" / f"{number:03d}.tar", contents[first : first + PER_TAR], ".jpg")
    write_model(folder / "model.onnx", NETWORK, SEEN)
    took: dict[str, list[dict[str, float]]] = {ONE: [], TWO: []}
    for number in range(rounds):
        for name in (ONE, TWO) if number % 2 else (TWO, ONE):
            took[name].append(once(folder, name))
            print(number, name, {k: round(v, 2) for k, v in took[name][-1].items()}, flush=True)
    told = json.loads((folder / "out" / "scan.json").read_text())
    inputs = TARS * PER_TAR
    parts = datasets.dataset(str(folder / "out" / "parts")).to_table()
    return {
        "rounds": took,
        "classes": len(parts["probabilities"][0]),
        "layers": len(told["layers"]),
        "bytes_per_input": sum(each.stat().st_size for each in (folder / "in").iterdir()) / inputs,
        "bytes_written_per_input": bytes_in_a_part(parts.slice(0, len(contents)), 1024),
        "cpu_s_per_input": {
            name: 1 / statistics.median(each["inputs_per_cpu_s"] for each in rounds_of)
            for name, rounds_of in took.items()
        },
    }


def bytes_in_a_part(rows: Any, count: int) -> float:
    """Return the bytes of a row in a part of so many, from rows of inputs that differ."""
    sizes = []
    for part in (rows, rows.slice(0, 0)):
        file = io.BytesIO()
        pq.write_table(part, file, compression="zstd")
        sizes.append(len(file.getvalue()))
    return (sizes[0] - sizes[1]) / len(rows) + sizes[1] / count


def table(record: dict[str, Any]) -> Table:
    """Return the medians, and the ratio of two actors to twice the one process."""
    took = record["rounds"]
    rows = []
    kinds = (("inputs_per_s", "inputs/s", 2), ("inputs_per_cpu_s", "inputs per s of CPU", 1))
    for key, words, times in kinds:
        one, two = (statistics.median(each[key] for each in took[name]) for name in (ONE, TWO))
        ratios = [b[key] / a[key] / times for a, b in zip(took[ONE], took[TWO], strict=True)]
        span = f"{min(ratios):.2f} to {max(ratios):.2f}"
        rows.append((words, f"{one:.1f}", f"{two:.1f}", f"{statistics.median(ratios):.2f}", span))
    head = ("median", ONE, TWO, "of what 1 process x actors gives", "rounds")
    return Table(head, tuple(rows), (f"{len(took[ONE])} rounds in turns on {record['machine']['cpu']}.",))


def main() -> None:
    """Measure and keep the record, or show it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--show", action="store_true")
    chosen = parser.parse_args()
    if chosen.show:
        print(table(json.loads(RECORD.read_text())).markdown())
        return
    from leantta.files import replacing
    from leantta.records.provenance import describe_machine, loaded_versions

    with TemporaryDirectory() as folder:
        took = measure(Path(folder), chosen.rounds)
    record = {
        "benchmark": "scan_speed",
        "machine": describe_machine(),
        "versions": loaded_versions(),
        "command": " ".join(["python lab/benchmarks/scan_speed.py", *sys.argv[1:]]),
        "network": NETWORK,
        **took,
    }
    print(table(record).markdown())
    if chosen.output:
        with replacing(chosen.output) as part:
            part.write_text(json.dumps(record, separators=(",", ":")))


if __name__ == "__main__":
    main()
