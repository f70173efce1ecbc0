"""The memory of a layer against its formulas, one input at a time in numpy."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from leantta.errors import SettingError
from leantta.functional import Shift, Stats, weight_of_many
from leantta.memory import Remembered, StreamMemory
from leantta.nn import AdaptiveNorm2d, forget, watch
from reference import assert_close

CHANNELS = 5


def source(seed: int = 0) -> Stats:
    generator = torch.Generator().manual_seed(seed)
    return Stats(torch.randn(CHANNELS, generator=generator), 0.5 + torch.rand(CHANNELS, generator=generator))


def inputs(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean shifts and variances of `count` inputs; half-way the domain changes to the other side."""
    generator = np.random.default_rng(seed)
    side = np.where(np.arange(count) < count / 2, 1.0, -1.0)[:, None]
    means = side * 0.8 + 0.4 * generator.standard_normal((count, CHANNELS))
    return means, generator.uniform(0.1, 2.0, (count, CHANNELS))


def expected(means, variances, var_s, mu_s, memory: StreamMemory):
    """Return the shift and count after each input, by the definition: the list of inputs since the change.

    Without a limit to its length, a running mean is the mean of that list.
    """
    kept: list[int] = []
    found = []
    for i in range(len(means)):
        if kept:
            remembered = (means[kept] - mu_s).mean(0)
            along = ((means[i] - mu_s) * remembered / (var_s + 1e-6)).sum()
            if along < memory.agreement * (remembered**2 / (var_s + 1e-6)).sum():
                kept = []
        kept.append(i)
        used = kept if len(kept) >= memory.patience else [i]
        pooled_mean = means[used].mean(0)
        within, between = variances[used].mean(0), means[used].var(0)
        found.append((pooled_mean - mu_s, within + between - var_s, len(used)))
    return [np.array(column) for column in zip(*found, strict=True)]


@pytest.mark.parametrize("agreement", [-1.0, 0.1, 0.5, 1.2])
@pytest.mark.parametrize("patience", [1, 4])
def test_without_a_limit_it_is_the_pool_of_the_inputs_since_the_change(agreement, patience):
    stats, memory = source(), StreamMemory(length=1e9, agreement=agreement, patience=patience)
    mu_s, var_s = (value.double().numpy() for value in stats)
    shifts, variances = inputs(1, 24)
    means = mu_s + shifts
    mean, var, counts = expected(means, variances, var_s, mu_s, memory)
    wide = Stats(*(value.double() for value in stats))
    shift = Shift(torch.from_numpy(means) - wide.mean, torch.from_numpy(variances) - wide.var)
    found = Remembered(memory).follow(shift, wide)
    assert_close(found.shift.mean, mean, atol=1e-9)
    assert_close(found.shift.var, var, atol=1e-9)
    assert_close(found.counts[:, 0], counts, atol=0)
    assert (counts == 1).sum() >= (1 if agreement < 0 else 2)  # the change was seen


def test_a_limit_lets_the_past_fade():
    memory = StreamMemory(length=3, agreement=-9.0, patience=1)
    stats = Stats(torch.zeros(1), torch.ones(1))
    deltas = torch.tensor([[1.0], [2.0], [6.0], [3.0]])
    found = Remembered(memory).follow(Shift(deltas, torch.zeros(4, 1)), stats)
    assert found.counts[:, 0].tolist() == [1, 2, 3, 3]
    assert_close(found.shift.mean[:, 0], [1, 1.5, 3, 3], atol=1e-6)  # 3 + (3 - 3) / 3


@given(cuts=st.lists(st.integers(1, 6), min_size=1, max_size=4), seed=st.integers(0, 99))
def test_batches_make_no_difference(cuts, seed):
    count = sum(cuts)
    stats = source(seed)
    means, variances = inputs(seed, count)
    shift = Shift(
        torch.from_numpy(means).float() - stats.mean, torch.from_numpy(variances).float() - stats.var
    )
    memory = StreamMemory(patience=2)
    whole = Remembered(memory).follow(shift, stats)
    state, parts = Remembered(memory), []
    for mean, var in zip(shift.mean.split(cuts), shift.var.split(cuts), strict=True):
        parts.append(state.follow(Shift(mean, var), stats))
    assert_close(torch.cat([part.shift.mean for part in parts]), whole.shift.mean, atol=0)
    assert_close(torch.cat([part.shift.var for part in parts]), whole.shift.var, atol=0)
    assert_close(torch.cat([part.counts for part in parts]), whole.counts, atol=0)


def test_the_weight_of_many_is_that_of_a_prior_worth_some_inputs():
    for weight in (0.01, 0.1, 0.4, 1.0):
        for count in (1, 2, 30):
            prior = 1 / weight - 1
            found = weight_of_many(torch.tensor([[weight]]), torch.tensor([[float(count)]]))
            assert_close(found, [[count / (count + prior)]], atol=1e-6)
    assert weight_of_many(torch.zeros(1, 1), torch.full((1, 1), 9.0)).item() == 0


@torch.no_grad()
def test_a_layer_is_plain_at_first_and_after_a_change_and_after_forgetting():
    torch.manual_seed(0)
    plain, layer = AdaptiveNorm2d(4), AdaptiveNorm2d(4, memory=StreamMemory(patience=2))
    bright, dark = 2 + torch.rand(3, 4, 6, 6), -2 - torch.rand(1, 4, 6, 6)
    assert_close(layer(bright[:1]), plain(bright[:1]), atol=1e-6)
    with watch(layer) as readings:
        followed = layer(bright[1:])
    assert (followed - plain(bright[1:])).abs().max() > 1e-2
    assert readings[""].weight[1] > readings[""].weight[0] > 0.1 * 0.1
    assert_close(layer(dark), plain(dark), atol=1e-6)  # lies the other way: forgotten
    layer(bright)
    forget(layer)
    assert_close(layer(bright[:1]), plain(bright[:1]), atol=1e-6)


@pytest.mark.parametrize("length", [0.5, 0, -1, float("nan")])
def test_a_memory_of_nothing_is_refused(length):
    with pytest.raises(SettingError, match="at least one input"):
        StreamMemory(length=length)


@pytest.mark.parametrize("patience", [0, float("nan")])
def test_a_patience_of_less_than_one_input_is_refused(patience):
    with pytest.raises(SettingError, match="from the first input on or later, got patience="):
        StreamMemory(patience=patience)


def test_a_memory_shorter_than_its_patience_is_used_when_it_is_full():
    stats = Stats(torch.zeros(1), torch.ones(1))
    found = Remembered(StreamMemory(length=2, patience=8)).follow(
        Shift(torch.ones(3, 1), torch.zeros(3, 1)), stats
    )
    assert found.counts[:, 0].tolist() == [1, 2, 2]
