"""The memory of the shift filter: its formulas against numpy, and torch against files, input by input."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor, nn

import leantta
from leantta.errors import SettingError
from leantta.functional import Filter, filtered
from leantta.gates.filter import FilterGate
from leantta.layer_memory import (
    LayerMemory,
    Remembered,
    features_of_domain,
    filtered_in_stream,
    moments,
    remembered,
)
from leantta.memory import StreamMemory
from leantta.nn import AdaptiveNorm2d, forget
from reference import assert_close

Array = NDArray[np.float64]
CHANNELS, RANK = 4, 3


def parts(seed: int = 0) -> Filter:
    random = torch.Generator().manual_seed(seed)
    into, back = (torch.randn(2 * CHANNELS, RANK, generator=random, dtype=torch.float64) for _ in range(2))
    weight = torch.rand(RANK, generator=random, dtype=torch.float64)
    return Filter(into, back.T, weight / weight.sum())


def stream(seed: int, count: int, *, steady: bool = True) -> Tensor:
    """Features of inputs; half-way the domain goes to the other side, or it changes all the time."""
    random = np.random.default_rng(seed)
    side = np.where(np.arange(count) < count / 2, 1.0, -1.0) if steady else random.choice([-1.0, 1.0], count)
    common = random.normal(size=2 * CHANNELS)
    return torch.from_numpy(side[:, None] * common + 0.3 * random.normal(size=(count, 2 * CHANNELS)))


def by_hand(seen: Array, filter_: Filter, *, shrink: float, length: float) -> tuple[Array, list[float]]:
    """The formulas once more, with lists of numbers; also how far the memory was trusted."""
    into, back, weight = (value.numpy() for value in filter_)
    m, domain, n, q = np.zeros(RANK), np.zeros(2 * CHANNELS), 0.0, 0.0
    answers, trusts = [], []
    for f in seen:
        z = f @ into
        r = 0.0
        if n:
            r = float(np.clip((weight * z * m).sum() / (weight * m * m).sum(), -1, 1))
        q += (r - q) / 6
        if r < 0:
            n, q = 0.0, min(q, 0.2)
        n = min(n + 1, length)
        of_channels = np.concatenate([f[:CHANNELS], np.exp(f[CHANNELS:]) + f[:CHANNELS] ** 2])
        m, domain = (new if n == 1 else old + (new - old) / n for old, new in ((m, z), (domain, of_channels)))
        p = min(max((q - 0.3) / 0.3, 0), 1)
        a = max(0.0, 1 - shrink / (weight * z * z).sum())
        a_m = max(0.0, 1 - shrink / (n * (weight * m * m).sum()))
        mean, square = np.split(domain, 2)
        d = np.concatenate([mean, np.clip(np.log(square - mean**2), -4, 4)])
        answers.append((1 - p) * a * z @ back + p * a_m * (0.6 * z @ back + 0.4 * d))
        trusts.append(p)
    return np.array(answers), trusts


@pytest.mark.parametrize("shrink", [0.0, 0.5])
@pytest.mark.parametrize("length", [1, 8, 100])
@pytest.mark.parametrize("steady", [True, False])
def test_it_follows_its_formulas(shrink: float, length: float, steady: bool) -> None:
    seen = stream(1, 48, steady=steady)
    wanted, trusts = by_hand(seen.numpy(), parts(), shrink=shrink, length=length)
    found, _ = LayerMemory(StreamMemory(length=length)).follow(seen, parts(), shrink=shrink)
    assert_close(found, wanted, atol=1e-9)
    if steady:
        assert max(trusts[8:24]) == max(trusts[40:]) == 1  # used in both domains
        assert min(trusts[24:28]) == 0  # and not between them


def test_a_first_input_is_met_as_without_a_memory() -> None:
    seen = stream(0, 1)
    wanted, reading = filtered(seen, parts(), shrink=0.5)
    found, told = LayerMemory(StreamMemory()).follow(seen, parts(), shrink=0.5)
    assert_close(found, wanted, atol=1e-12)
    assert_close(told.distance, reading.distance, atol=1e-12)


def test_inputs_that_do_not_agree_are_met_as_without_a_memory() -> None:
    random = torch.Generator().manual_seed(0)
    seen = torch.randn(400, 2 * CHANNELS, generator=random, dtype=torch.float64)
    wanted, _ = filtered(seen, parts(), shrink=0.5)
    found, _ = LayerMemory(StreamMemory()).follow(seen, parts(), shrink=0.5)
    same = (found - wanted).abs().amax(1) < 1e-12
    assert float(same.double().mean()) > 0.9


def test_an_input_that_lies_the_other_way_clears_the_mean() -> None:
    mean, channels = torch.tensor([[2.0, 0.0]]), torch.tensor([[2.0, 5.0]])
    before = Remembered(mean, channels, torch.tensor([[8.0]]), torch.tensor([[0.9]]))
    parts_ = Filter(torch.eye(2), torch.eye(2), torch.tensor([0.5, 0.5]))
    after = remembered(torch.tensor([[-1.0, 3.0]]), parts_, before, length=8)
    assert_close(after.mean, [[-1, 3]], atol=1e-6)
    assert_close(after.moments, [[-1, np.exp(3) + 1]], atol=1e-4)
    assert after.inputs.tolist() == [[1]]
    assert_close(after.agreement, [[0.2]], atol=1e-6)


def test_a_domain_has_the_statistics_of_all_its_pixels() -> None:
    """As BatchNorm has them in training: what inputs differ by is variance, too."""
    x = 1 + 2 * torch.randn(5, CHANNELS, 50, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x += torch.arange(5).view(5, 1, 1)
    seen = torch.cat([x.mean(2), x.var(2, correction=0).log()], 1)
    found = features_of_domain(moments(seen).mean(0, keepdim=True))
    wanted = [x.mean((0, 2)), x.transpose(0, 1).flatten(1).var(1, correction=0).log()]
    assert_close(found, torch.cat(wanted)[None], atol=1e-9)


def test_a_domain_like_the_source_or_a_dead_channel_moves_nothing() -> None:
    nothing = torch.zeros(1, 2 * CHANNELS)
    assert features_of_domain(moments(nothing)).tolist() == nothing.tolist()


@settings(max_examples=30, deadline=None)
@given(cuts=st.lists(st.integers(1, 6), min_size=1, max_size=4), seed=st.integers(0, 99))
def test_batches_make_no_difference(cuts: list[int], seed: int) -> None:
    seen = stream(seed, sum(cuts))
    whole, _ = LayerMemory(StreamMemory()).follow(seen, parts(), shrink=0.5)
    state = LayerMemory(StreamMemory())
    pieces = [state.follow(part, parts(), shrink=0.5)[0] for part in seen.split(cuts)]
    assert_close(torch.cat(pieces), whole, atol=0)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 99), other=st.integers(100, 199))
def test_streams_in_one_batch_do_not_see_each_other(seed: int, other: int) -> None:
    both = torch.stack([stream(seed, 12), stream(other, 12)], 1)
    nothing = torch.zeros(2, 1, dtype=torch.float64)
    mean, channels = (torch.zeros(2, size, dtype=torch.float64) for size in (RANK, 2 * CHANNELS))
    state = Remembered(mean, channels, nothing, nothing)
    found = []
    for row in both:
        answer, _, state = filtered_in_stream(row, parts(), state, shrink=0.5, length=16)
        found.append(answer)
    for place in range(2):
        alone, _ = LayerMemory(StreamMemory()).follow(both[:, place], parts(), shrink=0.5)
        assert_close(torch.stack(found)[:, place], alone, atol=1e-12)


def layer(memory: StreamMemory | None) -> AdaptiveNorm2d:
    norm = AdaptiveNorm2d(CHANNELS, gate=FilterGate(shrink=0.5), memory=memory)
    into, back, weight = (value.float() for value in parts())
    norm.into, norm.back, norm.share = 0.3 * into, 0.3 * back, weight
    return norm


@torch.no_grad()
def test_a_layer_remembers_until_it_is_told_to_forget() -> None:
    torch.manual_seed(0)
    plain, streaming = layer(None), layer(StreamMemory())
    bright = 2 + torch.rand(12, CHANNELS, 6, 6)
    assert_close(streaming(bright[:1]), plain(bright[:1]), atol=1e-6)
    followed = streaming(bright[1:])
    assert (followed[-1] - plain(bright)[-1]).abs().max() > 1e-2
    forget(nn.Sequential(streaming))
    assert_close(streaming(bright[:1]), plain(bright[:1]), atol=1e-6)


@pytest.mark.parametrize("length", [0.5, 0, -1, float("nan"), float("inf")])
def test_a_memory_of_nothing_or_of_everything_is_refused(length: float) -> None:
    with pytest.raises(SettingError, match="one input or more"):
        StreamMemory(length=length)


def test_gates_without_a_memory_refuse_one() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4))
    with pytest.raises(SettingError, match="paper gate remembers nothing"):
        leantta.adapt(model, torch.zeros(1, 3, 8, 8), gate="paper", memory=StreamMemory())
