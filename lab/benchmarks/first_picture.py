"""Draw README's picture: photographs as they are and disturbed, and what the sample's file says of them.

    python lab/benchmarks/first_picture.py           # compute, write results/first_picture.json, and draw
    python lab/benchmarks/first_picture.py --show    # the sentence under the picture, from the record

*Before* is the same file with its adapting switched off. The photographs are the test images that leantta-lab
carries. Shown is, of each disturbance, the first that is decided rightly as it is, wrongly when disturbed and
rightly again when the file adapts; the record counts all.
"""

import argparse
import json
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from PIL import Image

import leantta
from leantta.files import replacing, sha256_of
from leantta.plotting import GREEN, RED, new_figure
from leantta.records.provenance import canonical
from leantta.samples import FOLDER
from leantta_lab.samples import CIFAR10_SAMPLE

ROOT = Path(__file__).resolve().parents[2]
FILE = FOLDER / "sample.onnx"
RECORD = ROOT / "results" / "first_picture.json"
PICTURE = ROOT / "docs" / "first_picture.webp"
COMMAND = "python lab/benchmarks/first_picture.py"
DISTURBED = {"motion_blur": 4, "fog": 5, "gaussian_noise": 3, "contrast": 4}
OFF = {"low": 0.0, "room": 0.0, "shrink": 3e38}
"""Settings of the adaptive layers with which they leave the source statistics as they are."""

Answers = Mapping[str, Any]


def frozen() -> bytes:
    """Return the file with its adapting switched off; all else is the same to the byte."""
    model = onnx.load(FILE)
    for node in model.graph.node:
        for attribute in node.attribute:
            if node.domain == "leantta" and attribute.name in OFF:
                attribute.f = OFF[attribute.name]
    content: bytes = model.SerializeToString()
    return content


def answers(images: NDArray[np.uint8]) -> Answers:
    """Return what the file says of images before (frozen) and after, and how far they are from the source."""
    with leantta.load(FILE) as session:
        after, info = session.run(images), session.info
    mean, std = (np.array(values, np.float32) for values in (info.input.mean, info.input.std))
    inputs = ((images / np.float32(255) - mean) / std).transpose(0, 3, 1, 2)
    twin = onnxruntime.InferenceSession(frozen(), providers=["CPUExecutionProvider"])
    (before,) = twin.run(["logits"], {twin.get_inputs()[0].name: inputs.astype(np.float32)})
    return {
        "before": [int(index) for index in before.argmax(1)],
        "after": [int(index) for index in after.logits.argmax(1)],
        "shift": [round(float(value), 3) for value in np.asarray(after.shift)],
    }


def computed() -> dict[str, Any]:
    """Return the record: all answers, and which photograph is shown of each disturbance."""
    data = np.load(CIFAR10_SAMPLE)
    labels = [int(label) for label in data["y_test"]]
    clean = answers(data["x_test"])
    rows: dict[str, dict[str, Any]] = {}
    for name, severity in DISTURBED.items():
        told = answers(leantta.corrupt(data["x_test"], name, severity, seed=0))
        each = zip(labels, clean["after"], told["before"], told["after"], strict=True)
        shown = [place for place, (y, c, b, a) in enumerate(each) if y == c == a != b]
        taken = {row["shown"] for row in rows.values()}
        rows[name] = {"severity": severity, "shown": next(p for p in shown if p not in taken), **told}
    return {
        "command": COMMAND,
        "file_sha256": sha256_of(FILE),
        "versions": {"leantta": leantta.__version__, "onnxruntime": onnxruntime.__version__},
        "labels": labels,
        "clean": clean,
        "disturbed": rows,
    }


def sentence(record: Answers) -> str:
    """Return the words under the picture: what was counted on all photographs."""
    labels = np.array(record["labels"])

    def share(parts: list[Answers], key: str) -> float:
        return float(100 * np.mean([np.array(part[key]) == labels for part in parts]))

    rows = list(record["disturbed"].values())
    before, after, clean = (
        share(rows, "before"),
        share(rows, "after"),
        share([record["clean"]], "after"),
    )
    return (
        f"Photographs that show it, not a score: over all {len(labels)} test photographs with these four "
        f"disturbances, {before:.1f} % are decided rightly before and {after:.1f} % after; undisturbed, "
        f"{clean:.1f} %."
    )


def drawn(record: Answers) -> bytes:
    """Return the picture as WebP."""
    data, classes = np.load(CIFAR10_SAMPLE), leantta.load(FILE).info.classes or ()
    rows = record["disturbed"]
    with new_figure(9, 5.9) as figure:
        figure.set_layout_engine("constrained", rect=(0, 0.05, 1, 0.93), hspace=0.06)  # words stand outside
        grid = figure.subplots(2, len(rows))
        for column, (name, row) in zip(grid.T, rows.items(), strict=True):
            place = row["shown"]
            photo = data["x_test"][place]
            disturbed = leantta.corrupt(data["x_test"], name, row["severity"], seed=0)[place]
            for axes, image in zip(column, (photo, disturbed), strict=True):
                axes.imshow(Image.fromarray(image).resize((256, 256), Image.Resampling.BICUBIC))
                axes.set_axis_off()
            label = classes[record["labels"][place]]
            column[0].set_title(f"clean: {label}\nshift {record['clean']['shift'][place]:.2f}", fontsize=11)
            column[1].set_title(f"{name.replace('_', ' ')}, shift {row['shift'][place]:.2f}", fontsize=11)
            lines = ((-0.07, "before", RED), (-0.17, "after", GREEN))
            for height, key, colour in lines:
                text = f"{key}: {classes[row[key][place]]}"
                column[1].text(
                    0.5,
                    height,
                    text,
                    transform=column[1].transAxes,
                    ha="center",
                    va="top",
                    color=colour,
                    fontsize=12,
                )
        png = BytesIO()
        figure.savefig(png, format="png", dpi=110)
    webp = BytesIO()
    Image.open(png).convert("RGB").save(webp, "WEBP", quality=85)
    return webp.getvalue()


def main() -> None:
    """Write the record and the picture, or say what the record says."""
    parser = argparse.ArgumentParser(description="Draw README's picture.")
    parser.add_argument("--show", action="store_true", help="only the sentence under it")
    if parser.parse_args().show:
        print(sentence(json.loads(RECORD.read_text())))
        return
    record = computed()
    with replacing(RECORD) as part:
        part.write_text(canonical(record) + "\n")
    with replacing(PICTURE) as part:
        part.write_bytes(drawn(record))
    print(sentence(record))


if __name__ == "__main__":
    main()
