"""Graphs have readable names, a free batch axis, and come from models that return scores."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from export.models import Small, given, pixels, small, trained
from leantta.errors import UnsupportedModelError
from leantta.export.prepare import prepare_
from leantta.export.trace import float_graph
from leantta.graph.functions import is_norm
from leantta.graph.ir import BATCH, Graph
from leantta.graph.run import run_graph
from leantta.surgery.apply import apply
from leantta.surgery.plan import plan


@pytest.fixture(scope="module")
def graph() -> Graph:
    model, inputs = small(), given(pixels(2))
    decisions = plan(model, inputs, "all")
    lean = apply(model, decisions)
    prepare_(lean, decisions)
    return float_graph(lean, inputs)


def test_tensors_are_named_after_their_modules(graph: Graph) -> None:
    made = [name for node in graph.nodes for name in node.outputs]
    assert {"stem", "bn1", "deep", "bn2", "mix", "bn3"} <= set(made)
    assert (graph.inputs, graph.outputs) == (("input",), ("logits",))
    assert graph.producers()["logits"].op == "Gemm"
    by_layer = {node.attributes["layer"]: node for node in graph.nodes if is_norm(node)}
    for layer, node in by_layer.items():
        assert (node.name, node.outputs) == (layer, (layer, f"{layer}.distance"))
    assert list(by_layer) == ["bn1", "bn2", "bn3"]  # in the order of execution
    assert by_layer["bn1"].inputs[0] == "stem"


def test_names_are_unique_and_every_shape_is_known(graph: Graph) -> None:
    made = [name for node in graph.nodes for name in node.outputs]
    assert len(set(made)) == len(made)
    assert not set(made) & set(graph.constants)
    for name in (*graph.inputs, *made):
        shape = graph.tensors[name].shape
        assert shape is not None
        assert shape[0] == BATCH, name
        assert all(isinstance(size, int) for size in shape[1:]), name


def test_the_batch_axis_is_free(graph: Graph) -> None:
    inputs = given(pixels(9)).numpy()
    (whole,) = run_graph(graph, inputs, ["logits"])
    for batch in (1, 2, 5):
        assert np.abs(run_graph(graph, inputs[:batch], ["logits"])[0] - whole[:batch]).max() < 1e-5


class Constant(Small):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        return super().forward(x), torch.zeros(3, 4)


class Decided(Small):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).argmax(1, keepdim=True)


class Told(Small):
    def forward(self, x: Tensor) -> dict[str, object]:  # type: ignore[override]
        return {"scores": super().forward(x), "name": "small"}


class Listed(Small):
    def forward(self, x: Tensor) -> Tensor:
        scores = super().forward(x)
        return scores[scores[:, 0] > -100]


class Fancy(Small):
    def forward(self, x: Tensor) -> Tensor:
        found = super().forward(x)
        return found if found.sum() > 0 else -found


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (
            Constant,
            r"output 'out1' is \(3, 4\) for a batch of 2 inputs; outputs have one entry",
        ),
        (Decided, "output 'logits' is int64; outputs are floating-point numbers. Wrap .*before argmax"),
        (Told, "must return tensors, .* this returns str as 'name'. Wrap it"),
        (Listed, "torch cannot export|no fixed size|does something else for a batch"),
        (Fancy, "torch cannot export Fancy: .*must not depend on the batch size or on values"),
    ],
)
def test_other_models_are_refused_in_one_line(
    kind: type[nn.Module], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UnsupportedModelError, match=message) as caught:
        float_graph(trained(kind()), torch.zeros(2, 3, 12, 12))
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")  # torch's own report stays off the screen
