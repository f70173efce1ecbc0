import numpy as np
import pytest
import torch

from baselines.two_layers import (
    CLASSES,
    NORMS,
    moments,
    plain,
    run,
    scaled,
    source,
    stream,
    twin,
    two_layers,
)
from leantta.errors import SettingError
from leantta_lab.baselines.augment_images import augmented
from leantta_lab.baselines.mixnorm import MixNorm, MixNormConfig
from reference import assert_close

BUSY = MixNormConfig(mixing=0.3, speed=0.2, views=2, seed=4)


def made(config=BUSY, network=None):
    return MixNorm(network or two_layers(), config, classes=CLASSES)


def expected(network, images, config):
    """Return logits of images one after the other, in float64."""
    weights = twin(network)
    generator = torch.Generator().manual_seed(config.seed)
    moving = {name: list(source(weights, name)) for name in NORMS}
    answers = []
    for image in images:
        x = torch.from_numpy(image[None])
        if config.views:
            x = torch.cat((x, augmented(x.repeat(config.views, 1, 1, 1), generator)))

        def norm(name, h):
            mixed = []
            for place, own in enumerate(moments(h)):
                old = moving[name][place]
                moving[name][place] = (1 - config.speed) * old + config.speed * own
                mixed.append((1 - config.mixing) * moving[name][place] + config.mixing * own)
            return scaled(weights, name, h, *mixed)

        answers.append(run(weights, x, norm)[0][0])
    return torch.stack(answers)


@pytest.mark.parametrize(
    "config", [BUSY, MixNormConfig(), MixNormConfig(views=0, speed=0.5), MixNormConfig(mixing=1, speed=0)]
)
def test_statistics_are_mixed_with_those_of_an_input_and_its_views(config):
    network = two_layers()
    method = made(config, network)
    batches = stream(4, 1, 3)
    wanted = expected(network, np.concatenate(batches), config)
    assert_close(np.concatenate([method.predict(x) for x in batches]), wanted, atol=1e-4)


def test_the_batch_size_decides_nothing():
    (x,) = stream(7)
    together, apart = made(), made()
    assert_close(np.concatenate([apart.predict(image[None]) for image in x]), together.predict(x), atol=1e-5)


def test_what_came_before_counts():
    first, second = stream(6, 2)
    alone = made().predict(second)
    method = made()
    method.predict(first)
    assert np.abs(method.predict(second) - alone).max() > 0.01


def test_without_mixing_and_moving_it_is_the_source():
    (x,) = stream(3)
    network = two_layers()
    wanted, _ = plain(twin(network), torch.from_numpy(x))
    assert_close(made(MixNormConfig(mixing=0, speed=0), network).predict(x), wanted, atol=1e-5)


@pytest.mark.parametrize("field", ["mixing", "speed", "views"])
def test_settings_below_zero_are_refused(field):
    with pytest.raises(SettingError, match=field):
        MixNormConfig(**{field: -1})
