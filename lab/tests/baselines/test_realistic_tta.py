import numpy as np
import pytest
import torch

from baselines.two_layers import CLASSES, NORMS, moments, run, scaled, source, stream, twin, two_layers
from leantta.errors import SettingError
from leantta.functional import Stats
from leantta_lab.baselines.realistic_tta import RealisticTta, RealisticTtaConfig, divergence, priors
from reference import assert_close


def kl(mean, var, other_mean, other_var):
    """Return KL of diagonal Gaussians, summed over channels."""
    parts = np.log(other_var / var) + (var + (mean - other_mean) ** 2) / other_var - 1
    return 0.5 * parts.sum()


class Twin:
    """The method in float64, from its equations."""

    def __init__(self, network, config):
        self.weights, self.config = twin(network), config
        self.target = {
            name: (0 * source(self.weights, name)[0], 0 * source(self.weights, name)[1] + 1) for name in NORMS
        }
        self.seeds = dict.fromkeys(NORMS, 0.0)

    def mixed(self, name, p):
        (mean, var), (other, spread) = source(self.weights, name), self.target[name]
        return p * mean + (1 - p) * other, p * var + (1 - p) * spread + p * (1 - p) * (mean - other) ** 2

    def predict(self, x):
        def first(name, h):
            m = self.config.momentum
            pairs = zip(self.target[name], moments(h), strict=True)
            self.target[name] = tuple((1 - m) * old + m * new for old, new in pairs)
            return scaled(self.weights, name, h, *self.mixed(name, self.seeds[name]))

        run(self.weights, torch.from_numpy(x), first)
        distances = []
        for name in NORMS:
            s, t = (
                [part.numpy() for part in pair] for pair in (source(self.weights, name), self.target[name])
            )
            s[1], t[1] = s[1] + 1e-5, t[1] + 1e-5
            distances.append(0.5 * (kl(*s, *t) + kl(*t, *s)))
        scores = (np.array(distances) - np.mean(distances)) / np.std(distances)
        p = dict(zip(NORMS, (scores.clip(-1, 1) + 1) / 4, strict=True))
        rest = self.config.prior_momentum
        self.seeds = {name: (1 - rest) * self.seeds[name] + rest * p[name] for name in NORMS}
        return run(
            self.weights,
            torch.from_numpy(x),
            lambda name, h: scaled(self.weights, name, h, *self.mixed(name, p[name])),
        )[0]


@pytest.mark.parametrize(
    "config",
    [
        RealisticTtaConfig(),
        RealisticTtaConfig(momentum=0.01),
        RealisticTtaConfig(momentum=0.3, prior_momentum=0.6),
    ],
    ids=str,
)
def test_two_passes_blend_source_and_target(config):
    network = two_layers()
    method, other = RealisticTta(network, config, classes=CLASSES), Twin(network, config)
    for x in stream(4, 1, 1, 8, 2):
        assert_close(method.predict(x), other.predict(x), atol=1e-3)
    assert_close(method.priors, list(other.seeds.values()), atol=1e-5)
    assert_close(method.target.mean, torch.cat([other.target[name][0] for name in NORMS]), atol=1e-4)
    assert_close(method.target.var, torch.cat([other.target[name][1] for name in NORMS]), atol=1e-4)


def test_layers_far_from_the_source_trust_it_more():
    found = priors(torch.tensor([1.0, 2.0, 3.0, 100.0]))
    assert found[3] == 0.5
    assert (found.diff() > 0).all()
    assert 0 < found[0] < 0.25


def test_layers_that_cannot_be_compared_count_a_quarter():
    assert_close(priors(torch.tensor([3.0])), [0.25], atol=0)
    assert_close(priors(torch.tensor([3.0, 3.0])), [0.25, 0.25], atol=0)


def test_the_divergence_is_symmetric_and_zero_at_home():
    rng = torch.Generator().manual_seed(0)
    one, other = (Stats(torch.randn(6, generator=rng), torch.rand(6, generator=rng) + 0.1) for _ in range(2))
    assert_close(divergence(one, one), torch.zeros(6), atol=1e-6)
    assert_close(divergence(one, other), divergence(other, one), atol=1e-5)
    s, t = ([part.numpy() for part in stats] for stats in (one, other))
    assert_close(divergence(one, other).sum(), 0.5 * (kl(*s, *t) + kl(*t, *s)), atol=1e-3)


@pytest.mark.parametrize("changed", [{"momentum": 1.5}, {"momentum": -0.1}, {"prior_momentum": 2.0}], ids=str)
def test_weights_that_mean_nothing_are_refused(changed):
    with pytest.raises(SettingError, match=next(iter(changed))):
        RealisticTtaConfig(**changed)
