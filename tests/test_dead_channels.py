"""Channels that did not vary in training: they keep the source statistics, and no distance counts them."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from click.testing import CliRunner
from torch import Tensor, nn

import leantta
from export.models import MEAN, STD, Small, given, pixels, settle_, small, trained
from leantta import functional as F
from leantta.cli.main import cli
from leantta.errors import BadStatisticsError, UnsupportedModelError
from leantta.gates.calibrated import CalibratedGate
from leantta.gates.gate import Gate
from leantta.gates.paper import PaperGate
from leantta.memory import StreamMemory
from leantta.nn import AdaptiveNorm1d, AdaptiveNorm2d
from leantta.surgery.observe import observe, shifts
from leantta.surgery.plan import Action
from reference import Layer, adapted, assert_close, calibrated

GATES: dict[str, Gate] = {
    "paper": PaperGate(tau=0.4, lam=0.5),
    "calibrated": CalibratedGate(floor=0.1, ceiling=0.8),
}
DEAD, ALIVE = [1, 4], [0, 2, 3, 5, 6]
VARIANCES = {1: 0.0, 4: 1e-9}
EPS = 1e-5
ENGINES = ("onnxruntime", "onnxruntime-portable")  # with the kernel if there is one, and without


def source_layer() -> Layer:
    draw = np.random.default_rng(0)
    var = draw.uniform(0.3, 2, 7)
    for channel, value in VARIANCES.items():
        var[channel] = value
    return Layer(draw.normal(size=7), var, draw.uniform(0.5, 2, 7), draw.normal(size=7), eps=EPS)


def part(layer: Layer, channels: list[int]) -> Layer:
    values = {each.name: getattr(layer, each.name) for each in fields(layer)}
    return Layer(**{k: v[channels] if k != "eps" else v for k, v in values.items()})


def spreads() -> tuple[Any, Any]:
    draw = np.random.default_rng(1)
    return draw.uniform(0.1, 0.5, 7), draw.uniform(0.1, 0.5, 7)


def torch_layer(gate: Gate, **settings: Any) -> AdaptiveNorm2d:
    layer = source_layer()
    made = AdaptiveNorm2d(7, gate=gate, eps=EPS, **settings)
    names = {"running_mean": layer.mean, "running_var": layer.var, "weight": layer.gamma, "bias": layer.beta}
    made.load_state_dict({name: torch.as_tensor(value) for name, value in names.items()})
    if gate.needs_images:
        for name, spread in zip(gate.constants, spreads(), strict=True):
            setattr(made, name, torch.as_tensor(spread).float())
            getattr(made, name)[DEAD] = torch.inf
    return made


def batchnorm() -> nn.BatchNorm2d:
    norm = nn.BatchNorm2d(7, eps=EPS)
    norm.load_state_dict(
        {**torch_layer(PaperGate()).state_dict(), "num_batches_tracked": torch.tensor(1)}, strict=True
    )
    return norm.eval()


def inputs(count: int = 5) -> Tensor:
    """Values far from the source, dead channels included."""
    return 1.5 * torch.randn(count, 7, 6, 5, generator=torch.Generator().manual_seed(3)) + 0.8


def test_a_small_variance_is_not_dead_yet() -> None:
    var = torch.tensor([0.0, 1e-12, 1e-8, 1.1e-8, 1e-6, 1.0])
    assert F.alive(F.Stats(torch.zeros(6), var), EPS).tolist() == [False, False, False, True, True, True]
    assert F.alive(F.Stats(torch.zeros(1), torch.tensor([1e-9])), eps=0.0).tolist() == [True]


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("name", GATES)
def test_a_layer_is_what_its_living_channels_make_it(name: str, memory_format: torch.memory_format) -> None:
    gate, x = GATES[name], inputs()
    layer = torch_layer(gate)
    model = nn.Sequential(layer)
    with torch.no_grad(), leantta.watch(model) as readings:
        y = model(x.contiguous(memory_format=memory_format))
    living, seen = part(source_layer(), ALIVE), x[:, ALIVE].double().numpy()
    if isinstance(gate, PaperGate):
        wanted, distance = adapted(seen, living, gate.tau, gate.lam)
    else:
        assert isinstance(gate, CalibratedGate)
        usual = spreads()
        wanted, distance = calibrated(
            seen, living, (usual[0][ALIVE], usual[1][ALIVE]), gate.floor, gate.ceiling
        )
    size = float(np.abs(wanted).max())
    assert_close(y[:, ALIVE], wanted, atol=1e-5 * size)
    assert_close(readings["0"].distance.numpy() / distance, np.ones(len(x)), atol=1e-4)
    fixed = batchnorm()(x).detach()[:, DEAD]
    assert_close(y[:, DEAD], fixed, atol=1e-6 * float(fixed.abs().max()))


@pytest.mark.parametrize("settings", [{}, {"mixture_variance": True}, {"memory": StreamMemory()}])
@pytest.mark.parametrize("name", GATES)
def test_nothing_else_depends_on_what_a_dead_channel_sees(name: str, settings: dict[str, Any]) -> None:
    x, other = inputs(), inputs()
    other[:, DEAD] = 100 * other[:, DEAD].flip(0) + 7
    found = []
    for images in (x, other):
        model = nn.Sequential(torch_layer(GATES[name], **settings))
        with torch.no_grad(), leantta.watch(model) as readings:
            y = model(images)
        fixed = batchnorm()(images).detach()[:, DEAD]
        assert_close(y[:, DEAD], fixed, atol=1e-6 * float(fixed.abs().max()))
        found.append((y[:, ALIVE], *readings["0"]))
    for one, another in zip(*found, strict=True):
        assert torch.equal(one, another)
    assert not torch.equal(x, other)


def test_dead_channels_of_vectors_stay_too() -> None:
    layer = AdaptiveNorm1d(2, gate=PaperGate(tau=0.2), eps=EPS, adapt_vectors=True)
    layer.running_var[0] = 0
    x = torch.tensor([[0.5, 0.5], [-2.0, 1.0]])
    y = layer(x).detach()
    assert_close(y[:, 0], x[:, 0] / EPS**0.5, atol=1e-3)
    assert (y[:, 1] - x[:, 1]).abs().min() > 0.05


def test_a_layer_with_dead_channels_only_is_batchnorm() -> None:
    for gate in GATES.values():
        layer = AdaptiveNorm2d(3, gate=gate, eps=0.5)
        layer.running_var.zero_()
        for name in gate.constants:
            setattr(layer, name, torch.full((3,), torch.inf))
        x = inputs()[:, :3]
        assert_close(layer(x).detach(), x / 0.5**0.5, atol=1e-5)


def with_dead(strength: float = 1e-3) -> Small:
    """A network with three dead channels, whose convolutions still pass a little of the input."""
    model = trained(Small())
    dead = {"bn1": ("stem", [1, 5]), "bn3": ("mix", [2])}
    for conv, channels in dead.values():
        model.get_submodule(conv).weight.data[channels] *= 1e-3
    settle_(model)
    for norm, (_, channels) in dead.items():
        model.get_submodule(norm).running_var[channels] = 0  # type: ignore[index, operator] # a tensor
    model.stem.weight.data[[1, 5]] *= strength / 1e-3
    return model


def lean_of(model: nn.Module, name: str) -> nn.Module:
    source = given(pixels())
    calibration = source if GATES[name].needs_images else None
    return leantta.adapt(model, source[:2], "all", gate=GATES[name], calibration=calibration)


@pytest.mark.parametrize("portable", [False, True], ids=["functions", "portable"])
@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize("name", GATES)
def test_a_file_computes_what_torch_computes(
    name: str, precision: Any, portable: bool, tmp_path: Path
) -> None:
    model, path, images = with_dead(), tmp_path / "x.onnx", pixels(20, seed=9, shift=35)
    options = leantta.FileOptions(
        precision=precision, portable=portable, observer="minmax"
    )  # cuts nothing off
    done = leantta.convert(
        model, pixels(), path, layers="all", gate=GATES[name], options=options, mean=MEAN, std=STD
    )
    assert done.plan.named(Action.ADAPT) == ["bn1", "bn2", "bn3"]
    lean = lean_of(model, name)
    with torch.no_grad(), leantta.watch(lean) as readings:
        wanted, plain = lean(given(images)).numpy(), model(given(images)).numpy()
    far = float(np.abs(wanted - plain).max())
    for engine in ENGINES:
        with leantta.load(path, engine=engine) as session:
            scores, distances = session.predict(images), session.explain(images)
        assert_close(scores, wanted, atol=1e-4 if precision == "fp32" else 0.15 * far)
        for layer, reading in readings.items():
            limit = 1e-3 if precision == "fp32" else 0.25
            assert_close(distances[layer] / reading.distance.numpy(), np.ones(20), atol=limit)


@pytest.mark.parametrize("name", GATES)
def test_distances_of_a_file_do_not_count_dead_channels(name: str, tmp_path: Path) -> None:
    images, found = pixels(20, seed=9, shift=35), []
    for strength in (1e-3, 0.5):
        path = tmp_path / f"{strength}.onnx"
        options = leantta.FileOptions(precision="fp32")
        leantta.convert(
            with_dead(strength),
            pixels(),
            path,
            layers=["bn1"],
            gate=GATES[name],
            options=options,
            mean=MEAN,
            std=STD,
        )
        for engine in ENGINES:
            with leantta.load(path, engine=engine) as session:
                found.append(session.explain(images)["bn1"])
    assert found[0].min() > 0
    for other in found[1:]:
        assert_close(other / found[0], np.ones(20), atol=1e-4)


def test_only_files_with_dead_channels_have_operators_for_them(tmp_path: Path) -> None:
    operators: list[set[str]] = []
    for model in (small(), with_dead()):
        path = tmp_path / f"{len(operators)}.onnx"
        leantta.convert(model, pixels(), path, layers="all", gate="paper", mean=MEAN, std=STD)
        operators.append({node.op_type for f in onnx.load(path).functions for node in f.node})
    assert operators[1] - operators[0] == {"Cast", "Where"}


def test_the_gate_is_fitted_and_layers_are_compared_without_dead_channels() -> None:
    model = with_dead()
    source, field = (observe(model, given(pixels(64, seed=s, shift=40 * s))) for s in (0, 1))
    assert source["bn1"].mean.isinf().nonzero().flatten().tolist() == [1, 5]
    there, here = (F.Spread(*(v[[0, 2, 3, 4, 6, 7]] for v in each["bn1"])) for each in (field, source))
    wanted = 0.5 * float((there.mean / here.mean).mean() + (there.var / here.var).mean())
    assert shifts(field, source)["bn1"] == pytest.approx(wanted)
    model.bn2.running_var.zero_()  # type: ignore[union-attr] # it has them
    source = observe(model, given(pixels(8)))
    assert shifts(source, source)["bn2"] == 0
    lean = leantta.adapt(model, given(pixels(2)), "all", gate="calibrated", calibration=given(pixels()))
    with torch.no_grad(), leantta.watch(lean) as readings:
        assert lean(given(pixels())).isfinite().all()
    assert readings["bn1"].distance.mean() == pytest.approx(1, abs=0.05)


def test_the_plan_counts_them(tmp_path: Path) -> None:
    plan = leantta.plan(with_dead(), given(pixels(2)))
    assert len(plan.notes) == 1
    assert plan.notes[0] in str(plan)
    assert plan.notes[0].startswith("3 of 24 channels, in 2 of 3 layers, are dead")
    assert not leantta.plan(trained(Small()), given(pixels(2))).notes
    file = tmp_path / "mine.py"
    file.write_text(
        "from torch import nn\n"
        "def build():\n"
        "    norm = nn.BatchNorm2d(4)\n"
        "    norm.running_var[1] = 0\n"
        "    return nn.Sequential(nn.Conv2d(3, 4, 3), norm, nn.ReLU())\n"
    )
    words = ["inspect", f"{file}:build", "--input", "3,8,8", "--adapt", "all"]
    assert "1 of 4 channels, in 1 of 1 layers, are dead" in CliRunner().invoke(cli, words).stdout
    told = json.loads(CliRunner().invoke(cli, [*words, "--json"]).stdout)
    assert len(told["notes"]) == 1


def test_a_layer_that_is_not_adapted_stays_exact() -> None:
    model, x = with_dead(), given(pixels(4))
    lean = leantta.adapt(model, x, ["bn2"])
    assert_close(leantta.adapt(model, x, "none")(x).detach(), model(x).detach(), atol=1e-5)
    assert lean(x).isfinite().all()


def test_statistics_that_cannot_be_right_are_refused_still() -> None:
    def spoilt(field: str, value: float, eps: float = EPS) -> nn.Module:
        model = trained(Small())
        getattr(model.bn2, field)[1] = value
        model.bn2.eps = eps
        return model

    x = given(pixels(2))
    for field in ("running_mean", "running_var"):
        for value in (float("nan"), float("inf"), -float("inf")):
            with pytest.raises(BadStatisticsError, match="'bn2' has running statistics that are NaN or inf"):
                leantta.plan(spoilt(field, value), x)
    with pytest.raises(BadStatisticsError, match="'bn2' has 1 of 8 running variances below zero"):
        leantta.plan(spoilt("running_var", -1e-9), x)
    with pytest.raises(BadStatisticsError, match=r"'bn2' .* divides by zero"):
        leantta.plan(spoilt("running_var", 0.0, eps=0.0), x)
    model = spoilt("running_var", 0.0)
    model.get_submodule("bn2").momentum = None  # type: ignore[assignment] # the plain average
    assert leantta.adapt(model, x, "all")(x).isfinite().all()


def dead_in_any_way(norm: nn.BatchNorm2d, way: str) -> nn.Module:
    """Return a network with some dead channels in a BatchNorm that is unusual otherwise, too."""
    model = nn.Sequential(nn.Conv2d(3, 7, 3), norm, nn.ReLU(), nn.Conv2d(7, 4, 3), nn.BatchNorm2d(4)).eval()
    assert norm.running_var is not None
    norm.running_var.copy_(torch.tensor(source_layer().var))
    if way == "plain average":
        norm.momentum = None
    elif way == "all dead":
        norm.running_var.zero_()
    elif way == "smallest numbers":
        norm.running_var.fill_(torch.finfo(torch.float32).tiny)
    elif way == "uncounted":
        norm.num_batches_tracked = None
    return model


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("way", ["usual", "plain average", "all dead", "smallest numbers", "uncounted"])
def test_no_way_of_being_dead_refuses_a_model(way: str, affine: bool) -> None:
    model = dead_in_any_way(nn.BatchNorm2d(7, affine=affine), way)
    x = inputs()[:, :3]
    for layers in ("all", "none"):
        plan = leantta.plan(model, x, layers)
        count = 2 if way in ("usual", "plain average", "uncounted") else 7
        assert plan.notes[0].startswith(f"{count} of 11 channels, in 1 of 2 layers, are dead")
        assert leantta.apply(model, plan)(x).isfinite().all()
    with torch.no_grad():
        assert_close(leantta.adapt(model, x, "none")(x), model(x), atol=1e-3 * float(model(x).abs().max()))


def test_layers_without_statistics_say_what_to_do() -> None:
    model = nn.Sequential(nn.Conv2d(3, 7, 3), nn.BatchNorm2d(7, track_running_stats=False))
    with pytest.raises(UnsupportedModelError, match=r"'1' keeps no running statistics .* train with"):
        leantta.plan(model, inputs()[:, :3])
