"""How int8 does on networks of timm with random weights, nothing adapting: ours and ONNX Runtime's own.

    LEANTTA_TIMM=FOLDER python lab/benchmarks/random_weights.py resnet18 ghostnet_050 vgg11_bn mnasnet_050

prints a table for the page of architectures, with the same networks, statistics and images. Beside both
stands the float32 network itself on images of which only the pixels were rounded, to 256 steps once more:
what that alone changes says how far such a network carries a small error.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import torch
from onnxruntime.quantization import CalibrationMethod

from architectures import ARCHITECTURES, CALIBRATED, HELD_OUT, SETTLED, Architecture, images_of, settle_
from int8_remedies import of_onnx_runtime
from leantta.export.check import LIMIT
from leantta.export.convert import convert
from leantta.export.trace import Traced, trace_adapted
from leantta.gates.paper import PaperGate
from leantta.runtime.session import load
from leantta.surgery.adaptation import parse_selector
from leantta.tables import markdown
from timm_here import timm_here

Floats = npt.NDArray[np.float32]


def row(architecture: Architecture, timm: object, folder: Path) -> list[str]:
    """Return the cells of one network."""
    torch.manual_seed(0)
    model = architecture.build(timm)
    inputs, labels = images_of("train", SETTLED, architecture.size)
    settle_(model, inputs, labels)
    tested, _ = images_of("test", HELD_OUT, architecture.size)
    step = 2 * np.abs(tested).max() / 255
    rounded = (np.rint(tested / step) * step).astype(np.float32)
    with torch.inference_mode():
        exact, nearly = (model(torch.from_numpy(each)).numpy() for each in (tested, rounded))
    traced: list[Traced] = []

    def kept(*asked: object) -> Traced:
        traced.append(trace_adapted(*asked))  # type: ignore[arg-type] # what `convert` gives it
        return traced[-1]

    known = inputs[:CALIBRATED]
    with patch("leantta.export.convert.trace_adapted", kept), patch.dict(LIMIT, int8=np.inf):
        done = convert(model, known, folder / "net.onnx", layers=parse_selector("none"), gate=PaperGate())
    with load(done.path) as session:
        ours = session.run(tested).arrays["logits"]
    others = of_onnx_runtime(traced[0].graph, known, tested, CalibrationMethod.MinMax)
    return [architecture.name, *(_compared(found, exact) for found in (nearly, ours, others))]


def _compared(found: Floats, exact: Floats) -> str:
    """Return the share of decisions that stay, and the error of the scores as a share of their deviation."""
    same = float((found.argmax(1) == exact.argmax(1)).mean())
    return f"{100 * same:.0f} %, {float(np.sqrt(((found - exact) ** 2).mean()) / exact.std()):.2f}"


def main(names: list[str]) -> None:
    """Print the table."""
    torch.set_num_threads(1)
    with timm_here() as timm, TemporaryDirectory() as folder:
        rows = [row(ARCHITECTURES[name], timm, Path(folder)) for name in names]
    print(markdown(["network", "pixels rounded alone", "our int8", "ONNX Runtime's int8"], rows))


if __name__ == "__main__":
    main(sys.argv[1:])
