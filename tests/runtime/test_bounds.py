"""A file that would keep ONNX Runtime busy for hours is refused before it sees it, by what the file holds."""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from leantta.errors import ArtifactError
from leantta.runtime import bounds, patience
from leantta.runtime.container import read_container
from leantta.runtime.engines import open_engine
from leantta.runtime.session import load
from runtime.artifacts import Recipe, artifact, info_of, model_of, sealed

RECIPE = Recipe()
GOLDEN = Path(__file__).parent / "golden"


def many_nodes(model: onnx.ModelProto) -> None:
    node = helper.make_node("Relu", ["a"], ["b"])
    model.graph.node.extend([node] * (bounds.MAX_NODES + 1))


def many_constants(model: onnx.ModelProto) -> None:
    tensor = numpy_helper.from_array(np.zeros(1, np.float32), "zero")
    model.graph.initializer.extend([tensor] * (bounds.MAX_TENSORS + 1))


def many_calls(model: onnx.ModelProto) -> None:
    """2,000 calls of a function with 101 nodes: few of each, and many together."""
    node = helper.make_node("Relu", ["a"], ["b"])
    model.functions[0].node.extend([node] * 88)
    call = helper.make_node("ToyNorm", ["a", "b"], ["c", "d"], domain="leantta")
    model.graph.node.extend([call] * 2_000)


def powers_of_functions(model: onnx.ModelProto) -> None:
    """Each function calls the one before ten times: 31 functions are 10 ** 30 nodes."""
    for i in range(30):
        name = f"F{i - 1}" if i else "ToyNorm"
        calls = [helper.make_node(name, ["x", "x"], ["y", "d"], domain="leantta") for _ in range(10)]
        function = helper.make_function(
            "leantta", f"F{i}", ["x"], ["y"], calls, [helper.make_opsetid("leantta", 1)]
        )
        model.functions.append(function)


def a_function_of_itself(model: onnx.ModelProto) -> None:
    call = helper.make_node("ToyNorm", ["x", "source"], ["y2", "d2"], domain="leantta")
    model.functions[0].node.append(call)


def a_function_twice(model: onnx.ModelProto) -> None:
    model.functions.append(model.functions[0])


def a_standard_operator_redefined(model: onnx.ModelProto) -> None:
    nodes = [helper.make_node("Neg", ["x"], ["y"])]
    model.functions.append(
        helper.make_function("", "Relu", ["x"], ["y"], nodes, [helper.make_opsetid("", 18)])
    )


def inner() -> onnx.GraphProto:
    return helper.make_graph([], "inner", [], [])


def a_branch(model: onnx.ModelProto) -> None:
    model.graph.node.append(helper.make_node("If", ["c"], ["x"], then_branch=inner(), else_branch=inner()))


def a_loop(model: onnx.ModelProto) -> None:
    model.graph.node.append(helper.make_node("Loop", ["n", "c"], ["x"], body=inner()))


def graphs_in_a_function(model: onnx.ModelProto) -> None:
    node = helper.make_node("If", ["c"], ["x"])
    node.attribute.add(name="graphs").graphs.append(inner())
    model.functions[0].node.append(node)


REFUSED: dict[Callable[[onnx.ModelProto], None], str] = {
    many_nodes: r"has 20,\d+ nodes; at most 20,000",
    many_constants: r"has 100,\d+ constants; at most 100,000",
    many_calls: r"nodes with its functions written out; at most 100,000",
    powers_of_functions: "calls the function",
    a_function_of_itself: "calls the function 'ToyNorm'",
    a_function_twice: "a function 'ToyNorm' of 'leantta'",
    a_standard_operator_redefined: "a function 'Relu' of 'ai.onnx'",
    a_branch: "a graph of its own",
    a_loop: "a graph of its own",
    graphs_in_a_function: "a graph of its own",
}


@pytest.mark.parametrize("change", REFUSED)
def test_more_than_a_network_has_is_refused(
    change: Callable[[onnx.ModelProto], None], tmp_path: Path
) -> None:
    model = model_of(RECIPE)
    change(model)
    (tmp_path / "a.onnx").write_bytes(sealed(model, info_of(RECIPE, model_of(RECIPE))))
    with pytest.raises(ArtifactError, match=REFUSED[change]):
        load(tmp_path / "a.onnx")


def test_a_file_of_nothing_but_fields_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leantta.runtime.container.MAX_FIELDS", 10_000)
    path = artifact(tmp_path / "a.onnx")
    read_container(path)
    path.write_bytes(path.read_bytes() + b"\x28\x01" * 20_000)  # model_version, again and again
    with pytest.raises(ArtifactError, match="more than 10,000 fields"):
        read_container(path)


def test_real_networks_are_far_below_the_bounds() -> None:
    for golden in sorted(GOLDEN.glob("*.onnx")):
        model = onnx.load(str(golden))
        assert len(model.graph.node) < bounds.MAX_NODES / 500
        assert len(model.graph.initializer) < bounds.MAX_TENSORS / 500


@pytest.mark.skipif(
    not hasattr(onnxruntime.SessionOptions, "set_load_cancellation_flag"),
    reason=f"ONNX Runtime {onnxruntime.__version__} cannot be told to stop loading",
)
@pytest.mark.parametrize("engine", ["onnxruntime", "onnxruntime-portable"])
def test_what_takes_too_long_is_given_up(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chain of constants, which ONNX Runtime computes one by one: some seconds."""
    nodes = [helper.make_node("Add", [f"t{i}", "one"], [f"t{i + 1}"]) for i in range(19_000)]
    nodes.append(helper.make_node("Add", ["t19000", "input"], ["logits"]))
    ports = [helper.make_tensor_value_info(name, 1, ["n", 4]) for name in ("input", "logits")]
    constants = [numpy_helper.from_array(np.ones(4, np.float32), name) for name in ("t0", "one")]
    graph = helper.make_graph(nodes, "slow", ports[:1], ports[1:], constants)
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 18)])
    onnx.save(model, str(tmp_path / "a.onnx"))
    monkeypatch.setattr(patience, "LOAD_SECONDS", 0.05)
    started = time.monotonic()
    with pytest.raises(ArtifactError, match=r"a\.onnx was not loaded in 0.05 seconds"):
        open_engine(engine, tmp_path / "a.onnx")
    assert time.monotonic() - started < 60
