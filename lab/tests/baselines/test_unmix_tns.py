import math

import numpy as np
import pytest
import torch
from torch import nn

from baselines.two_layers import (
    CLASSES,
    NORMS,
    moments,
    run,
    scaled,
    source,
    stream,
    twin,
    two_layers,
)
from leantta.errors import SettingError
from leantta_lab.baselines.unmix_tns import UnmixingNorm, UnmixTns, UnmixTnsConfig
from reference import assert_close

BUSY = UnmixTnsConfig(components=3, momentum=0.6, full_batch=4, spread=0.3, temperature=0.2, seed=2)


def made(config=BUSY, network=None):
    return UnmixTns(network or two_layers(), config, classes=CLASSES)


def beginning(weights, config):
    """Return the components of each layer, drawn in the order of the layers."""
    generator = torch.Generator().manual_seed(config.seed)
    count, found = config.components, {}
    for name in NORMS:
        mean, var = source(weights, name)
        noise = torch.randn((count, len(mean)), generator=generator).double()
        spread = config.spread if count > 1 else 0
        width = math.sqrt(spread * count / (count - 1)) if count > 1 else 0
        found[name] = (mean + width * var.sqrt() * noise, ((1 - spread) * var).repeat(count, 1))
    return found


def expected(network, batches, config):
    """Return logits by the paper's formulas, sample by sample and component by component in float64."""
    weights = twin(network)
    components = beginning(weights, config)

    def norm(name, h):
        means, variances = components[name]
        own_means, own_variances = moments(h, (2, 3))
        mixed_means, mixed_variances = [], []
        move_mean, move_var = torch.zeros_like(means), torch.zeros_like(variances)
        for mean, var in zip(own_means, own_variances, strict=True):
            cosines = torch.stack([mean @ each / (mean.norm() * each.norm()) for each in means])
            share = (cosines / config.temperature).exp()
            share = share / share.sum()
            m = [(1 - p) * each + p * mean for p, each in zip(share, means, strict=True)]
            v = [(1 - p) * each + p * var for p, each in zip(share, variances, strict=True)]
            over_all = sum(m) / len(m)
            mixed_means.append(over_all)
            mixed_variances.append(sum(v) / len(v) + sum(each**2 for each in m) / len(m) - over_all**2)
            for k, p in enumerate(share):
                move_mean[k] += p * (mean - means[k]) / len(h)
                move_var[k] += p * (var - variances[k]) / len(h)
        step = 1 - (1 - config.momentum) ** (len(h) / config.full_batch)
        components[name] = (means + step * move_mean, variances + step * move_var)
        return scaled(weights, name, h, torch.stack(mixed_means), torch.stack(mixed_variances))

    return [run(weights, torch.from_numpy(x), norm)[0] for x in batches]


@pytest.mark.parametrize("config", [BUSY, UnmixTnsConfig(), UnmixTnsConfig(components=1, momentum=1)])
def test_it_is_what_the_formulas_say(config):
    network = two_layers()
    method = made(config, network)
    batches = stream(4, 1, 7, 2)
    for x, wanted in zip(batches, expected(network, batches, config), strict=True):
        assert_close(method.predict(x), wanted, atol=1e-4)


def test_components_begin_with_the_statistics_of_the_source():
    torch.manual_seed(0)
    norm = nn.BatchNorm2d(4)
    norm.running_mean = torch.tensor([1.0, -2.0, 0.0, 5.0])
    norm.running_var = torch.tensor([0.1, 1.0, 4.0, 9.0])
    config = UnmixTnsConfig(components=20_000)
    means, variances = UnmixingNorm(norm, config, torch.Generator().manual_seed(0)).components
    assert_close(means.mean(0), norm.running_mean, atol=0.1)
    assert_close(means.var(0) + variances.mean(0), norm.running_var, atol=0.2)


def test_with_one_component_each_input_is_normalized_by_itself():
    """It belongs to that component wholly."""
    (x,) = stream(3)
    network = two_layers()
    own = made(UnmixTnsConfig(components=1, momentum=0), network).predict(x)
    weights = twin(network)
    wanted, _ = run(
        weights, torch.from_numpy(x), lambda name, h: scaled(weights, name, h, *moments(h, (2, 3)))
    )
    assert_close(own, wanted, atol=1e-4)


def test_one_value_per_channel_is_normalized_with_the_source():
    norm = nn.BatchNorm1d(5)
    norm.running_mean, norm.running_var = torch.rand(5), torch.rand(5) + 0.5
    x = torch.randn(6, 5)
    layer = UnmixingNorm(norm, BUSY, torch.Generator())
    with torch.no_grad():
        assert_close(layer(x), norm.eval()(x), atol=1e-6)


def test_classes_that_come_one_after_the_other_share_no_statistics():
    """A long run of one kind of input moves the components like it, and hardly the others."""
    dark, bright = (np.full((1, 3, 9, 9), value, np.float32) for value in (0.1, 0.9))
    grain = np.random.default_rng(0).normal(0, 0.05, (64, 3, 9, 9)).astype(np.float32)
    method = made(UnmixTnsConfig(components=2, temperature=0.01, momentum=0.5))
    layer = method.network.norm1
    before = layer.components.mean.clone()
    for _ in range(5):
        method.predict(dark + grain)
    moves = (layer.components.mean - before).norm(dim=1)
    assert moves.max() > 20 * moves.min()
    assert np.isfinite(method.predict(bright + grain)).all()


def test_nothing_moves_without_momentum():
    first, second = stream(6, 2)
    alone = made(UnmixTnsConfig(momentum=0)).predict(second)
    method = made(UnmixTnsConfig(momentum=0))
    method.predict(first)
    assert np.array_equal(method.predict(second), alone)
    moving = made()
    moving.predict(first)
    assert np.abs(moving.predict(second) - made().predict(second)).max() > 0.01


@pytest.mark.parametrize("field", ["components", "momentum", "full_batch", "spread", "temperature"])
def test_settings_below_zero_are_refused(field):
    with pytest.raises(SettingError, match=field):
        UnmixTnsConfig(**{field: -1})
