"""The shift filter against the formula written a second time, in float64 numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor, nn

import leantta
from leantta import functional as F
from leantta.errors import SettingError
from leantta.gates.filter import FilterGate
from leantta.nn import AdaptiveNorm, AdaptiveNorm1d, AdaptiveNorm2d, AdaptiveNorm3d
from reference import Layer, assert_close, filtered

Array = NDArray[np.float64]

KINDS: dict[int, type[AdaptiveNorm]] = {3: AdaptiveNorm1d, 4: AdaptiveNorm2d, 5: AdaptiveNorm3d}
NORMS = {3: nn.BatchNorm1d, 4: nn.BatchNorm2d, 5: nn.BatchNorm3d}
CHANNELS, DEAD = 6, [1, 4]
POSITIONS = {3: (11,), 4: (5, 4), 5: (3, 2, 4)}
PRECISE = {torch.float32: 2e-5, torch.float64: 1e-11}


def source_layer(*, dead: bool = False, eps: float = 1e-3, seed: int = 0) -> Layer:
    draw = np.random.default_rng(seed)
    var = draw.uniform(0.3, 2, CHANNELS)
    if dead:
        var[DEAD] = 0.0, 1e-9
    gamma, beta = draw.uniform(0.5, 2, CHANNELS), draw.normal(size=CHANNELS)
    return Layer(draw.normal(size=CHANNELS), var, gamma, beta, eps=eps)


def random_filter(
    rank: int = 3, *, size: float = 0.3, dead: bool = False, seed: int = 1
) -> tuple[Array, Array, Array]:
    draw = np.random.default_rng(seed)
    into, back = draw.normal(size=(2 * CHANNELS, rank)), draw.normal(size=(rank, 2 * CHANNELS))
    if dead:  # as fitting leaves it: nothing is answered there
        back[:, [*DEAD, *(CHANNELS + channel for channel in DEAD)]] = 0
    return into, size * back, draw.uniform(0.1, 1, rank)


def torch_layer(
    layer: Layer,
    parts: tuple[Array, Array, Array],
    *,
    axes: int = 4,
    shrink: float = 0.0,
    dtype: torch.dtype = torch.float32,
    **options: Any,
) -> AdaptiveNorm:
    made = KINDS[axes](CHANNELS, gate=FilterGate(shrink=shrink), eps=layer.eps, **options).to(dtype)
    values = {"running_mean": layer.mean, "running_var": layer.var, "weight": layer.gamma, "bias": layer.beta}
    made.load_state_dict({name: torch.as_tensor(value) for name, value in values.items()})
    for name, value in zip(FilterGate.constants, parts, strict=True):
        setattr(made, name, torch.as_tensor(value).to(dtype))
    return made


def batchnorm(layer: Layer, axes: int) -> nn.Module:
    norm = NORMS[axes](CHANNELS, eps=layer.eps)
    values = {"running_mean": layer.mean, "running_var": layer.var, "weight": layer.gamma, "bias": layer.beta}
    norm.load_state_dict({name: torch.as_tensor(v) for name, v in values.items()}, strict=False)
    return norm.eval()


def inputs(count: int, axes: int = 4, *, size: float = 1.5, seed: int = 3) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    each = 0.3 + 2 * torch.rand(count, CHANNELS, *(1,) * (axes - 2), generator=generator)
    noise = torch.randn(count, CHANNELS, *POSITIONS[axes], generator=generator)
    return size * each * noise + torch.randn(count, CHANNELS, *(1,) * (axes - 2), generator=generator)


def check(
    layer: Layer, parts: tuple[Array, Array, Array], x: Tensor, *, shrink: float = 0.0, atol: float
) -> tuple[Array, Array]:
    """Compare a layer with the reference, and return what the latter says."""
    model = nn.Sequential(torch_layer(layer, parts, axes=x.dim(), shrink=shrink, dtype=F.wide(x.dtype)))
    with torch.no_grad(), leantta.watch(model) as readings:
        y = model(x)
    wanted, distance = filtered(x.double().numpy(), layer, *parts, shrink=shrink)
    assert y.dtype is x.dtype
    assert_close(y, wanted, atol=atol * float(np.abs(wanted).max()))
    assert_close(readings["0"].distance, distance, atol=10 * atol * float(distance.max()))
    return wanted, distance


@pytest.mark.parametrize("dead", [False, True], ids=["alive", "dead channels"])
@pytest.mark.parametrize("dtype", PRECISE, ids=str)
@pytest.mark.parametrize("count", [1, 7])
@pytest.mark.parametrize("axes", KINDS)
def test_a_layer_computes_the_formula(axes: int, count: int, dtype: torch.dtype, dead: bool) -> None:
    layer, x = source_layer(dead=dead), inputs(count, axes).to(dtype)
    wanted, _ = check(layer, random_filter(dead=dead), x, atol=PRECISE[dtype])
    plain = batchnorm(layer, axes)(x.float()).detach()
    assert np.abs(wanted - plain.numpy()).max() > 0.1  # the filter has something to say
    if dead:
        assert_close(wanted[:, DEAD], plain[:, DEAD], atol=1e-4 * float(plain.abs().max()))


@pytest.mark.parametrize("rank", [1, CHANNELS, 2 * CHANNELS])
def test_any_rank_will_do(rank: int) -> None:
    check(source_layer(), random_filter(rank), inputs(4), atol=1e-4)


def test_memory_order_and_gradients_make_no_difference() -> None:
    layer, x = torch_layer(source_layer(), random_filter()), inputs(5)
    y = layer(x).detach()
    limit = 1e-5 * float(y.abs().max())
    assert_close(layer(x.contiguous(memory_format=torch.channels_last)).detach(), y, atol=limit)
    assert_close(layer(x.clone().requires_grad_()).detach(), y, atol=limit)


def test_half_precision_is_computed_in_float32() -> None:
    layer, x = torch_layer(source_layer(), random_filter()), inputs(4)
    exact = layer(x).detach()
    y = layer.half()(x.half()).detach()
    assert y.dtype is torch.float16
    assert_close(y, exact, atol=0.02 * float(exact.abs().max()))


def test_what_it_sees_is_limited() -> None:
    """A sample without any variance, and one with far more than the source, are at the ends."""
    layer = source_layer(eps=1e-5)
    x = torch.stack([torch.full((CHANNELS, 5, 4), 0.7), 1e3 * inputs(1)[0]])
    source = F.Stats(torch.as_tensor(layer.mean), torch.as_tensor(layer.var))
    seen = F.features(F.measure(x.double(), source), source, layer.eps)
    assert_close(seen[0, CHANNELS:], np.full(CHANNELS, -4.0), atol=0)
    assert_close(seen[1, CHANNELS:], np.full(CHANNELS, 4.0), atol=0)
    for sample in x:
        check(layer, random_filter(size=0.01), sample[None], atol=1e-3)


def test_what_it_answers_is_limited() -> None:
    layer, x = source_layer(), inputs(3)
    for sign in (-1, 1):
        back = np.zeros((1, 2 * CHANNELS))
        back[0, CHANNELS:] = sign * 50
        into = np.zeros((2 * CHANNELS, 1))
        into[0] = 1
        wanted, _ = check(layer, (into, back, np.ones(1)), x, atol=1e-4)
        plain = batchnorm(layer, 4)(x).detach().numpy()
        beta = layer.beta[:, None, None]
        growth = (wanted - beta) / (plain - beta)  # one factor for each sample, by one end or the other
        ends = np.exp([-1.5, 1.5])
        assert_close(np.abs(growth[..., None] - ends).min(-1), np.zeros_like(growth), atol=1e-2)


@pytest.mark.parametrize("axes", KINDS)
def test_a_filter_of_zeros_is_batchnorm(axes: int) -> None:
    layer, x = source_layer(dead=True), inputs(4, axes)
    into, back, weight = random_filter()
    y = torch_layer(layer, (into, 0 * back, weight), axes=axes)(x).detach()
    plain = batchnorm(layer, axes)(x).detach()
    assert_close(y, plain, atol=1e-6 * float(plain.abs().max()))


def test_shrinking_leaves_near_inputs_alone_and_corrects_others_in_part() -> None:
    layer, (into, back, weight) = source_layer(), random_filter()
    parts = (into, back, weight / 20)
    x = torch.as_tensor(layer.mean).float()[:, None, None] + inputs(6, size=0.8)
    _, distance = check(layer, parts, x, atol=1e-4)
    shrink = float(np.median(distance))
    wanted, _ = check(layer, parts, x, shrink=shrink, atol=1e-4)
    plain = batchnorm(layer, 4)(x).detach().numpy()
    stays = np.abs(wanted - plain).max((1, 2, 3)) < 1e-5
    assert stays.tolist() == (distance <= shrink).tolist()
    with (
        torch.no_grad(),
        leantta.watch(model := nn.Sequential(torch_layer(layer, parts, shrink=shrink))) as seen,
    ):
        model(x)
    assert_close(seen["0"].weight, np.maximum(0, 1 - shrink / distance), atol=1e-4)


def test_an_input_like_the_source_has_no_distance() -> None:
    """Nothing is divided by zero, with and without shrinking."""
    seen, parts = (
        torch.zeros(2, 2 * CHANNELS),
        F.Filter(*(torch.as_tensor(v).float() for v in random_filter())),
    )
    for shrink, weight in ((0.0, 1.0), (0.5, 0.0)):
        answer, reading = F.filtered(seen, parts, shrink=shrink)
        assert_close(answer, np.zeros((2, 2 * CHANNELS)), atol=0)
        assert reading.distance.flatten().tolist() == [0, 0]
        assert reading.weight.flatten().tolist() == [weight, weight]


def test_vectors_keep_the_source_statistics_unless_asked_for() -> None:
    layer, x = source_layer(), inputs(5, 3)[:, :, 0]
    plain = batchnorm(layer, 3)(x).detach()
    assert_close(torch_layer(layer, random_filter(), axes=3)(x).detach(), plain, atol=1e-5)
    asked = torch_layer(layer, random_filter(), axes=3, adapt_vectors=True)(x).detach()
    wanted, _ = filtered(x.double().numpy(), layer, *random_filter())
    assert_close(asked, wanted, atol=1e-4)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 1000),
    axes=st.sampled_from(sorted(KINDS)),
    count=st.integers(2, 6),
    shrink=st.sampled_from([0.0, 0.7]),
    size=st.floats(0.01, 100),
    data=st.data(),
)
def test_a_sample_never_sees_another(
    seed: int, axes: int, count: int, shrink: float, size: float, data: st.DataObject
) -> None:
    layer = torch_layer(source_layer(seed=seed), random_filter(seed=seed), axes=axes, shrink=shrink)
    x, others = inputs(count, axes, seed=seed), inputs(count, axes, size=size, seed=seed + 1)
    place = data.draw(st.integers(0, count - 1))
    others[place] = x[place]
    with torch.no_grad():
        together, changed, alone = layer(x), layer(others), layer(x[place : place + 1])
    limit = 1e-5 * float(alone.abs().max())
    assert_close(changed[place], together[place], atol=limit)
    assert_close(alone[0], together[place], atol=limit)


def test_a_layer_that_was_never_fitted_says_so() -> None:
    with pytest.raises(SettingError, match="the filter gate has seen no source images"):
        AdaptiveNorm2d(CHANNELS, gate=FilterGate())(inputs(1))
