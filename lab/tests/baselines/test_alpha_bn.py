import numpy as np
import pytest
import torch

from baselines.two_layers import (
    CLASSES,
    moments,
    on_batch,
    plain,
    run,
    scaled,
    source,
    stream,
    twin,
    two_layers,
)
from leantta.errors import SettingError
from leantta_lab.baselines.alpha_bn import AlphaBn, AlphaBnConfig, BnBatch
from leantta_lab.baselines.base import Config
from reference import assert_close


def expected(weights, x, alpha):
    def norm(name, h):
        pairs = zip(source(weights, name), moments(h), strict=True)
        return scaled(weights, name, h, *((1 - alpha) * s + alpha * t for s, t in pairs))

    return run(weights, torch.from_numpy(x), norm)[0]


@pytest.mark.parametrize("alpha", [0.1, 0.7, 1.0])
def test_statistics_lie_between_the_sources_and_the_batchs(alpha):
    network = two_layers()
    method = AlphaBn(network, AlphaBnConfig(alpha=alpha), classes=CLASSES)
    for x in stream(4, 1, 8):
        assert_close(method.predict(x), expected(twin(network), x, alpha), atol=1e-4)


def test_a_prior_counts_as_so_many_images():
    network = two_layers()
    method = AlphaBn(network, AlphaBnConfig(prior=6.0), classes=CLASSES)
    for x, alpha in zip(stream(2, 1, 6), (2 / 8, 1 / 7, 6 / 12), strict=True):
        assert_close(method.predict(x), expected(twin(network), x, alpha), atol=1e-4)


def test_without_a_batch_it_is_the_source():
    (x,) = stream(3)
    network = two_layers()
    wanted, _ = plain(twin(network), torch.from_numpy(x))
    assert_close(AlphaBn(network, AlphaBnConfig(alpha=0), classes=CLASSES).predict(x), wanted, atol=1e-5)


def test_nothing_is_remembered():
    first, second = stream(4, 2)
    method = AlphaBn(two_layers(), AlphaBnConfig(), classes=CLASSES)
    alone = method.predict(second)
    method.predict(first)
    assert np.array_equal(method.predict(second), alone)


@pytest.mark.parametrize("changed", [{"alpha": 1.1}, {"alpha": -0.1}, {"prior": -1.0}], ids=str)
def test_weights_that_mean_nothing_are_refused(changed):
    with pytest.raises(SettingError, match=next(iter(changed))):
        AlphaBnConfig(**changed)


def test_each_batch_is_normalized_with_its_own_statistics():
    network = two_layers()
    method = BnBatch(network, Config(), classes=CLASSES)
    for x in stream(4, 1, 8, 2):
        assert_close(method.predict(x), on_batch(twin(network), torch.from_numpy(x)), atol=1e-4)
