from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from baselines.two_layers import CLASSES, on_batch, stream, twin, two_layers
from leantta.errors import SettingError
from leantta_lab.baselines.augment_images import augmented
from leantta_lab.baselines.cotta import ROWS, Cotta, CottaConfig, ViewsNorm
from reference import assert_close

BATCHES = stream(3, 1, 2, 1, 9)


class Twin:
    """The method in float64, a view and a weight at a time; random numbers in the order of the method."""

    def __init__(self, network, config):
        self.config = config
        self.student, self.teacher, self.anchor = twin(network), twin(network), twin(network)
        names = [name for name, _ in network.named_parameters() if config.train == "all" or "norm" in name]
        self.names = names
        self.generator = torch.Generator().manual_seed(config.seed)
        self.first = {name: torch.zeros_like(self.student[name]) for name in names}
        self.second = {name: torch.zeros_like(self.student[name]) for name in names}
        self.steps, self.averaged = 0, []

    def predict(self, x):
        x = torch.from_numpy(x)
        sure = on_batch(self.anchor, x).softmax(1).max(1).values.mean()
        self.averaged.append(bool(sure < self.config.confidence))
        target = self.over_views(x) if self.averaged[-1] else on_batch(self.teacher, x)
        trained = [self.student[name].requires_grad_() for name in self.names]
        logits = on_batch(self.student, x)
        log_p = logits - logits.exp().sum(1, keepdim=True).log()
        p = target.exp() / target.exp().sum(1, keepdim=True)
        self.descend(trained, torch.autograd.grad(-(p * log_p).sum(1).mean(), trained))
        keep = self.config.teacher_momentum
        for name in self.names:
            self.student[name] = self.student[name].detach()
            self.teacher[name] = keep * self.teacher[name] + (1 - keep) * self.student[name]
        sizes = [self.student[name].numel() for name in self.names]
        drawn = torch.rand(sum(sizes), generator=self.generator).split(sizes)
        for name, part in zip(self.names, drawn, strict=True):
            back = part.view_as(self.student[name]) < self.config.restore
            self.student[name][back] = self.anchor[name][back]
        return target

    def over_views(self, x):
        found: list[torch.Tensor] = []
        while len(found) < self.config.augmentations:
            count = min(self.config.augmentations - len(found), max(1, ROWS // len(x)))
            views = augmented(torch.cat([x] * count), self.generator).split(len(x))
            found += [on_batch(self.teacher, view) for view in views]
        return torch.stack(found).mean(0)

    def descend(self, trained, gradients):
        self.steps += 1
        rate, beta = self.config.learning_rate, self.config.momentum
        for name, p, g in zip(self.names, trained, gradients, strict=True):
            if self.config.optimizer == "sgd":
                self.first[name] = beta * self.first[name] + g
                self.student[name] = p.detach() - rate * self.first[name]
                continue
            self.first[name] = beta * self.first[name] + (1 - beta) * g
            self.second[name] = 0.999 * self.second[name] + 0.001 * g * g
            spread = (self.second[name] / (1 - 0.999**self.steps)).sqrt() + 1e-8
            self.student[name] = p.detach() - rate * self.first[name] / (1 - beta**self.steps) / spread


@pytest.mark.parametrize(
    ("config", "averaged"),
    [
        (CottaConfig(augmentations=8, confidence=0.72), {True, False}),
        (CottaConfig(augmentations=11, confidence=1.0, learning_rate=0.05, teacher_momentum=0.5), {True}),
        (CottaConfig(confidence=0.0, learning_rate=0.05, restore=0.4, momentum=0.2, seed=3), {False}),
        (CottaConfig(augmentations=3, confidence=1.0, optimizer="adam", train="all", restore=0.1), {True}),
    ],
    ids=str,
)
def test_a_student_learns_from_its_mean_and_forgets(config, averaged):
    network = two_layers(sureness=15)
    cotta, other = Cotta(network, config, classes=CLASSES), Twin(network, config)
    for x in BATCHES:
        assert_close(cotta.predict(x), other.predict(x).detach(), atol=2e-3)
    assert set(other.averaged) == averaged
    for name in other.names:
        if name in ("conv1.bias", "conv2.bias"):
            continue  # a norm takes them out again: their gradient is rounding, which Adam makes large
        assert_close(cotta.network.get_parameter(name).detach(), other.student[name], atol=1e-4)
        assert_close(cotta.teacher.get_parameter(name), other.teacher[name], atol=1e-4)
    for name, value in network.named_parameters():
        assert torch.equal(cotta.anchor.get_parameter(name), value), name


@pytest.mark.parametrize("shape", [(6, 3, 9, 9), (6, 3, 2, 2), (6, 3, 7), (6, 3, 1, 1), (6, 3)])
@pytest.mark.parametrize("views", [1, 2, 3, 6])
def test_views_in_one_call_are_batches_by_themselves(shape, views):
    norm = ViewsNorm(nn.BatchNorm2d(3))
    norm.weight.data, norm.bias.data = torch.tensor([0.5, 2.0, -1.0]), torch.tensor([1.0, 0.0, 3.0])
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0)) * 2 + 1
    norm.views = views
    together = norm(x)
    norm.views = 1
    assert_close(together, torch.cat([norm(view) for view in x.chunk(views)]), atol=1e-5)


def test_everything_is_forgotten_where_that_is_certain():
    network = two_layers()
    cotta = Cotta(network, CottaConfig(restore=1.0, confidence=1.0, augmentations=2), classes=CLASSES)
    for x in BATCHES:
        cotta.predict(x)
    for name, value in network.named_parameters():
        assert torch.equal(cotta.network.get_parameter(name), value), name
    assert not torch.equal(cotta.teacher_weights, cotta.source_weights)


def test_a_loss_that_is_no_number_is_no_step():
    network = two_layers()
    network.head.bias.data[0] = np.inf
    cotta = Cotta(network, CottaConfig(augmentations=2), classes=CLASSES)
    for x in BATCHES:
        cotta.predict(x)
    assert torch.equal(cotta.student_weights, cotta.source_weights)
    assert torch.equal(cotta.teacher_weights, cotta.source_weights)


@pytest.mark.parametrize(
    "changed",
    [
        {"learning_rate": -1.0},
        {"momentum": 1.0},
        {"teacher_momentum": 1.1},
        {"restore": -0.1},
        {"augmentations": 0},
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(changed):
    with pytest.raises(SettingError, match=next(iter(changed))):
        CottaConfig(**changed)


@pytest.mark.parametrize(("field", "known"), [("train", "norms, all"), ("optimizer", "sgd, adam")])
def test_words_that_mean_nothing_are_refused(field, known):
    changed: dict[str, Any] = {field: "other"}
    with pytest.raises(SettingError, match=f"{field} must be one of {known}, got 'other'"):
        CottaConfig(**changed)
