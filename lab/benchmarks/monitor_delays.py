"""How often the monitor is wrong on source data, and how soon it sees each corruption.

    python lab/benchmarks/monitor_delays.py resnet18.onnx cifar10 cifar10.npz

runs a model file over test images, as they are and corrupted, and simulates streams of what it says: 100 of
clean images for false alarms, and for each corruption and severity some of 400 clean images followed by
corrupted ones for the delay. They go to results/monitor_delays.json; `--show` prints the table of the record.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from leantta.disturbances.corruptions.names import NAMES, SEVERITIES
from leantta.files import sha256_of
from leantta.modalities.cells import GeneratedCells
from leantta.modalities.datasets import load_data
from leantta.monitor.monitor import Monitor
from leantta.progress import Bar
from leantta.records.json_file import read_json, write_json
from leantta.records.provenance import provenance_now
from leantta.runtime.session import load
from leantta.tables import markdown

OUTPUT = Path(__file__).resolve().parents[2] / "results" / "monitor_delays.json"
KIND, VERSION = "monitor delays", 1
PER_CELL, BATCH = 100, 50
STREAMS, LENGTH = 100, 2000
"""Of clean images, for false alarms."""
TRIALS, CALM, MOST = 40, 400, 1000
"""Streams for each corruption and severity, clean images before it, and corrupted ones at most."""


def shifts_of(path: Path, dataset: str, images: Path) -> dict[str, Any]:
    """Return the shifts that a file finds on clean test images, and on those of each cell."""
    data = load_data(images, dataset, "test")
    cells = GeneratedCells(data)
    order = np.random.default_rng(0).permutation(len(data))
    with load(path, threads=1) as session:
        assert session.info.shift is not None

        def seen(samples: Any) -> list[float]:
            parts = [session.shift(samples[i : i + BATCH]) for i in range(0, len(samples), BATCH)]
            return [round(float(value), 3) for value in np.concatenate(parts)]

        clean = seen(data.samples)
        progress, by_cell = Bar("cells"), {}
        for place, name in enumerate(NAMES):
            for severity in SEVERITIES:
                chosen = np.sort(order[:PER_CELL])
                by_cell[f"{name} {severity}"] = seen(cells.cell(name, severity, chosen, 0))
                progress(len(SEVERITIES) * place + severity, len(NAMES) * len(SEVERITIES))
        source_images = session.info.shift.images
    return {"source_images": source_images, "clean": clean, "cells": by_cell}


def false_alarms(record: dict[str, Any]) -> int:
    """Return how many alarms there are in all streams of clean images."""
    random, clean, alarms = np.random.default_rng(1), np.asarray(record["clean"]), 0
    for _ in range(STREAMS):
        monitor = Monitor(images=record["source_images"])
        events = [monitor.see(float(shift)) for shift in random.choice(clean, LENGTH)]
        alarms += sum(event is not None and event.kind == "alarm" for event in events)
    return alarms


def delays(record: dict[str, Any], cell: str) -> list[int | None]:
    """Return how many corrupted inputs it takes until the alarm in each stream; None: more than are tried."""
    random, clean, shifted = np.random.default_rng(2), record["clean"], record["cells"][cell]
    found: list[int | None] = []
    for _ in range(TRIALS):
        monitor = Monitor(images=record["source_images"])
        for shift in random.choice(clean, CALM):
            monitor.see(float(shift))
        places = (
            n for n, shift in enumerate(random.choice(shifted, MOST), 1) if raised(monitor, float(shift))
        )
        found.append(next(places, None))
    return found


def raised(monitor: Monitor, shift: float) -> bool:
    """Tell whether this input raises the alarm."""
    event = monitor.see(shift)
    return event is not None and event.kind == "alarm"


def table(record: dict[str, Any]) -> str:
    """Return what is in the document, in Markdown."""
    rows = []
    for name in NAMES:
        cells = []
        for severity in SEVERITIES:
            found = [MOST + 1 if each is None else each for each in record["delays"][f"{name} {severity}"]]
            middle = float(np.median(found))
            cells.append(f"more than {MOST}" if middle > MOST else f"{middle:.0f}")
        rows.append([name, *cells])
    head = ["corruption", *(f"severity {severity}" for severity in SEVERITIES)]
    inputs = STREAMS * LENGTH
    above = 100 * np.mean(np.asarray(record["clean"]) > 1)
    notes = (
        f"Inputs from the first shifted one to the alarm, the median of {TRIALS} streams.",
        f"On {STREAMS} streams of {LENGTH:,} clean test images each, {record['false_alarms']} of",
        f"{inputs:,} inputs raised an alarm; at most {record['rate'] * inputs:.0f} are promised.",
        f"{above:.1f} % of the clean test images have a shift above 1.",
    )
    return "\n\n".join([markdown(head, rows), " ".join(notes)])


def main() -> None:
    """Measure, or show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("dataset", nargs="?")
    parser.add_argument("images", type=Path, nargs="?")
    parser.add_argument("--show", action="store_true")
    asked = parser.parse_args()
    if asked.show:
        print(table(read_json(OUTPUT, KIND, VERSION)))
        return
    if asked.images is None:
        parser.error("MODEL, DATASET and IMAGES are needed")
    provenance = provenance_now()
    record = shifts_of(asked.model, asked.dataset, asked.images)
    record |= {
        "model_sha256": sha256_of(asked.model),
        "rate": Monitor(images=record["source_images"]).false_alarms,
        "false_alarms": false_alarms(record),
        "delays": {cell: delays(record, cell) for cell in record["cells"]},
        "command": provenance.command,
        "machine": provenance.machine,
        "versions": provenance.versions,
        "started": provenance.started,
    }
    write_json({"kind": KIND, "format": VERSION, **record}, OUTPUT)
    print(table(record))


if __name__ == "__main__":
    main()
