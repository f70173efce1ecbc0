"""The page's frozen answer is that of the file with its training statistics: to the bit, for every gate."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import parser

from gates.striped import GOOD, pixels, striped
from leantta.export.convert import convert
from leantta.export.options import FileOptions
from leantta.gates.filter import FilterGate
from leantta.gates.table import GATES
from leantta.graph.ir import LOCAL, OPSET
from leantta.runtime.inputs import prepare
from leantta.runtime.kernel import library
from leantta.runtime.session import load
from play.node import in_node, needs_node

pytestmark = needs_node
GOLDEN = sorted((Path(__file__).parents[1] / "runtime" / "golden").glob("*.onnx"))
OPTIONS = {
    "int8": FileOptions(),
    "fp32": FileOptions(precision="fp32"),
    "portable": FileOptions(portable=True),
    "image": FileOptions(input="image"),
}

TWIN = """
import { writeFileSync as write } from "node:fs";
import { frozenTwin } from "./twin.js";
const twin = frozenTwin(new Uint8Array(readFileSync(given.file)), given.layers);
if (twin) write("twin.onnx", twin);
result = twin !== null;
"""


def twin_of(file: Path, layers: Sequence[str], folder: Path) -> Path | None:
    there = in_node(folder, TWIN, {"file": str(file.resolve()), "layers": list(layers)})
    return folder / "twin.onnx" if there else None


def with_source_statistics(path: Path) -> onnx.ModelProto:
    """Return the model with every adaptive layer written anew as gamma * u + beta: no gate, no statistics.

    Where the functions are written out, the weight of the input becomes a difference of equal numbers.
    """
    model = onnx.load(path)
    weights = [node for node in model.graph.node if node.output[0].endswith("Norm/weight")]
    for node in weights or [node for node in model.graph.node if node.output[0].endswith("Norm/part")]:
        node.op_type = "Sub"
        node.input[:] = [node.input[-1]] * 2
    for function in model.functions:
        if "Norm" not in function.name:
            continue
        end = "normal"
        if function.name.startswith("QLinear"):
            body = "u_real = DequantizeLinear <axis = -1> (u, u_scale, u_zero)\n"
        else:
            body = "u_real = Identity (u)\n"
        body += "scaled = Mul (u_real, gamma)\nnormal = Add (scaled, beta)\n"
        if "r_scale" in function.input:
            body += "other = DequantizeLinear (r, r_scale, r_zero)\nsummed = Add (normal, other)\n"
            end = "summed"
        if "HardSwish" in function.name:
            body += f"active = HardSwish ({end})\n"
            end = "active"
        last = "QuantizeLinear ({}, y_scale, y_zero)" if "y_scale" in function.input else "Identity ({})"
        body += f"y = {last.format(end)}\nspread = Flatten <axis = 1> (u_real)\n"
        body += "one = Constant <value_ints = [1]> ()\ndistance = ReduceMax (spread, one)\n"
        if "after" in function.output:
            body += "after = Identity (before)\n"
        attributes = ", ".join(function.attribute)
        head = f'<domain: "{LOCAL}", opset_import: ["" : {OPSET}]> {function.name} <{attributes}>'
        ends = f"({', '.join(function.input)}) => ({', '.join(function.output)})"
        function.CopyFrom(parser.parse_function(f"{head} {ends} {{ {body} }}"))
    return model


def logits(model: Path | bytes, given: np.ndarray[Any, Any], *, kernel: bool = False) -> np.ndarray[Any, Any]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if kernel and (found := library()):
        options.register_custom_ops_library(str(found))
    session = onnxruntime.InferenceSession(model if isinstance(model, bytes) else str(model), options)
    found_logits: np.ndarray[Any, Any] = session.run(["logits"], {"input": given})[0]
    return found_logits


def assert_frozen(file: Path, folder: Path, images: np.ndarray[Any, Any]) -> None:
    with load(file) as session:
        info = session.info
        adapting = session.predict(images)
    assert info.layers
    twin = twin_of(file, info.layers, folder)
    assert twin is not None
    given = prepare(images, info.input)
    found = logits(twin, given)
    wanted = logits(with_source_statistics(file).SerializeToString(), given)
    np.testing.assert_array_equal(found, wanted)
    assert np.abs(logits(twin, given, kernel=True) - wanted).max() <= info.selftest.tolerance
    assert np.abs(found - adapting).max() > 1e-3 * np.abs(adapting).max()  # else any twin would pass


@pytest.mark.parametrize("file", GOLDEN, ids=lambda path: path.stem)
def test_the_twin_of_a_golden_file_says_what_it_says_with_its_training_statistics(
    file: Path, tmp_path: Path
) -> None:
    assert_frozen(file, tmp_path, np.load(file.with_suffix(".npz"))["images"])


@pytest.mark.slow  # the golden files have every gate, too
@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("form", OPTIONS)
def test_the_twin_of_any_gate_and_form_says_what_the_training_statistics_say(
    gate: str, form: str, tmp_path: Path
) -> None:
    chosen = FilterGate() if gate == "filter" else gate
    file = tmp_path / "some.onnx"
    convert(striped(), pixels(240), file, layers="all", gate=chosen, options=OPTIONS[form], **GOOD)
    assert_frozen(file, tmp_path, pixels(6, seed=9) // 2 + 90)


def test_a_gate_that_the_page_does_not_know_has_no_twin(tmp_path: Path) -> None:
    file = GOLDEN[0]
    model = onnx.load(file)
    for node in model.graph.node:
        kept = [each for each in node.attribute if each.name not in ("low", "room")]
        del node.attribute[:]
        node.attribute.extend(kept)
    onnx.save(model, tmp_path / "unknown.onnx")
    with load(file) as session:
        assert twin_of(tmp_path / "unknown.onnx", session.info.layers, tmp_path) is None
