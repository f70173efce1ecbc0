import math

import torch
from torch import nn

from baselines.two_layers import (
    CLASSES,
    NORMS,
    Adam,
    affine,
    doubt,
    moments,
    run,
    scaled,
    source,
    stream,
    twin,
    two_layers,
)
from leantta_lab.baselines.note import InstanceAwareNorm, Note, NoteConfig
from reference import assert_close

CONFIG = NoteConfig(learning_rate=0.02, width=1.5, every=4, statistics_momentum=0.2)


def shrunk(difference, threshold):
    return torch.where(
        difference > threshold,
        difference - threshold,
        torch.where(difference < -threshold, difference + threshold, torch.zeros_like(difference)),
    )


class Reference:
    """The memory is every input, so it must be larger than the stream."""

    def __init__(self, network, config):
        self.config, self.weights, self.memory = config, twin(network), []
        self.adam = Adam(affine(self.weights), config.learning_rate)

    def logits(self, x, learning):
        def norm(name, h):
            positions = h.shape[2] * h.shape[3]
            base = source(self.weights, name)
            if learning:
                count = len(h) * positions
                mean, var = moments(h)
                base = mean, var * count / (count - 1)
                m = self.config.statistics_momentum
                for which, old, new in zip(("mean", "var"), source(self.weights, name), base, strict=True):
                    self.weights[f"{name}.running_{which}"] = (1 - m) * old + m * new.detach()
            mean, var = moments(h, (2, 3))
            var = var * positions / (positions - 1)
            k, room = self.config.width, base[1] + 1e-5
            mean = base[0] + shrunk(mean - base[0], k * torch.sqrt(room / positions))
            var = base[1] + shrunk(var - base[1], k * room * math.sqrt(2 / (positions - 1)))
            return scaled(self.weights, name, h, mean, var.clamp_min(0))

        return run(self.weights, x, norm)[0]

    def step(self, x):
        logits = self.logits(x, learning=False).detach()
        for image in x:
            self.memory.append(image)
            if len(self.memory) % self.config.every == 0:
                self.adam.step(doubt(self.logits(torch.stack(self.memory), learning=True)).mean())
        return logits


def test_predictions_weights_and_statistics_follow_the_equations():
    network = two_layers()
    note, wanted = Note(network, CONFIG, classes=CLASSES), Reference(network, CONFIG)
    for x in stream(3, 1, 5, 6, 2):
        assert_close(note.predict(x), wanted.step(torch.from_numpy(x)), atol=2e-3)
    assert wanted.adam.steps == 4
    for name in NORMS:
        norm = note.network.get_submodule(name)
        assert isinstance(norm, InstanceAwareNorm)
        assert_close(norm.weight.detach(), wanted.weights[f"{name}.weight"].detach(), atol=1e-3)
        for found, expected in zip(norm.own, source(wanted.weights, name), strict=True):
            assert_close(found, expected, atol=1e-4)


def test_an_ordinary_sample_is_normalized_as_by_batchnorm():
    torch.manual_seed(0)
    plain = nn.BatchNorm2d(3).eval()
    x = torch.randn(4, 3, 20, 20)
    assert_close(InstanceAwareNorm(plain, 100.0, 0.0)(x).detach(), plain(x).detach(), atol=1e-6)
    moved = InstanceAwareNorm(plain, 0.0, 0.0)(x + 5).detach()  # no room for chance: the sample's statistics
    assert_close(moved.mean((2, 3)), torch.zeros(4, 3), atol=1e-5)


def test_chance_is_wider_than_nothing_where_the_source_never_varied():
    plain = nn.BatchNorm2d(1).eval()
    plain.running_var = torch.zeros(1)
    x = torch.full((1, 1, 10, 10), 5e-4)  # within 2 * sqrt(eps / 100) of the mean
    assert_close(InstanceAwareNorm(plain, 2.0, 0.0)(x).detach(), plain(x).detach(), atol=1e-6)


def test_vectors_have_no_statistics_of_their_own():
    plain = nn.BatchNorm1d(3).eval()
    plain.running_mean = torch.full((3,), 2.0)
    x = torch.randn(4, 3)
    assert_close(InstanceAwareNorm(plain, 0.0, 0.0)(x).detach(), plain(x).detach(), atol=1e-6)


def test_what_has_no_finite_prediction_is_not_remembered():
    note = Note(two_layers(), NoteConfig(every=1), classes=CLASSES)
    (x,) = stream(2)
    x[0] = 3e38
    note.predict(x)
    assert len(note.memory.content()) == 1
    assert all(torch.isfinite(values).all() for norm in note.norms for values in norm.own)
