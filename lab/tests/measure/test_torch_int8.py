"""The paper's recipe in torch: it decides like the float32 model, so it is a fair opponent."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.ao.nn import quantized as nnq
from torch.ao.nn.intrinsic.quantized import ConvReLU2d

from export.models import given, pixels, small
from leantta.evaluate.predictor import decided
from leantta.measure.candidates import scores
from leantta.nn import AdaptiveNorm
from leantta.surgery.apply import adapt
from leantta_lab.measure.network import Network
from leantta_lab.measure.torch_engines import open_torch
from leantta_lab.measure.torch_int8 import quantized

ENGINES = [name for name in ("x86", "qnnpack") if name in torch.backends.quantized.supported_engines]


@pytest.fixture(autouse=True)
def _same_engine_as_before():
    before, threads = torch.backends.quantized.engine, torch.get_num_threads()
    yield
    torch.backends.quantized.engine = before
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory, weights: Path) -> Network:
    return Network("resnet18", weights, None, tmp_path_factory.mktemp("bench"))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("layers", ["none", "half", "all"])
def test_resnet18_decides_like_float32_on_real_images(network: Network, engine: str, layers: str) -> None:
    model = quantized(network.adapted(layers), network.inputs[:48], engine)
    with torch.inference_mode():
        logits = model(torch.from_numpy(network.held_out)).numpy()
    assert len(logits) == 64
    assert (decided(logits) == network.decisions(layers)).mean() >= 0.92


def scores_of(model: nn.Module, images: Tensor) -> np.ndarray:
    with torch.inference_mode():
        found: np.ndarray = model(images).numpy()
    return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("layers", ["none", 1, "all"])
def test_scores_are_within_rounding_also_when_saved(tmp_path: Path, engine: str, layers: str | int) -> None:
    images = given(pixels())
    lean = adapt(small(), images[:2], layers)
    wanted = scores_of(lean, images)
    model = quantized(lean, images.numpy(), engine)
    found = scores_of(model, images)
    assert np.abs(found - wanted).max() <= 0.12 * np.abs(wanted).max()
    torch.save(model, tmp_path / "model.pt")
    opened = open_torch(tmp_path / "model.pt", f"torch-{engine}", 1)
    np.testing.assert_array_equal(scores(opened, images.numpy()), found)


class Typical(nn.Module):
    """A ReLU and a ReLU6 behind convolutions, a sum with a ReLU, and something torch.ao has no bytes for."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU6())
        self.second = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Dropout())
        self.relu, self.head = nn.ReLU(), nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        x = self.relu(x + self.second(x))
        scores: Tensor = self.head(x.amax((2, 3)))
        return scores


def kinds(model: nn.Module) -> Counter[type]:
    return Counter(type(module) for module in model.modules())


def test_what_does_not_adapt_is_fused_and_what_adapts_is_float_between_bytes() -> None:
    images = torch.randn(32, 3, 12, 12, generator=torch.Generator().manual_seed(0))
    torch.manual_seed(0)
    model = Typical().eval()
    none = quantized(adapt(model, images[:2], "none"), images.numpy(), ENGINES[0])
    found = kinds(none)
    assert (found[ConvReLU2d], found[nnq.Conv2d], found[nnq.Linear], found[nnq.QFunctional]) == (1, 1, 1, 1)
    assert (found[nn.ReLU], found[nn.ReLU6], found[nnq.Quantize]) == (0, 0, 2)  # the input, and after amax
    everything = quantized(adapt(model, images[:2], "all"), images.numpy(), ENGINES[0])
    found = kinds(everything)
    assert (found[ConvReLU2d], found[nnq.Conv2d], found[nnq.QFunctional]) == (0, 2, 1)
    assert sum(isinstance(module, AdaptiveNorm) for module in everything.modules()) == 2
    assert found[nnq.Quantize] == 4  # the input, behind both adaptive layers, and after amax


def test_a_relu6_is_the_end_of_a_range() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU6(), nn.Flatten()).eval()
    images = 40 * torch.randn(32, 3, 4, 4)
    exact = scores_of(model, images)
    assert (exact == 6).mean() > 0.2
    for engine in ENGINES:
        rounded = quantized(adapt(model, images[:2], "none"), images.numpy(), engine)
        assert kinds(rounded)[ConvReLU2d] == 1
        found = scores_of(rounded, images)
        assert found.max() <= 6.0 + 1e-5
        assert np.abs(found - exact).mean() < 0.3
