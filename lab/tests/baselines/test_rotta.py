import math

import pytest
import torch

from baselines.two_layers import (
    CLASSES,
    NORMS,
    Adam,
    affine,
    doubt,
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
from leantta_lab.baselines.balanced_memory import TimelyMemory
from leantta_lab.baselines.rotta import RobustNorm, Rotta, RottaConfig
from reference import assert_close

CONFIG = RottaConfig(
    learning_rate=0.05, capacity=6, every=4, statistics_momentum=0.3, teacher_momentum=0.2, seed=2
)


class Reference:
    """Two sets of weights in float64; statistics are entries of each."""

    def __init__(self, network, config):
        self.config = config
        self.student, self.teacher = twin(network), twin(network)
        self.adam = Adam(affine(self.student), config.learning_rate)
        self.memory = TimelyMemory(config.capacity, CLASSES)
        self.generator = torch.Generator().manual_seed(config.seed)
        self.seen = 0

    def learning(self, weights, x):
        m = self.config.statistics_momentum

        def norm(name, h):
            mean, var = (
                (1 - m) * old + m * new for old, new in zip(source(weights, name), moments(h), strict=True)
            )
            weights[f"{name}.running_mean"], weights[f"{name}.running_var"] = mean.detach(), var.detach()
            return scaled(weights, name, h, mean, var)

        return run(weights, x, norm)[0]

    def step(self, x):
        logits = plain(self.teacher, x)[0].detach()
        for i, image in enumerate(x):
            self.memory.add(image, int(logits[i].argmax()), doubt(logits)[i].item() / math.log(CLASSES))
            self.seen += 1
            if self.seen % self.config.every == 0:
                self.learn()
        return logits

    def learn(self):
        x, ages = self.memory.content()
        target = self.learning(self.teacher, x).softmax(1)
        logits = self.learning(self.student, augmented(x, self.generator))
        weight = torch.exp(-ages) / (1 + torch.exp(-ages))
        self.adam.step((weight * -(target * logits.log_softmax(1)).sum(1)).mean())
        nu = self.config.teacher_momentum
        for name in NORMS:
            for which in ("weight", "bias"):
                key = f"{name}.{which}"
                self.teacher[key] = (1 - nu) * self.teacher[key] + nu * self.student[key].detach()


def test_student_teacher_and_statistics_follow_the_equations():
    network = two_layers()
    rotta, wanted = Rotta(network, CONFIG, classes=CLASSES), Reference(network, CONFIG)
    for x in stream(3, 1, 5, 6, 2):
        assert_close(rotta.predict(x), wanted.step(torch.from_numpy(x)), atol=2e-3)
    assert wanted.adam.steps == 4
    for own, weights in ((rotta.network, wanted.student), (rotta.teacher, wanted.teacher)):
        for name in NORMS:
            norm = own.get_submodule(name)
            assert isinstance(norm, RobustNorm)
            assert_close(norm.weight.detach(), weights[f"{name}.weight"].detach(), atol=1e-3)
            assert_close(norm.bias.detach(), weights[f"{name}.bias"].detach(), atol=1e-3)
            for found, expected in zip(norm.own, source(weights, name), strict=True):
                assert_close(found, expected, atol=1e-3)


def test_predictions_stay_the_sources_until_enough_has_been_seen():
    network = two_layers()
    rotta = Rotta(network, RottaConfig(every=8), classes=CLASSES)
    first, second, third = stream(5, 3, 4)
    for x in (first, second):
        assert_close(rotta.predict(x), plain(twin(network), torch.from_numpy(x))[0], atol=1e-5)
    away = rotta.predict(third) - plain(twin(network), torch.from_numpy(third))[0].numpy()
    assert abs(away).max() > 1e-3


def test_what_has_no_finite_prediction_is_not_remembered():
    rotta = Rotta(two_layers(), RottaConfig(every=1), classes=CLASSES)
    (x,) = stream(2)
    x[0] = 3e38  # a finite input whose activations are not
    rotta.predict(x)
    assert len(rotta.memory.content()[0]) == 1
    assert torch.isfinite(rotta.teacher_weights).all()
    assert all(torch.isfinite(values).all() for norm in rotta.norms for values in norm.own)


def test_an_empty_memory_is_refused():
    with pytest.raises(SettingError, match="capacity must be at least 1, got 0"):
        RottaConfig(capacity=0)
