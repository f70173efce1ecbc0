"""A gate that the packages have never heard of adapts, converts and runs: the seam is one class.

`HalfwayGate` gives one weight per input; `MatrixGate` is fitted, and corrects each channel by matrices.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import onnx
import pytest
import torch
from click.testing import CliRunner
from torch import Tensor, nn

import leantta
from export.models import trained
from leantta.cli.options import gate_options
from leantta.errors import SettingError
from leantta.functional import Reading, Shift, Stats
from leantta.gates import table
from leantta.gates.filter import FilterGate
from leantta.gates.gate import Gate, Operator, UnknownGate, setting
from leantta.gates.source import Fitted, Source
from leantta.graph.functions import FUNCTIONS
from leantta.layer_memory import LayerMemory
from leantta.methods.parse import parse_method
from leantta.nn import AdaptiveNorm
from leantta.surgery.adaptation import Adaptation
from leantta.surgery.plan import Action
from reference import assert_close


@dataclass(frozen=True, kw_only=True)
class HalfwayGate(Gate):
    """Follows by `reach * S / (1 + S)`, S being the mean square of the standardised mean shift."""

    reach: float = setting(0.5, "Halfway gate: largest weight. [default: 0.5]")

    name = "halfway"
    summary = "up to the reach."
    operator = Operator(
        name="HalfwayNorm",
        constants=("share",),
        in_float="""
    terms = Mul (share, squared_mean)
    total = ReduceSum (terms, channels)
""",
        in_int8="""
    total = MatMul (squared_mean, share)
""",
        after="""
    reach_value = Constant <value_float: float = @reach> ()
    unit = Constant <value_float = 1.0> ()
    more = Add (unit, total)
    part = Div (total, more)
    weight = Mul (reach_value, part)
""",
    )

    def reading(self, shift: Shift, source: Stats, constants: Mapping[str, Tensor]) -> Reading:
        del constants
        distance = (shift.mean.square() / source.var).mean(1, keepdim=True)
        return Reading(distance, self.reach * distance / (1 + distance))

    def attributes(self) -> dict[str, float]:
        return {"reach": self.reach}

    def unit_constants(
        self, var: Tensor, scale: Tensor, constants: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        del constants
        return {"share": scale / var / len(var)}


FEATURES = """
    unit = Constant <value_float = 1.0> ()
    low = Constant <value_float = -4.0> ()
    high = Constant <value_float = 4.0> ()
    grown = Add (unit, excess)
    log_grown = Log (grown)
    log_var = Clip (log_grown, low, high)
"""
ANSWER = """
    inner = MatMul (features, across)
    answer = MatMul (inner, back)
    squares = Mul (features, features)
"""


@dataclass(frozen=True, kw_only=True)
class MatrixGate(Gate):
    """Corrects mean and log-variance of each channel: c = f across back, f the standardised shift (n, 2c)."""

    strength: float = setting(0.5, "Matrix gate: part of the shift that goes. [default: 0.5]")

    name = "matrix"
    summary = "each channel on its own."
    needs_images = True
    constants = ("across", "back")
    operator = Operator(
        name="MatrixNorm",
        constants=("across", "back"),
        in_float=f"""{FEATURES}
    means = Squeeze (mean, positions)
    logs = Squeeze (log_var, positions)
    features = Concat <axis = 1> (means, logs)
    {ANSWER}
    total = ReduceMean (squares, channels)
    mean_part, log_part = Split <axis = 1, num_outputs = 2> (answer)
    moved_mean = Unsqueeze (mean_part, positions)
    growth = Exp (log_part)
    new_var = Unsqueeze (growth, positions)
""",
        in_int8=f"""{FEATURES}
    features = Concat <axis = -1> (mean, log_var)
    {ANSWER}
    last = Constant <value_ints = [-1]> ()
    total = ReduceMean (squares, last)
    moved_mean, log_part = Split <axis = -1, num_outputs = 2> (answer)
    new_var = Exp (log_part)
