import math

import numpy as np
import pytest
import torch
from torch import nn

from baselines.two_layers import CLASSES, affine, doubt, on_batch, stream, twin, two_layers
from leantta.errors import NoBatchNormError
from leantta_lab.baselines.sar import Sar, SarConfig, learning_parameters
from reference import assert_close


def expected(weights, batches, config, names):
    """Return logits of each batch, how often it started anew, and the trained tensors."""
    parameters = affine(weights, names)
    first = [p.detach().clone() for p in parameters]
    velocity = [torch.zeros_like(p) for p in parameters]
    bound = config.margin * math.log(CLASSES)
    mean, found, anew = None, [], 0
    for x in map(torch.from_numpy, batches):
        logits = on_batch(weights, x)
        found.append(logits.detach())
        sure = [i for i, h in enumerate(doubt(logits)) if h < bound]
        if not sure:
            continue
        gradients = torch.autograd.grad(doubt(logits)[sure].mean(), parameters)
        length = math.sqrt(sum(float((g * g).sum()) for g in gradients))
        with torch.no_grad():
            for p, g in zip(parameters, gradients, strict=True):
                p += config.rho * g / length
        again = doubt(on_batch(weights, x))
        left = [i for i in sure if again[i] < bound]
        loss = again[left].mean()
        ascended = torch.autograd.grad(loss, parameters)
        rate = config.learning_rate * min(1, len(x) / config.full_batch)
        with torch.no_grad():
            for i, p in enumerate(parameters):
                p -= config.rho * gradients[i] / length
                velocity[i] = config.momentum * velocity[i] + ascended[i]
                p -= rate * velocity[i]
        mean = loss.item() if mean is None else config.decay * mean + (1 - config.decay) * loss.item()
        if mean < config.reset_below:
            anew, mean = anew + 1, None
            with torch.no_grad():
                for i, p in enumerate(parameters):
                    p.copy_(first[i])
                    velocity[i].zero_()
    return found, anew, parameters


@pytest.mark.parametrize(
    ("config", "names"),
    [
        (SarConfig(learning_rate=0.05, rho=0.2, margin=0.8, full_batch=4), ("norm1", "norm2")),
        (SarConfig(learning_rate=0.5, margin=0.8, frozen_share=0.5), ("norm1",)),
        (SarConfig(learning_rate=0.5, margin=0.9, reset_below=0.6, decay=0.5), ("norm1", "norm2")),
    ],
)
def test_steps_are_those_of_the_equations(config, names):
    network, batches = two_layers(), stream(6, 4, 5, 2, 6)
    wanted, anew, parameters = expected(twin(network), batches, config, names)
    sar = Sar(network, config, classes=CLASSES)
    found = [sar.predict(x) for x in batches]
    for one, other in zip(found, wanted, strict=True):
        assert_close(one, other, atol=2e-4)
    flat = torch.cat([p.detach().flatten() for p in parameters])
    assert_close(sar.trained.detach(), flat, atol=1e-4)
    assert anew == 0 if config.reset_below == 0.2 else 0 < anew < len(batches)


def test_unsure_batches_teach_nothing():
    sar = Sar(two_layers(), SarConfig(margin=0.0, learning_rate=1.0), classes=CLASSES)
    before = sar.trained.detach().clone()
    for x in stream(4, 4):
        sar.predict(x)
    assert torch.equal(sar.trained.detach(), before)


def test_samples_lost_on_the_way_up_leave_the_weights_as_they_were():
    sar = Sar(two_layers(), SarConfig(rho=1e3, margin=0.5, learning_rate=1.0), classes=CLASSES)
    (x,) = stream(1)
    sar.highest = (
        doubt(torch.from_numpy(sar.predict(x)).double()).item() + 1e-3
    )  # just sure enough, here only
    before = sar.trained.detach().clone()
    sar.predict(x)
    assert torch.equal(sar.trained.detach(), before)
    assert sar.mean is None


def test_the_last_quarter_is_the_last_stage_of_a_resnet18():
    from leantta_lab.models.resnet import resnet18

    sar = Sar(resnet18(3), SarConfig(), classes=3)
    learning = {name for name, p in sar.network.named_parameters() if p.requires_grad}
    assert len(learning) == 30
    assert not any(name.startswith("layer4") for name in learning)
    assert {"bn1.weight", "layer3.1.bn2.bias"} <= learning


def test_other_norms_learn_too():
    network = nn.Sequential(
        nn.Flatten(), nn.Linear(243, 6), nn.LayerNorm(6), nn.ReLU(), nn.Linear(6, CLASSES)
    )
    sar = Sar(network, SarConfig(margin=1.0, learning_rate=1.0), classes=CLASSES)
    assert sar.trained.numel() == 12
    (x,) = stream(8)
    assert not np.array_equal(sar.predict(x), sar.predict(x))


def test_nothing_to_train_is_refused():
    with pytest.raises(NoBatchNormError, match="has 1 norms, and frozen_share 1 leaves none"):
        learning_parameters(nn.Sequential(nn.LayerNorm(3)), 1.0)
