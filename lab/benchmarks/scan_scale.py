"""A million tiny inputs through `leantta scan` on Ray: the driver's memory, rates, bytes and files.

    python lab/benchmarks/scan_scale.py [--inputs 1000000] [--output results/scan_scale.json] [--show]

Half of the inputs lie in tars of a thousand, half in Parquet files of ten thousand. The driver is the process
of the command line; it is looked at every two seconds. `--show` prints the record, and what 10^9 photographs
would cost by it and by the rate of a real network in results/scan_speed.json.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from leantta.tables import Table
from scan_archives import Watched, pictures, write_model, write_table, write_tar

ROOT = Path(__file__).resolve().parents[2]
RECORD, SPEED = ROOT / "results" / "scan_scale.json", ROOT / "results" / "scan_speed.json"
PER_TAR, PER_TABLE = 1000, 10_000
LOOK_S = 2.0
MANY = 1_000_000_000


def make(folder: Path, inputs: int) -> None:
    """Write the archive and the model."""
    pool = pictures((8, 8), "PNG")
    contents = (pool * (PER_TABLE // len(pool) + 1))[:PER_TABLE]
    (folder / "in").mkdir()
    for number in range(inputs // 2 // PER_TAR):
        write_tar(folder / "in" / f"{number:05d}.tar", contents[:PER_TAR], ".png")
    for number in range(inputs // 2 // PER_TABLE):
        write_table(folder / "in" / f"{number:05d}.parquet", contents)
    write_model(folder / "tiny.onnx", "tiny", 8)


def measure(folder: Path, actors: int) -> dict[str, Any]:
    """Scan the archive and report on it; return what that took."""
    out = folder / "out"
    words = [sys.executable, "-m", "leantta", "scan", "tiny.onnx", "in", "-o", "out", "--batch", "32"]
    words += ["--ray", "--actors", str(actors)]
    started = time.monotonic()
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(words, cwd=folder, stdout=log, stderr=log)
        watched, looks = Watched(process.pid), []
        listed_s = None
        while process.poll() is None:
            used = watched.look()
            parts = sum(1 for _ in out.glob("parts/*/[0-9]*.parquet"))
            spent = time.monotonic() - started
            if listed_s is None and _listing(out) is not None:
                listed_s = spent
            looks.append((round(spent, 2), parts, used.rss_bytes, used.all_rss_bytes, round(used.cpu_s, 2)))
            time.sleep(LOOK_S)
    spent = time.monotonic() - started
    if process.returncode:
        raise SystemExit((folder / "log").read_text()[-2000:])
    before = time.monotonic()
    told = json.loads(
        subprocess.check_output([sys.executable, "-m", "leantta", "report", "out", "--json"], cwd=folder)
    )
    return {
        "seconds": round(spent, 2),
        "listed_within_s": listed_s,
        "report_seconds": round(time.monotonic() - before, 2),
        "inputs": told["inputs"],
        "errors": told["errors"],
        "part_files": told["part_files"],
        "part_files_missing": told["part_files_missing"],
        "files_read": sum(1 for _ in (folder / "in").iterdir()),
        "bytes_read": _bytes(folder / "in"),
        "bytes_written": _bytes(out / "parts"),
        "bytes_listing": _bytes(out / "listing"),
        "looks": looks,
    }


def _listing(out: Path) -> Any:
    try:
        return json.loads((out / "scan.json").read_text())["listing"]
    except FileNotFoundError:
        return None


def _bytes(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())


def tables(record: dict[str, Any], speed: dict[str, Any] | None) -> list[Table]:
    """Return what was measured, and what 10^9 photographs would cost by it."""
    inputs, looks = record["inputs"], record["looks"]
    rss = [look[2] / 1e6 for look in looks if look[1]]  # once there is a first part
    quarter = max(len(rss) // 4, 1)
    cpu = looks[-1][4]
    rows = [
        ("inputs", f"{inputs:,} ({record['errors']:,} errors)"),
        ("part files", f"{record['part_files']:,} ({record['part_files_missing']} missing)"),
        ("files read", f"{record['files_read']:,}"),
        ("bytes read", f"{record['bytes_read'] / 1e6:,.0f} MB"),
        ("bytes written", f"{record['bytes_written'] / inputs:.1f} to an input"),
        ("listing", f"{record['bytes_listing']:,} bytes"),
        ("inputs/s", f"{inputs / record['seconds']:,.0f}"),
        ("CPU time", f"{1e6 * cpu / inputs:.0f} us to an input, Ray's own included"),
        ("driver's memory, first quarter", f"{min(rss[:quarter]):.1f} to {max(rss[:quarter]):.1f} MB"),
        ("driver's memory, last quarter", f"{min(rss[-quarter:]):.1f} to {max(rss[-quarter:]):.1f} MB"),
        ("report", f"{record['report_seconds']:.1f} s"),
    ]
    shown = [Table(("a million tiny inputs", "measured"), tuple(rows))]
    if speed is not None:
        cpu_s = speed["cpu_s_per_input"]["two actors"]
        per_part, chunks = inputs / record["part_files"], record["part_files"]
        listing = record["bytes_listing"] / chunks
        parts = MANY / per_part
        costs = [
            ("core hours", f"{MANY * cpu_s / 3600:,.0f}", f"{1000 * cpu_s:.1f} ms of CPU to an image"),
            ("on 1,000 cores", f"{MANY * cpu_s / 3600 / 1000:,.1f} h", "at full use"),
            ("bytes read", f"{MANY * speed['bytes_per_input'] / 1e12:,.0f} TB", "each once"),
            (
                "bytes written",
                f"{MANY * speed['bytes_written_per_input'] / 1e9:,.0f} GB",
                f"{speed['classes']:,} classes, {speed['layers']} layers",
            ),
            ("part files", f"{parts:,.0f}", f"{per_part:,.0f} inputs to each, 1,000 to a folder"),
            ("listing", f"{parts * listing / 1e6:,.0f} MB", "in tars or tables of a chunk or more"),
            ("driver", f"{max(rss):.0f} MB + {9 * parts / 1e6:.0f} MB", "9 bytes to a chunk"),
        ]
        shown.append(Table(("10^9 photographs", "cost", "from"), tuple(costs)))
    return shown


def main() -> None:
    """Measure and keep the record, or show it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--actors", type=int, default=2)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--show", action="store_true")
    chosen = parser.parse_args()
    if not chosen.show:
        from leantta.files import replacing
        from leantta.records.provenance import describe_machine, loaded_versions

        with TemporaryDirectory() as folder:
            make(Path(folder), chosen.inputs)
            took = measure(Path(folder), chosen.actors)
        record = {
            "benchmark": "scan_scale",
            "machine": describe_machine(),
            "versions": loaded_versions(),
            "command": " ".join(["python lab/benchmarks/scan_scale.py", *sys.argv[1:]]),
            "actors": chosen.actors,
            "look_fields": ["seconds", "part files", "driver RSS bytes", "RSS bytes of all", "CPU s of all"],
            **took,
        }
        if chosen.output:
            with replacing(chosen.output) as part:
                part.write_text(json.dumps(record, separators=(",", ":")))
    else:
        record = json.loads(RECORD.read_text())
    speed = json.loads(SPEED.read_text()) if SPEED.is_file() else None
    print("\n\n".join(table.markdown() for table in tables(record, speed)))


if __name__ == "__main__":
    main()