""",
        after="",
        new_var="",
        moved_mean="",
    )

    def fit(self, source: Source) -> Fitted:
        generator = torch.Generator().manual_seed(0)
        kept = {}
        for name, spread in source.spreads().items():
            size = 2 * len(spread.mean)
            basis, _ = torch.linalg.qr(torch.randn(size, size // 2, generator=generator))
            kept[name] = {"across": basis * self.strength, "back": basis.T.contiguous()}
        return Fitted(self, kept)

    def statistics(
        self,
        shift: Shift,
        source: Stats,
        constants: Mapping[str, Tensor],
        *,
        eps: float,
        mixture_variance: bool,
        memory: LayerMemory | None = None,
    ) -> tuple[Stats, Reading]:
        del memory, mixture_variance  # it knows no streams and mixes nothing
        scale = source.var + eps
        log_var = torch.log1p(shift.var / scale).clamp(-4, 4)
        features = torch.cat([shift.mean / scale.sqrt(), log_var], 1)  # (n, 2c)
        mean, growth = (features @ constants["across"] @ constants["back"]).chunk(2, 1)
        distance = features.square().mean(1, keepdim=True)
        stats = Stats(source.mean + scale.sqrt() * mean, scale * growth.exp() - eps)
        return stats, Reading(distance, torch.full_like(distance, self.strength))

    def unit_constants(
        self, var: Tensor, scale: Tensor, constants: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        del var, scale  # they are in units of the source already
        return dict(constants)


GATES: dict[str, Gate] = {"halfway": HalfwayGate(reach=0.8), "matrix": MatrixGate(strength=0.6)}
MEAN, STD = (0.4, 0.5, 0.6), (0.2, 0.25, 0.3)


class Network(nn.Module):
    """Adapting layers before a ReLU, before a sum with another branch, and behind an activation."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.bn1 = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.second, self.bn2 = nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.bn3, self.head = nn.BatchNorm2d(8), nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.bn1(self.first(x)))
        x = self.bn3(nn.functional.hardswish(self.bn2(self.second(x)) + x))
        scores: Tensor = self.head(x.mean((2, 3)))
        return scores


@pytest.fixture(scope="module")
def model() -> nn.Module:
    torch.manual_seed(2)
    return trained(Network())


