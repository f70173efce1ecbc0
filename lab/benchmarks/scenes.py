"""Measure the segmenter for scenes, adapting and not, in torch's precision and as int8 files.

    python lab/benchmarks/scenes.py cifar10.npz

converts the network that `leantta_lab.models.scenes:segmenter` gives, without adaptation, with the paper's
gate and with the shift filter, fitted on scenes of training photographs. The files run on scenes of test
photographs, clean and corrupted at severity 5; intersections and unions by class go to results/scenes.json.
`--show` prints the table.
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from leantta.disturbances.corruptions.apply import corrupt
from leantta.evaluate.predictor import decided
from leantta.export.convert import convert
from leantta.export.options import FileOptions
from leantta.modalities.datasets import load_data
from leantta.progress import Bar
from leantta.records.json_file import write_json
from leantta.records.provenance import provenance_now
from leantta.runtime.session import Session, load
from leantta.tables import markdown
from leantta_lab.datasets.scenes import Scenes, scenes_of
from leantta_lab.datasets.table import CIFAR10
from leantta_lab.models.scenes import segmenter

OUTPUT = Path(__file__).resolve().parents[2] / "results" / "scenes.json"
CLASSES = 1 + len(CIFAR10.classes)
CORRUPTIONS = ("gaussian_noise", "defocus_blur", "fog", "brightness", "contrast", "jpeg_compression")
SEVERITY = 5
BATCH, RESAMPLES = 20, 1000

FILES: dict[str, dict[str, Any]] = {
    "nothing adapts, float32": {"layers": "none", "options": FileOptions(precision="fp32")},
    "nothing adapts, int8": {"layers": "none", "options": FileOptions(input="image")},
    "paper's gate, first half, float32": {
        "layers": "half",
        "gate": "paper",
        "options": FileOptions(precision="fp32"),
    },
    "paper's gate, first half, int8": {
        "layers": "half",
        "gate": "paper",
        "options": FileOptions(input="image"),
    },
    "shift filter, int8": {"layers": "ends", "gate": "filter", "options": FileOptions(input="image")},
}
Counts = npt.NDArray[np.int64]


def counted(session: Session, scenes: Scenes) -> Counts:
    """Return pixels of each class in both and in either of decision and truth: (scenes, 2, classes)."""
    rows = []
    for start in range(0, len(scenes.images), BATCH):
        part = slice(start, start + BATCH)
        for found, mask in zip(
            decided(session.predict(scenes.images[part])), scenes.masks[part], strict=True
        ):
            both = np.bincount(found[found == mask], minlength=CLASSES)
            either = np.bincount(found.ravel(), minlength=CLASSES) + np.bincount(
                mask.ravel(), minlength=CLASSES
            )
            rows.append((both, either - both))
    return np.array(rows)


def mean_iou(counts: Counts) -> float:
    """Return the mean over classes of intersection over union, each over all scenes (scenes, 2, classes)."""
    both, either = counts.sum(0)
    return float((both[either > 0] / either[either > 0]).mean())


def interval(counts: Counts, base: Counts) -> tuple[float, float]:
    """Return the 95 % interval of the gain, from scenes drawn again: (kinds, scenes, 2, classes)."""
    draw, gains = np.random.default_rng(0), []
    for _ in range(RESAMPLES):
        chosen = draw.integers(0, counts.shape[1], counts.shape[1])
        gains.append(
            np.mean([mean_iou(a[chosen]) - mean_iou(b[chosen]) for a, b in zip(counts, base, strict=True)])
        )
    low, high = np.percentile(gains, (2.5, 97.5))
    return float(low), float(high)


def measure(images: Path, calibration: int, tested: int, output: Path) -> None:
    """Convert each file and run it on clean and corrupted scenes; the record grows by one file at a time."""
    source = scenes_of(load_data(images, "cifar10", "train"), calibration, seed=1_000_003)
    clean = scenes_of(load_data(images, "cifar10", "test"), tested, seed=2_000_003)
    kinds = {"clean": clean}
    for name in CORRUPTIONS:
        kinds[name] = clean._replace(images=corrupt(clean.images, name, SEVERITY, seed=0))
    settings_of = {"calibration": calibration, "tested": tested, "severity": SEVERITY}
    results: dict[str, Any] = {}
    if output.exists() and settings_of.items() <= (known := json.loads(output.read_text())).items():
        results = known["files"]  # what an earlier run left
    with TemporaryDirectory() as folder:
        for place, (name, settings) in enumerate(FILES.items()):
            if name in results:
                continue
            path = Path(folder) / f"{place}.onnx"
            done = convert(
                segmenter(), source.images, path, mean=CIFAR10.mean, std=CIFAR10.std, progress=Bar, **settings
            )
            (each,) = done.compared
            with load(path, threads=1) as session:
                counts = {kind: counted(session, scenes).tolist() for kind, scenes in kinds.items()}
            results[name] = {
                "counts": counts,
                "agreement": each.agreement,
                "difference": each.difference,
                "bytes": done.size_bytes,
                "adapting": len(session.info.layers),
                "in_float": [node._asdict() for node in done.in_float],
                "report": None if done.plan.report is None else done.plan.report.numbers(),
            }
            told = {"benchmark": "scenes", **asdict(provenance_now()), **settings_of, "files": results}
            write_json(told, output)


def table(content: dict[str, Any]) -> str:
    """Return the table of a record."""
    rows, base = [], None
    for name, each in content["files"].items():
        counts = {kind: np.array(values) for kind, values in each["counts"].items()}
        shifted = np.array([counts[kind] for kind in CORRUPTIONS])
        base = shifted if base is None else base
        gain = np.mean([mean_iou(part) for part in shifted]) - np.mean([mean_iou(part) for part in base])
        low, high = (0.0, 0.0) if base is shifted else interval(shifted, base)
        rows.append(
            [
                name,
                str(each["adapting"]),
                f"{100 * mean_iou(counts['clean']):.1f}",
                f"{100 * np.mean([mean_iou(part) for part in shifted]):.1f}",
                "-" if base is shifted else f"{100 * gain:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]",
                f"{100 * each['agreement']:.1f}",
                f"{each['bytes'] / 1e6:.2f}",
            ]
        )
    return markdown(
        ["file", "adapting layers", "clean", "corrupted", "vs the first", "as torch %", "MB"], rows
    )


def main() -> None:
    """Measure or show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("images", type=Path, nargs="?", help="CIFAR-10 as one .npz")
    parser.add_argument("--calibration", type=int, default=200)
    parser.add_argument("--tested", type=int, default=200)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--show", action="store_true")
    chosen = parser.parse_args()
    if not chosen.show:
        measure(chosen.images, chosen.calibration, chosen.tested, chosen.output)
    print(table(json.loads(chosen.output.read_text())))


if __name__ == "__main__":
    main()
