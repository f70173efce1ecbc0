"""The kernel takes the place of a function only if the file has the body that the kernel computes."""

import io
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import leantta
from hostile.seals import changed, resealed
from leantta.gates.table import GATES
from leantta.graph.depthwise import FUNCTION
from leantta.graph.functions import functions_of
from leantta.graph.shift import shift_function
from leantta.runtime import kernel
from leantta.runtime.bodies import body_digest, changed_functions
from leantta.runtime.facts import facts_of
from leantta.runtime.known_bodies import KNOWN
from leantta.runtime.verify import verify
from leantta.runtime.wire import Wire
from reference import assert_close

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(GOLDEN.glob("*.onnx"))
FUSED = GOLDEN / "format1_fused.onnx"
WRITTEN = [
    *(
        f
        for kind in GATES.values()
        for dead in (False, True)
        for f in functions_of(kind.default(), has_dead=dead).values()
    ),
    FUNCTION,
    *map(shift_function, (1, 2, 11, 53)),
]

with_kernel = pytest.mark.skipif(
    not kernel.paths(), reason="this installation has no kernel: there was no compiler"
)


def digest(function: onnx.FunctionProto) -> str:
    data = function.SerializeToString()
    return body_digest(Wire(io.BytesIO(data), len(data)), 0, len(data))


def test_every_function_that_is_written_is_known() -> None:
    unknown = {f.name: digest(f) for f in WRITTEN if digest(f) not in KNOWN.get(f.name, ())}
    assert not unknown, "add these to runtime/known_bodies.py"
    assert {f.name for f in WRITTEN} == set(KNOWN)


@with_kernel
@pytest.mark.parametrize("golden", FILES, ids=lambda path: path.stem)
def test_files_of_earlier_versions_run_in_the_kernel(golden: Path) -> None:
    assert changed_functions(str(golden)) == ()
    with leantta.load(golden) as session:
        assert session.native
        assert "without" not in repr(session)


def test_what_means_nothing_changes_no_digest() -> None:
    function = onnx.FunctionProto()
    function.CopyFrom(WRITTEN[1])
    function.doc_string = "about it"
    for node in function.node:
        node.name, node.doc_string = "n", "d"
    assert digest(function) == digest(WRITTEN[1])


def test_the_number_of_distances_counts_only_where_it_differs() -> None:
    assert digest(shift_function(2)) == digest(shift_function(30))
    for cut in ("input", "node"):
        function = onnx.FunctionProto()
        function.CopyFrom(shift_function(5))
        del (function.input if cut == "input" else function.node[0].input)[-1]
        assert digest(function) not in KNOWN["ShiftOfDistances"], cut


def node_with(function: onnx.FunctionProto, output: str) -> onnx.NodeProto:
    return next(node for node in function.node if output in node.output)


def swapped(function: onnx.FunctionProto) -> None:
    node = node_with(function, "excess")
    node.input[0], node.input[1] = node.input[1], node.input[0]


def another_constant(function: onnx.FunctionProto) -> None:
    node_with(function, "one").attribute[0].f = 3.0


def another_operator(function: onnx.FunctionProto) -> None:
    node_with(function, "moved_mean").op_type = "Add"


def another_opset(function: onnx.FunctionProto) -> None:
    function.opset_import[0].version = 17


def one_more_node(function: onnx.FunctionProto) -> None:
    node_with(function, "mean").output[0] = "plain_mean"
    function.node.append(helper.make_node("Neg", ["plain_mean"], ["mean"]))


def an_attribute_from_outside(function: onnx.FunctionProto) -> None:
    node_with(function, "low_value").attribute[0].ref_attr_name = "room"


def a_type_that_lies(function: onnx.FunctionProto) -> None:
    function.value_info.append(helper.make_tensor_value_info("mean", onnx.TensorProto.FLOAT, [1, 7]))


CHANGES = (
    *(swapped, another_constant, another_operator, another_opset, one_more_node),
    *(an_attribute_from_outside, a_type_that_lies),
)


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_of_a_body_is_seen(change: Callable[[onnx.FunctionProto], None]) -> None:
    for written in (f for f in WRITTEN if f.name.startswith("QLinearCalibratedNorm")):
        function = onnx.FunctionProto()
        function.CopyFrom(written)
        change(function)
        assert digest(function) not in KNOWN[function.name]


def answers(path: Path, engine: str) -> Any:
    images = np.load(FUSED.with_suffix(".npz"))["images"]
    with leantta.load(path, engine=engine) as session:
        return session.run(images), session.native, repr(session)


@with_kernel
@pytest.mark.parametrize("change", [another_constant, another_operator])
def test_a_changed_file_answers_the_same_with_and_without_the_library(
    change: Callable[[onnx.FunctionProto], None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def all_norms(model: onnx.ModelProto) -> None:
        for function in model.functions[:3]:
            change(function)

    path = changed(FUSED, tmp_path / "a.onnx", all_norms)
    kernel.say_once.cache_clear()  # as if nothing had been said yet
    with caplog.at_level(logging.WARNING):
        found, native, shown = answers(path, "onnxruntime")
    wanted, *_ = answers(path, "onnxruntime-portable")
    honest, *_ = answers(FUSED, "onnxruntime-portable")
    assert np.abs(wanted.logits - honest.logits).max() > 0.05  # it does answer otherwise
    np.testing.assert_array_equal(found.logits, wanted.logits)
    np.testing.assert_array_equal(found.distance, wanted.distance)
    assert not native
    assert "without the kernel" in shown
    (said,) = caplog.records
    assert "QLinearCalibratedNorm is not the one that the kernel computes" in said.getMessage()


def test_verify_and_inspect_name_the_function_even_if_the_self_test_passes(tmp_path: Path) -> None:
    def change(model: onnx.ModelProto) -> None:
        node_with(model.functions[0], "one").doc_string = "means nothing"
        node_with(model.functions[0], "least").attribute[0].f = 2e-30  # changes no answer

    path = changed(FUSED, tmp_path / "a.onnx", change)
    checks = {check.name: check for check in verify(path)}
    assert [name for name, check in checks.items() if not check.ok] == ["functions"]
    assert "QLinearCalibratedNorm" in checks["functions"].detail
    assert "QLinearCalibratedNorm: none that LeanTTA writes" in facts_of(path)
    assert "none that LeanTTA writes" not in facts_of(FUSED)


@with_kernel
def test_constants_that_only_the_body_uses_are_compared_too(tmp_path: Path) -> None:
    """The kernel counts instead of multiplying by 1 / count, so a file could mislead it there."""

    def change(model: onnx.ModelProto) -> None:
        average = next(node.input[5] for node in model.graph.node if node.op_type.startswith("QLinearCal"))
        (tensor,) = (t for t in model.graph.initializer if t.name == average)
        values = onnx.numpy_helper.to_array(tensor) * 2
        tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))

    path = changed(FUSED, tmp_path / "a.onnx", change)
    found, native, _ = answers(path, "onnxruntime")
    wanted, *_ = answers(path, "onnxruntime-portable")
    assert not native
    assert_close(found.logits, wanted.logits, atol=1e-6)


def test_a_copy_that_is_only_sealed_anew_is_as_it_was(tmp_path: Path) -> None:
    path = Path(shutil.copy(FUSED, tmp_path / "a.onnx"))
    assert resealed(path.read_bytes()) == FUSED.read_bytes()