def pixels(count: int, seed: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Noise, some of it bright and some dark."""
    draw = np.random.default_rng(seed)
    light = draw.uniform(0.2, 1, (count, 1, 1, 1))
    return (light * draw.integers(0, 256, (count, 12, 12, 3))).astype(np.uint8)


def given(images: np.ndarray[Any, Any]) -> Tensor:
    scaled = (images / 255 - np.asarray(MEAN)) / np.asarray(STD)
    return torch.from_numpy(scaled.transpose(0, 3, 1, 2).astype(np.float32))


def adapted(model: nn.Module, gate: Gate) -> nn.Module:
    source = given(pixels(32, 0))
    return leantta.adapt(
        model, source[:2], "all", gate=gate, calibration=source if gate.needs_images else None
    )


def field() -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Flatter than the source."""
    return pixels(9, 1) // 2 + 20


@pytest.mark.parametrize("name", GATES)
def test_it_adapts_each_input_on_its_own(model: nn.Module, name: str) -> None:
    lean, images = adapted(model, GATES[name]), given(field())
    assert {m.gate for m in lean.modules() if isinstance(m, AdaptiveNorm)} == {GATES[name]}
    with torch.no_grad(), leantta.watch(lean) as readings:
        scores = lean(images)
        assert set(readings) == {"bn1", "bn2", "bn3"}
        assert_close(lean(images[:1]), scores[:1], atol=1e-5)
        assert (scores - model(images)).abs().max() > 0.05


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize("name", GATES)
def test_its_file_computes_what_torch_computes(
    model: nn.Module, tmp_path: Path, name: str, precision: Any, portable: bool
) -> None:
    gate = GATES[name]
    assert not any(function.removeprefix("QLinear").startswith(gate.operator.name) for function in FUNCTIONS)
    path = tmp_path / "x.onnx"
    options = leantta.FileOptions(precision=precision, portable=portable)
    done = leantta.convert(
        model, pixels(32, 0), path, layers="all", gate=gate, options=options, mean=MEAN, std=STD
    )
    assert done.plan.named(Action.ADAPT) == ["bn1", "bn2", "bn3"]
    assert f"{name}, " in str(done)
    functions = [function.name for function in onnx.load(path).functions]
    assert any(gate.operator.name in function for function in functions) == (not portable)
    lean = adapted(model, gate)
    with torch.no_grad(), leantta.watch(lean) as readings:
        wanted, plain = lean(given(field())).numpy(), model(given(field())).numpy()
    with leantta.load(path) as session:
        assert session.info.gate == UnknownGate(name=name, told=_told(gate))
        scores, distances = session.predict(field()), session.explain(field())
    off = 1e-4 if precision == "fp32" else 0.12 * np.abs(wanted - plain).max()
    assert_close(scores, wanted, atol=off)
    if precision == "fp32":
        assert list(distances) == list(readings)
        for layer, reading in readings.items():
            assert_close(distances[layer], reading.distance, atol=1e-4)


def _told(gate: Gate) -> dict[str, object]:
    told = gate.settings()
    assert told.pop("name") == gate.name
    return told


def test_a_reader_that_never_saw_the_class_runs_the_file(model: nn.Module, tmp_path: Path) -> None:
    path = tmp_path / "x.onnx"
    leantta.convert(model, pixels(32, 0), path, layers="all", gate=GATES["matrix"], mean=MEAN, std=STD)
    np.save(tmp_path / "field.npy", field())
    code = """if True:
        import sys, json, numpy, leantta
        for name in ("torch", "onnx"):
            sys.modules[name] = None
        session = leantta.load(sys.argv[1])
        scores = session.predict(numpy.load(sys.argv[2]))
        gate = session.info.gate
        print(json.dumps([type(gate).__name__, gate.settings(), scores.tolist()]))
    """
    done = subprocess.run(
        [sys.executable, "-c", code, path, tmp_path / "field.npy"], check=True, capture_output=True, text=True
    )
    kind, settings, scores = json.loads(done.stdout)
    assert (kind, settings) == ("UnknownGate", {"name": "matrix", "strength": 0.6})
    with leantta.load(path) as session:
        assert_close(np.asarray(scores), session.predict(field()), atol=0)


def test_one_that_needs_images_says_so(model: nn.Module) -> None:
    images = given(pixels(4, 0))
    with pytest.raises(SettingError, match="the matrix gate needs source images"):
        leantta.adapt(model, images, "all", gate=MatrixGate())
    with pytest.raises(SettingError, match="the halfway gate uses no calibration images"):
        leantta.adapt(model, images, "all", gate=HalfwayGate(), calibration=images)
    with pytest.raises(SettingError, match="the matrix gate has not seen 'bn1'"):
        leantta.apply(model, leantta.plan(model, images, Adaptation(layers="all", gate=MatrixGate())))
    with pytest.raises(SettingError, match=r"reach must lie in \[0, 1\], got 2"):
        HalfwayGate(reach=2)


def test_a_line_in_the_table_gives_it_options_and_a_word_in_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(table.GATES, "halfway", HalfwayGate)  # type: ignore[arg-type] # it is a dict
    assert table.gate_of("halfway") == HalfwayGate()
    settings = parse_method("leantta:half:halfway:reach=0.3", Adaptation()).settings(10)
    assert (settings["gate"], settings["reach"]) == ("HalfwayGate", 0.3)

    @click.command()
    @gate_options
    def show(gate: Gate) -> None:
        click.echo(repr(gate))

    def run(*args: str) -> str:
        return CliRunner().invoke(show, args).output

    assert run("--gate", "halfway", "--reach", "0.25") == "HalfwayGate(reach=0.25)\n"
    assert run() == f"{FilterGate.default()}\n"
    assert "--reach need --gate halfway; this is --gate filter." in run("--reach", "0.25")
    assert "--tau, --lambda need --gate paper; this is --gate halfway." in run(
        "--gate", "halfway", "--tau", "0.5"
    )
    assert "Halfway gate: largest weight." in " ".join(run("--help").split())
