import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from leantta.errors import LeanTTAError, SettingError, UnsupportedModelError
from leantta.gates.calibrated import CalibratedGate
from leantta.gates.paper import PaperGate
from leantta.nn import AdaptiveNorm, AdaptiveNorm1d, AdaptiveNorm2d, AdaptiveNorm3d, ChannelAffine, watch
from reference import Layer, adapted, assert_close, calibrated

RANKS = {
    "vector": (AdaptiveNorm1d, ()),
    "1d": (AdaptiveNorm1d, (40,)),
    "2d": (AdaptiveNorm2d, (9, 7)),
    "3d": (AdaptiveNorm3d, (3, 5, 4)),
    "one position": (AdaptiveNorm2d, (1, 1)),
}
BATCHNORM = {AdaptiveNorm1d: nn.BatchNorm1d, AdaptiveNorm2d: nn.BatchNorm2d, AdaptiveNorm3d: nn.BatchNorm3d}


def random_layer(channels: int, seed: int) -> Layer:
    rng = np.random.default_rng(seed)
    return Layer(
        mean=rng.normal(0, 2, channels),
        var=rng.uniform(0.2, 3, channels),
        gamma=rng.normal(1, 0.5, channels),
        beta=rng.normal(0, 1, channels),
    )


def random_input(layer: Layer, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Samples at various distances from the source."""
    rng = np.random.default_rng(seed)
    per_channel = (len(layer.mean), *(1,) * (len(shape) - 2))
    far = rng.uniform(0, 1.5, (shape[0], 1, *(1,) * (len(shape) - 2)))
    x = layer.mean.reshape(per_channel) + np.sqrt(layer.var).reshape(per_channel) * rng.normal(0, 1, shape)
    return x + far * rng.normal(0, 1, (shape[0], *per_channel))


def torch_layer(
    kind: type[AdaptiveNorm], layer: Layer, dtype: torch.dtype = torch.float32, **settings: object
) -> AdaptiveNorm:
    made = kind(len(layer.mean), eps=layer.eps, **settings)  # type: ignore[arg-type]
    values = {"running_mean": layer.mean, "running_var": layer.var, "weight": layer.gamma, "bias": layer.beta}
    made.load_state_dict({name: torch.as_tensor(value) for name, value in values.items()})
    return made.to(dtype)


def apart(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a.detach() - b.detach()).abs().max())


@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("mixture", [False, True])
def test_matches_the_papers_equations(rank, mixture):
    kind, positions = RANKS[rank]
    layer = random_layer(11, seed=1)
    x = random_input(layer, (5, 11, *positions), seed=2)
    for tau, lam in [(0.9, 0.9), (0.5, 0.2), (0.0, 0.0), (0.0, 1.0), (1.0, 1.0)]:
        made = torch_layer(
            kind, layer, gate=PaperGate(tau=tau, lam=lam), mixture_variance=mixture, adapt_vectors=True
        )
        with torch.no_grad(), watch(made) as readings:
            y = made(torch.as_tensor(x, dtype=torch.float32))
        expected, distance = adapted(x, layer, tau, lam, mixture)
        assert_close(y, expected, atol=1e-5)
        assert_close(readings[""].distance, distance, atol=1e-5)
        assert_close(readings[""].weight, (1 - tau) * (1 - lam * distance), atol=1e-5)


@pytest.mark.parametrize("rank", ["1d", "2d", "3d"])
def test_matches_the_calibrated_gate(rank):
    kind, positions = RANKS[rank]
    layer, rng = random_layer(6, seed=3), np.random.default_rng(4)
    x = random_input(layer, (5, 6, *positions), seed=5)
    spread = rng.uniform(0.01, 0.2, 6), rng.uniform(0.01, 0.2, 6)
    made = torch_layer(kind, layer, gate=CalibratedGate(floor=0.05, ceiling=0.6))
    made.mean_spread, made.var_spread = (torch.as_tensor(s, dtype=torch.float32) for s in spread)
    with torch.no_grad(), watch(made) as readings:
        y = made(torch.as_tensor(x, dtype=torch.float32))
    expected, distance = calibrated(x, layer, spread, 0.05, 0.6)
    assert_close(y, expected, atol=2e-5)
    np.testing.assert_allclose(readings[""].distance, distance, rtol=1e-4)


@given(
    channels=st.integers(1, 40),
    positions=st.lists(st.integers(1, 9), min_size=2, max_size=2),
    batch=st.integers(1, 4),
    tau=st.floats(0.1, 1),
    lam=st.floats(0, 1),
    offset=st.sampled_from([0.0, 1.0, 50.0]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_float32_stays_close_to_float64(channels, positions, batch, tau, lam, offset, seed):
    layer = random_layer(channels, seed)
    layer = Layer(layer.mean + offset, layer.var, layer.gamma, layer.beta)
    x = random_input(layer, (batch, channels, *positions), seed)
    made = torch_layer(AdaptiveNorm2d, layer, gate=PaperGate(tau=tau, lam=lam), adapt_vectors=True)
    y = made(torch.as_tensor(x, dtype=torch.float32))
    expected, _ = adapted(x, layer, tau, lam)
    # what float32 itself loses on an input of that size, times the gain of the layer at its smallest variance
    scale = np.abs(layer.gamma).max() * (1 + np.abs(x).max()) / np.sqrt(layer.var.min() * 0.1)
    assert_close(y.detach(), expected, atol=max(1e-5, 3e-6 * scale))


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize(
    ("dtype", "atol"),
    [(torch.float64, 1e-12), (torch.float32, 1e-5), (torch.bfloat16, 0.05), (torch.float16, 0.008)],
)
def test_every_precision_and_layout(dtype, layout, atol):
    layer = random_layer(8, seed=6)
    x = random_input(layer, (3, 8, 6, 6), seed=7)
    made = torch_layer(AdaptiveNorm2d, layer, dtype)
    rounded = {name: value.double().numpy() for name, value in made.state_dict().items()}
    seen = Layer(rounded["running_mean"], rounded["running_var"], rounded["weight"], rounded["bias"])
    given_x = torch.as_tensor(x).to(dtype).to(memory_format=layout)
    y = made(given_x).detach()
    assert y.dtype is dtype
    assert y.is_contiguous(memory_format=layout)
    assert_close(y.double(), adapted(given_x.double().numpy(), seen, 0.9, 0.9)[0], atol=atol)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_a_batch_equals_its_samples_one_by_one(layout):
    layer = random_layer(16, seed=8)
    x = torch.as_tensor(random_input(layer, (7, 16, 8, 8), seed=9), dtype=torch.float32).to(
        memory_format=layout
    )
    made = torch_layer(AdaptiveNorm2d, layer)
    together = made(x).detach()
    assert_close(together, torch.cat([made(x[i : i + 1]) for i in range(7)]).detach(), atol=2e-6)
    assert_close(together, made(x).detach(), atol=0)  # nothing is remembered


@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("affine", [True, False])
def test_tau_one_is_batchnorm_in_eval_mode(rank, affine):
    kind, positions = RANKS[rank]
    torch.manual_seed(0)
    norm = BATCHNORM[kind](5, affine=affine)
    norm(torch.randn(8, 5, *positions, *(2,) * (kind is not AdaptiveNorm1d and not positions)) * 2 + 1)
    x = torch.randn(4, 5, *positions) * 3
    made = kind(5, gate=PaperGate(tau=1.0), affine=affine, adapt_vectors=True)
    made.load_state_dict(norm.state_dict(), strict=False)
    assert_close(made(x).detach(), norm.eval()(x).detach(), atol=1e-6)


@pytest.mark.parametrize("shape", [(4, 5), (4, 5, 1)])
def test_vectors_keep_the_source_statistics_unless_asked(shape):
    norm, x = nn.BatchNorm1d(5).eval(), torch.randn(shape) + 2
    assert_close(AdaptiveNorm1d(5)(x).detach(), norm(x).detach(), atol=1e-6)
    moved = AdaptiveNorm1d(5, adapt_vectors=True)(x).detach()
    assert apart(moved, norm(x).detach()) > 1e-3


def test_train_mode_makes_no_difference_and_nothing_is_stored():
    made, x = AdaptiveNorm2d(3), torch.randn(2, 3, 4, 4)
    before = copy.deepcopy(made.state_dict())
    assert_close(made.train()(x).detach(), made.eval()(x).detach(), atol=0)
    assert all(torch.equal(before[name], value) for name, value in made.state_dict().items())


@pytest.mark.parametrize(
    "changed",
    [
        {"gate": PaperGate(tau=0.8)},
        {"gate": PaperGate(lam=0.1)},
        {"mixture_variance": True},
        {"eps": 0.1},
    ],
    ids=str,
)
def test_every_setting_changes_the_result(changed):
    layer = random_layer(4, seed=10)
    x = torch.as_tensor(random_input(layer, (2, 4, 5, 5), seed=11), dtype=torch.float32)
    usual = torch_layer(AdaptiveNorm2d, layer)(x)
    other = AdaptiveNorm2d(4, **changed)
    other.load_state_dict(torch_layer(AdaptiveNorm2d, layer).state_dict())
    assert apart(usual, other(x)) > 1e-4


@pytest.mark.parametrize("changed", [{"floor": 0.2}, {"ceiling": 0.9}], ids=str)
def test_every_setting_of_the_calibrated_gate_changes_the_result(changed):
    layer = random_layer(4, seed=10)
    x = torch.as_tensor(random_input(layer, (2, 4, 5, 5), seed=11), dtype=torch.float32)
    results = []
    for gate in (CalibratedGate(), CalibratedGate(**changed)):
        made = torch_layer(AdaptiveNorm2d, layer, gate=gate)
        made.mean_spread, made.var_spread = torch.full((4,), 0.1), torch.full((4,), 0.1)
        results.append(made(x))
    assert apart(results[0], results[1]) > 1e-4


@pytest.mark.parametrize(
    "settings", [{"tau": -0.1}, {"tau": 1.1}, {"lam": 2.0}, {"tau": float("nan")}], ids=str
)
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(SettingError, match=r"must lie in \[0, 1\]"):
        PaperGate(**settings)


def test_a_floor_above_the_ceiling_is_refused():
    with pytest.raises(SettingError, match="floor must not exceed ceiling"):
        CalibratedGate(floor=0.5, ceiling=0.2)


def test_the_calibrated_gate_says_that_it_needs_images():
    with pytest.raises(SettingError, match="calibration"):
        AdaptiveNorm2d(3, gate=CalibratedGate())(torch.zeros(1, 3, 2, 2))


@pytest.mark.parametrize("shape", [(2, 4, 3, 3), (2, 3, 3), (3, 3, 3, 3, 3)])
def test_input_of_another_shape_is_refused(shape):
    with pytest.raises(UnsupportedModelError, match="AdaptiveNorm2d"):
        AdaptiveNorm2d(3)(torch.zeros(shape))
    assert issubclass(UnsupportedModelError, LeanTTAError)


def test_an_empty_batch_gives_an_empty_batch():
    assert AdaptiveNorm2d(3)(torch.zeros(0, 3, 4, 4)).shape == (0, 3, 4, 4)


def test_watching_ends_with_its_block():
    model = nn.Sequential(AdaptiveNorm2d(3), nn.ReLU(), AdaptiveNorm2d(3))
    x = torch.randn(4, 3, 5, 5)
    with watch(model) as readings:
        model(x)
    assert list(readings) == ["0", "2"]
    assert readings["0"].distance.shape == readings["2"].weight.shape == (4,)
    seen = readings["0"].distance.clone()
    model(x * 10)
    assert torch.equal(readings["0"].distance, seen)


class Small(nn.Module):
    """Both layouts' branches, mixture and a residual, to be captured whole."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.one, self.two = AdaptiveNorm2d(4), AdaptiveNorm2d(4, mixture_variance=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        return torch.relu(self.one(y)) + self.two(y.to(memory_format=torch.channels_last))


def test_export_captures_it_with_a_dynamic_batch():
    model, x = Small().eval(), torch.randn(3, 3, 8, 8)
    program = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("n", min=2, max=64)},))
    other = torch.randn(5, 3, 8, 8)
    assert_close(program.module()(other).detach(), model(other).detach(), atol=1e-6)


def test_compile_captures_it_without_graph_breaks():
    model, x = Small().eval(), torch.randn(3, 3, 8, 8)
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    assert_close(compiled(x).detach(), model(x).detach(), atol=1e-6)


def test_gradients_flow_through_the_layer():
    made = AdaptiveNorm2d(2).double()
    x = torch.randn(2, 2, 3, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(made, (x,))


def test_channel_affine_is_a_fixed_batchnorm():
    layer = ChannelAffine(torch.tensor([2.0, 3.0]), torch.tensor([1.0, -1.0])).train()
    assert layer(torch.ones(1, 2, 1, 1)).flatten().tolist() == [3.0, 2.0]
    assert layer(torch.ones(1, 2)).flatten().tolist() == [3.0, 2.0]
