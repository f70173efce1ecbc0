"""Property: whatever small network is converted, the file says what the torch model says."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import leantta
from leantta.export.convert import convert
from leantta.export.options import FileOptions

FP32_BOUND = 1e-4
"""Largest difference of scores in float32."""

INT8_BOUND = 0.05
"""Root mean square difference of scores in int8, as a share of the scores' own deviation over source inputs.

The worst of forty such networks had 0.022.
"""

ACTIVATIONS = {"relu": nn.ReLU, "relu6": nn.ReLU6, "hardswish": nn.Hardswish, "silu": nn.SiLU}


class Layers(NamedTuple):
    """The layers of networks over images, or over signals."""

    conv: type[nn.Conv1d] | type[nn.Conv2d]
    norm: type[nn.BatchNorm1d] | type[nn.BatchNorm2d]
    max_pool: type[nn.MaxPool1d] | type[nn.MaxPool2d]
    average_pool: type[nn.AvgPool1d] | type[nn.AvgPool2d]
    whole: type[nn.AdaptiveAvgPool1d] | type[nn.AdaptiveAvgPool2d]
    shape: tuple[int, ...]


IMAGES = Layers(nn.Conv2d, nn.BatchNorm2d, nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d, (3, 12, 12))
SIGNALS = Layers(nn.Conv1d, nn.BatchNorm1d, nn.MaxPool1d, nn.AvgPool1d, nn.AdaptiveAvgPool1d, (3, 40))


class ConvBlock(nn.Module):
    """Convolution, BatchNorm, activation."""

    def __init__(
        self, of: Layers, width: int, activation: str, kernel: int, stride: int, depthwise: bool
    ) -> None:
        super().__init__()
        groups = width if depthwise else 1
        self.conv = of.conv(width, width, kernel, stride, kernel // 2, groups=groups, bias=False)
        self.norm = of.norm(width)
        self.activation = ACTIVATIONS[activation]()

    def forward(self, x: Tensor) -> Tensor:
        return self.activation(self.norm(self.conv(x)))


class Residual(nn.Module):
    """A block added to its input, with or without an activation behind the sum."""

    def __init__(self, of: Layers, width: int, activation: str, final: bool) -> None:
        super().__init__()
        self.inner = ConvBlock(of, width, activation, 3, 1, False)
        self.conv = of.conv(width, width, 1, bias=False)
        self.norm = of.norm(width)
        self.final = ACTIVATIONS[activation]() if final else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.final(x + self.norm(self.conv(self.inner(x))))


class Split(nn.Module):
    """Two branches side by side, joined again."""

    def __init__(self, of: Layers, width: int, activation: str) -> None:
        super().__init__()
        self.left = ConvBlock(of, width, activation, 1, 1, False)
        self.right = ConvBlock(of, width, activation, 3, 1, True)
        self.join = Mixed(of, 2 * width, width, activation)

    def forward(self, x: Tensor) -> Tensor:
        return self.join(torch.cat([self.left(x), self.right(x)], 1))


class Mixed(nn.Sequential):
    """A 1x1 convolution to another width, with BatchNorm and activation."""

    def __init__(self, of: Layers, width: int, out: int, activation: str) -> None:
        super().__init__(of.conv(width, out, 1), of.norm(out), ACTIVATIONS[activation]())


class PreActivation(nn.Sequential):
    """BatchNorm with no convolution before it."""

    def __init__(self, of: Layers, width: int, activation: str) -> None:
        super().__init__(of.norm(width), ACTIVATIONS[activation](), of.conv(width, width, 3, 1, 1))


class Squeeze(nn.Module):
    """Squeeze and excitation: channels weighted by a look at the whole."""

    def __init__(self, of: Layers, width: int) -> None:
        super().__init__()
        self.whole = of.whole(1)
        self.down, self.up = of.conv(width, 4, 1), of.conv(4, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        seen = self.whole(x)
        return x * nn.functional.hardsigmoid(self.up(nn.functional.relu(self.down(seen))))


class Network(nn.Module):
    """A stem, the parts in order, a pooled linear head."""

    def __init__(self, of: Layers, width: int, parts: list[tuple[Any, ...]], hidden: bool) -> None:
        super().__init__()
        self.stem = Mixed(of, of.shape[0], width, "relu")
        self.parts = nn.Sequential(*(self.part(of, width, *part) for part in parts))
        self.pool = of.whole(1)
        middle = [nn.Linear(width, 12), nn.ReLU(), nn.Linear(12, 5)] if hidden else [nn.Linear(width, 5)]
        self.head = nn.Sequential(*middle)

    @staticmethod
    def part(of: Layers, width: int, kind: str, activation: str, kernel: int, flag: bool) -> nn.Module:
        if kind == "conv":
            return ConvBlock(of, width, activation, kernel, 1 + flag, False)
        if kind == "depthwise":
            return ConvBlock(of, width, activation, kernel, 1 + flag, True)
        if kind == "residual":
            return Residual(of, width, activation, flag)
        if kind == "concat":
            return Split(of, width, activation)
        if kind == "preactivation":
            return PreActivation(of, width, activation)
        if kind == "squeeze":
            return Squeeze(of, width)
        return of.max_pool(3, 1 + flag, 1) if kernel == 3 else of.average_pool(2, 1 + flag)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.pool(self.parts(self.stem(x))).flatten(1))


KINDS = ("conv", "depthwise", "residual", "concat", "pool", "preactivation", "squeeze")
PARTS = st.tuples(
    st.sampled_from(KINDS), st.sampled_from(list(ACTIVATIONS)), st.sampled_from([1, 3]), st.booleans()
)


@st.composite
def networks(draw: st.DrawFn, of: Layers) -> nn.Module:
    parts = draw(st.lists(PARTS, min_size=1, max_size=4))
    width = draw(st.sampled_from([4, 6, 8, 16]))
    torch.manual_seed(draw(st.integers(0, 999)))
    model = Network(of, width, parts, draw(st.booleans()))
    for module in model.modules():
        if isinstance(module, of.norm):  # statistics and parameters as training would leave them
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, 0, 0.3)
    model.train()
    with torch.no_grad():
        for _ in range(8):
            model(torch.randn(32, *of.shape))
    return model.eval()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("networks")


FEW = settings(
    max_examples=3,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)


@FEW
@given(
    model=networks(IMAGES),
    layers=st.sampled_from(["all", "half", "none"]),
    gate=st.sampled_from(["paper", "calibrated"]),
    portable=st.booleans(),
)
def test_files_reproduce_the_model(
    folder: Path, model: nn.Module, layers: Any, gate: Any, portable: bool
) -> None:
    assert_reproduced(folder, model, IMAGES, layers, gate, portable)


@FEW
@given(
    model=networks(SIGNALS),
    layers=st.sampled_from(["all", "half", "none"]),
    gate=st.sampled_from(["paper", "calibrated"]),
    portable=st.booleans(),
)
def test_files_reproduce_networks_over_signals(
    folder: Path, model: nn.Module, layers: Any, gate: Any, portable: bool
) -> None:
    assert_reproduced(folder, model, SIGNALS, layers, gate, portable)


def assert_reproduced(
    folder: Path, model: nn.Module, of: Layers, layers: Any, gate: Any, portable: bool
) -> None:
    generator = torch.Generator().manual_seed(7)
    source = torch.randn(64, *of.shape, generator=generator)
    inputs = 1.1 * torch.randn(7, *of.shape, generator=generator) + 0.1  # shifted
    if layers == "half" and sum(isinstance(m, of.norm) for m in model.modules()) < 2:
        layers = "all"
    calibration = source if gate == "calibrated" else None
    lean = leantta.adapt(model, inputs[:2], layers, gate=gate, calibration=calibration)
    with torch.inference_mode():
        wanted, usual = lean(inputs).numpy(), lean(source).numpy()
    for precision in ("fp32", "int8"):
        options = FileOptions(precision=precision, portable=portable)  # type: ignore[arg-type]
        convert(model, source.numpy(), folder / "x.onnx", layers=layers, gate=gate, options=options)
        with leantta.load(folder / "x.onnx") as session:
            for size in (1, 2, 7):
                found = session.predict(inputs[:size].numpy())
                error = found - wanted[:size]
                if precision == "fp32":
                    assert np.abs(error).max() <= FP32_BOUND * max(1.0, np.abs(wanted).max())
                else:
                    assert np.sqrt((error**2).mean()) <= INT8_BOUND * usual.std()
