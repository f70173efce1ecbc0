import numpy as np
import pytest
import torch

from baselines.two_layers import CLASSES, moments, plain, run, scaled, source, stream, twin, two_layers
from leantta.errors import SettingError
from leantta_lab.baselines.augment_images import augmented
from leantta_lab.baselines.sita import Sita, SitaConfig
from reference import assert_close


def expected(weights, image, config):
    generator = torch.Generator().manual_seed(config.seed)
    views = augmented(image.repeat(config.views, 1, 1, 1), generator)
    together = torch.cat((image, views))

    def norm(name, h):
        pairs = zip(source(weights, name), moments(h), strict=True)
        return scaled(weights, name, h, *(config.prior * s + (1 - config.prior) * t for s, t in pairs))

    return run(weights, together, norm)[0][0]


@pytest.mark.parametrize(
    "config", [SitaConfig(), SitaConfig(prior=0.3, views=3, seed=4), SitaConfig(prior=0, views=1)]
)
def test_statistics_are_pooled_over_an_image_and_its_views(config):
    network = two_layers()
    sita = Sita(network, config, classes=CLASSES)
    for x in stream(2, 1):
        wanted = [expected(twin(network), torch.from_numpy(image[None]), config) for image in x]
        assert_close(sita.predict(x), torch.stack(wanted), atol=1e-4)


def test_a_prior_of_one_is_the_source():
    (x,) = stream(3)
    network = two_layers()
    wanted, _ = plain(twin(network), torch.from_numpy(x))
    assert_close(Sita(network, SitaConfig(prior=1), classes=CLASSES).predict(x), wanted, atol=1e-5)


def test_an_answer_does_not_depend_on_what_came_before_or_beside():
    (x,) = stream(5)
    sita = Sita(two_layers(), SitaConfig(), classes=CLASSES)
    together = sita.predict(x)
    assert np.array_equal(sita.predict(x[3:4]), together[3:4])


def test_no_views_are_refused():
    with pytest.raises(SettingError, match="views must be at least 1, got 0"):
        SitaConfig(views=0)
