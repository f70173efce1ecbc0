"""What is exported is what the adapting torch model computes, whatever way the network is built."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import leantta
from export.models import ZOO, trained
from leantta.errors import UnsupportedModelError
from leantta.export.prepare import ACTIVATIONS, UnitNorm, prepare_
from leantta.export.trace import float_graph
from leantta.gates.calibrated import CalibratedGate
from leantta.gates.paper import PaperGate
from leantta.graph.functions import is_norm
from leantta.graph.run import run_graph
from leantta.nn import AdaptiveNorm2d
from leantta.surgery.adaptation import Adaptation
from leantta.surgery.apply import apply, fit
from leantta.surgery.plan import Action, plan
from reference import assert_close

LEFT_OUT = ("square linear",)  # changes the batch size
WHOLE_ZOO = [name for name in ZOO if name not in LEFT_OUT]
HARD = [
    "residual",
    "dense",
    "pre-activation",
    "known subclass",
    "subclass",
    "shared norm",
    "between",
    "1d",
    "3d",
]


class Together(nn.Module):
    """Networks of the zoo side by side, their scores joined: one export instead of sixteen."""

    def __init__(self, names: list[str]) -> None:
        super().__init__()
        self.parts = nn.ModuleDict({name: ZOO[name]() for name in names})

    def each(self, x: Tensor) -> dict[str, Tensor]:
        found = {name: part(x) for name, part in self.parts.items()}
        firsts = {name: y[0] if isinstance(y, tuple) else y for name, y in found.items()}
        return {name: y.flatten(2).mean(2) if y.dim() > 2 else y for name, y in firsts.items()}

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat(list(self.each(x).values()), 1)


def shifted(count: int) -> Tensor:
    return 1.3 * torch.randn(count, 3, 16, 16, generator=torch.Generator().manual_seed(1)) + 0.3


@pytest.mark.parametrize(
    ("names", "every"),
    [
        (HARD, 3),
        pytest.param(WHOLE_ZOO, 2, marks=pytest.mark.slow),
        pytest.param(WHOLE_ZOO, 100, marks=pytest.mark.slow),
    ],
)
def test_exported_networks_compute_what_torch_computes(names: list[str], every: int) -> None:
    """Every so manieth layer does not adapt: it is fused or kept."""
    model, inputs = trained(Together(names)), shifted(7)
    able = plan(model, inputs[:2], "all").named(Action.ADAPT)
    decisions = plan(model, inputs[:2], [name for i, name in enumerate(able) if i % every != 1])
    assert {row.action for row in decisions.rows} == set(Action)
    lean = apply(model, decisions)
    assert isinstance(lean, Together)
    with torch.inference_mode():
        wanted = {name: y.numpy() for name, y in lean.each(inputs).items()}
    prepare_(lean, decisions)
    graph = float_graph(lean, inputs[:2])
    for batch in (1, 2, 7):
        (found,) = run_graph(graph, inputs[:batch].numpy(), ["logits"])
        start = 0
        for name, scores in wanted.items():
            part = found[:, start : start + scores.shape[1]]
            start += scores.shape[1]
            assert np.abs(part - scores[:batch]).max() <= 1e-4, name
        assert start == found.shape[1]


def test_the_calibrated_gate_is_exported_too() -> None:
    torch.manual_seed(0)
    model = trained(nn.Sequential(ZOO["sequential"]()))
    inputs = shifted(7)
    asked = Adaptation(layers=2, gate=CalibratedGate(floor=0.2, ceiling=0.7))
    decisions = fit(model, plan(model, inputs[:2], asked), torch.randn(64, 3, 16, 16))
    lean = apply(model, decisions)
    with torch.inference_mode(), leantta.watch(lean) as readings:
        wanted = lean(inputs).numpy()
    prepare_(lean, decisions)
    graph = float_graph(lean, inputs[:2])
    norms = [node for node in graph.nodes if is_norm(node)]
    assert [node.op for node in norms] == ["CalibratedNorm"] * 2
    shown = type(graph)(
        graph.nodes, graph.constants, graph.tensors, graph.inputs, ("logits", *(n.outputs[1] for n in norms))
    )
    found, *distances = run_graph(shown, inputs.numpy(), shown.outputs)
    assert_close(found, wanted, atol=1e-4)
    for layer, distance in zip(("0.1", "0.4"), distances, strict=True):
        expected = readings[layer].distance.numpy()
        assert_close(distance[:, 0] / expected, np.ones(7), atol=1e-3)


def test_folding_leaves_only_unit_statistics() -> None:
    """Behind the fold a layer sees each channel with mean 0 and variance var / (var + eps) of the source."""
    torch.manual_seed(0)
    model = trained(nn.Sequential(nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6)))
    conv, norm = model[0], model[1]
    inputs = shifted(4)
    with torch.inference_mode():
        x = conv(inputs)
        wanted = (x - norm.running_mean.view(-1, 1, 1)) / (norm.running_var + norm.eps).sqrt().view(-1, 1, 1)
    decisions = plan(model, inputs, "all")
    lean = apply(model, decisions)
    prepare_(lean, decisions)
    unit = lean.get_submodule("1")
    assert isinstance(unit, UnitNorm)
    with torch.inference_mode():
        assert_close(lean.get_submodule("0")(inputs), wanted, atol=1e-5)
    assert_close(unit.ratio, norm.running_var / (norm.running_var + norm.eps), atol=1e-6)
    assert_close(unit.gamma, norm.weight.detach(), atol=0)


@pytest.mark.parametrize("option", ["mixture_variance", "adapt_vectors"])
def test_options_that_files_do_not_have_are_refused(option: str) -> None:
    model = trained(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)))
    asked = Adaptation(layers="all", gate=PaperGate(), **{option: True})  # type: ignore[arg-type]
    decisions = plan(model, shifted(2), asked)
    lean = apply(model, decisions)
    with pytest.raises(UnsupportedModelError, match="'1' has mixture_variance or adapt_vectors"):
        prepare_(lean, decisions)
    assert isinstance(lean.get_submodule("1"), AdaptiveNorm2d)
    assert PaperGate() == lean.get_submodule("1").gate


def test_activations_make_new_tensors_only_where_nobody_can_tell() -> None:
    """The first of a chain changes what the caller has, and so does one behind a layer that passes it on."""
    chain = nn.Sequential(
        nn.ReLU(inplace=True),
        nn.Dropout(),
        nn.ReLU6(inplace=True),
        nn.Conv2d(3, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU6(inplace=True),
        nn.Conv2d(4, 4, 3),
        nn.BatchNorm2d(4),
        nn.SiLU(inplace=True),
    )
    model = trained(nn.Sequential(chain))
    decisions = plan(model, shifted(2), ["0.4"])
    lean = apply(model, decisions)
    prepare_(lean, decisions)
    kept = {name: each.inplace for name, each in lean.named_modules() if isinstance(each, ACTIVATIONS)}
    assert kept == {"0.0": True, "0.2": True, "0.5": False, "0.8": False}
