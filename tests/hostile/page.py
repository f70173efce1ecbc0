"""The table of the recorded run in docs/reliability.md."""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reliability.md"
RECORD = ROOT / "results" / "hostile.json"
BEGIN = "<!-- hostile inputs: made by tests/hostile/run_hostile.py -->"
END = "<!-- end of hostile inputs -->"


def table_of(record: dict[str, Any]) -> str:
    """The table, and what it was taken on."""
    rows = record["attacks"]
    lines = [
        "| attack | what is given | to | inputs | answered | refused | faults | slowest |",
        "|---|---|---|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        counts = f"{row['inputs']:,} | {row['answered']:,} | {row['refused']:,} | {len(row['faults'])}"
        told = f"{row['given']} | {row['reader']}"
        lines.append(f"| {row['name']} | {told} | {counts} | {row['slowest_ms']:,.0f} ms |")
    sums = [f"{sum(row[key] for row in rows):,}" for key in ("inputs", "answered", "refused")]
    faults = sum(len(row["faults"]) for row in rows)
    lines.append(f"| **all** | | | **{sums[0]}** | {sums[1]} | {sums[2]} | **{faults}** | |")
    minutes = sum(row["seconds"] for row in rows) / 60
    machine, versions = record["machine"], record["versions"]
    kernels = ", ".join(record["paths"])
    said = (
        f"One run of {minutes:.0f} minutes on {machine['cpu']}, kernel paths {kernels}, Python "
        f"{versions['python']}, ONNX Runtime {versions['onnxruntime']}, {record['started'][:10]}; the record "
        f"is `results/hostile.json`."
    )
    return "\n".join([*lines, "", said])


def with_table(page: str, record: dict[str, Any]) -> str:
    """The page with the table of that record."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{table_of(record)}\n{END}{rest.split(END)[1]}"


def write_page() -> None:
    PAGE.write_text(with_table(PAGE.read_text(), json.loads(RECORD.read_text())))
