import math

import numpy as np
import pytest
import torch

from baselines.two_layers import CLASSES, affine, doubt, on_batch, stream, twin, two_layers
from leantta.errors import SettingError
from leantta_lab.baselines.eata import Eata, EataConfig
from reference import assert_close

BATCHES = stream(8, 3, 1, 8, 1, 8)
SOURCE = stream(64, 64, 22)


def balanced():
    """Return a network whose predictions are about even over the classes, and often sure."""
    network = two_layers(sureness=25)
    network.head.bias.data -= (
        on_batch(twin(network), torch.from_numpy(np.concatenate(SOURCE))).mean(0).float()
    )
    return network


def source_images(count):
    return np.concatenate(SOURCE)[:count]


def information(network):
    """Return the Fisher information of SOURCE, batch by batch, in float64."""
    weights = twin(network)
    parameters = affine(weights)
    total = [torch.zeros_like(p) for p in parameters]
    for x in SOURCE:
        logits = on_batch(weights, torch.from_numpy(x))
        chosen = logits.log_softmax(1)[torch.arange(len(x)), logits.argmax(1)]
        gradients = torch.autograd.grad(-chosen.mean(), parameters)
        total = [t + g * g / len(SOURCE) for t, g in zip(total, gradients, strict=True)]
    return total


def expected(network, config, fisher):
    """Return the logits of BATCHES, how many of each were kept, and what was learnt."""
    weights = twin(network)
    parameters = affine(weights)
    start = [p.detach().clone() for p in parameters]
    velocity = [torch.zeros_like(p) for p in parameters]
    highest, mean, found, counts = config.margin * math.log(CLASSES), None, [], []
    for x in BATCHES:
        logits = on_batch(weights, torch.from_numpy(x))
        found.append(logits.detach())
        entropies = doubt(logits)
        predictions = logits.detach().numpy()
        predictions = np.exp(predictions) / np.exp(predictions).sum(1, keepdims=True)
        kept = [i for i in range(len(x)) if entropies[i] < highest]
        if mean is not None:
            cosines = predictions @ mean / np.linalg.norm(predictions, axis=1) / np.linalg.norm(mean)
            kept = [i for i in kept if abs(cosines[i]) < config.similarity]
        counts.append(len(kept))
        if not kept:
            continue
        new = predictions[kept].mean(0)
        mean = new if mean is None else 0.9 * mean + 0.1 * new
        parts = [math.exp(highest - entropies[i].item()) * entropies[i] for i in kept]
        loss = torch.stack(parts).sum() / len(kept)
        for p, f, p0 in zip(parameters, fisher, start, strict=True):
            loss = loss + config.fisher_weight * (f * (p - p0) ** 2).sum()
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for p, v, g in zip(parameters, velocity, gradients, strict=True):
                v.mul_(config.momentum).add_(g)
                p.sub_(config.learning_rate * v)
    return found, counts, weights


@pytest.mark.parametrize(
    "config",
    [
        EataConfig(similarity=0.9, learning_rate=0.02, fisher_weight=3.0),
        EataConfig(similarity=0.9, learning_rate=0.02, fisher_weight=0.0),
        EataConfig(similarity=0.7, margin=0.6, learning_rate=0.01, momentum=0.5, fisher_weight=50.0),
        EataConfig(similarity=0.05),
    ],
    ids=str,
)
def test_sure_and_novel_samples_teach_and_the_source_holds(config):
    network = balanced()
    eata = Eata(network, config, classes=CLASSES, source=source_images)
    wanted, _, weights = expected(network, config, information(network))
    for x, logits in zip(BATCHES, wanted, strict=True):
        assert_close(eata.predict(x), logits, atol=1e-3)
    for name, value in eata.network.named_parameters():
        assert_close(value.detach(), weights[name].detach(), atol=1e-4)


def test_the_batches_try_everything():
    config = EataConfig(similarity=0.9, learning_rate=0.02, fisher_weight=3.0)
    _, counts, weights = expected(balanced(), config, information(balanced()))
    assert 0 < counts[0] < len(BATCHES[0])
    assert 0 in counts
    assert sum(map(bool, counts)) > 2
    assert (weights["norm1.weight"] - twin(balanced())["norm1.weight"]).abs().max() > 1e-3


@pytest.mark.parametrize(
    ("channels_last", "atol"),
    [
        (False, 1e-5),
        (True, 1e-3),  # a value whose last bits decide whether it passes a ReLU is worth 2e-4
    ],
)
def test_the_fisher_information_is_the_mean_square_of_batch_gradients(channels_last, atol, monkeypatch):
    monkeypatch.setattr(Eata, "_channels_last", channels_last)
    network = balanced()
    eata = Eata(network, EataConfig(), classes=CLASSES, source=source_images)
    assert eata._fisher is not None
    wanted = torch.cat(information(network))
    assert_close(eata._fisher / wanted.max(), wanted / wanted.max(), atol=atol)


def test_the_fisher_information_is_found_once():
    calls = []

    def counted(count):
        calls.append(count)
        return source_images(count)

    config = EataConfig(fisher_images=70)
    eata = Eata(balanced(), config, classes=CLASSES, source=counted)
    eata.predict(BATCHES[0])
    eata.reset()
    assert calls == [70]
    again = Eata(balanced(), config, classes=CLASSES, source=source_images)
    assert eata._fisher is not None
    assert again._fisher is not None
    assert torch.equal(eata._fisher, again._fisher)


def test_a_batch_of_which_nothing_is_kept_has_no_backward_pass(monkeypatch):
    eata = Eata(balanced(), EataConfig(margin=0.0, fisher_weight=0.0), classes=CLASSES)
    monkeypatch.delattr(torch.Tensor, "backward")
    for x in BATCHES:
        assert np.isfinite(eata.predict(x)).all()


@pytest.mark.parametrize("source", [None, lambda _: source_images(0)], ids=["no source", "no images"])
def test_a_penalty_without_source_images_is_refused(source):
    with pytest.raises(SettingError, match="fisher_weight=2000 needs source images"):
        Eata(balanced(), EataConfig(), classes=CLASSES, source=source)


@pytest.mark.parametrize(
    "field", ["learning_rate", "momentum", "margin", "similarity", "fisher_weight", "fisher_images"]
)
def test_settings_below_zero_are_refused(field):
    with pytest.raises(SettingError, match=field):
        EataConfig(**{field: -1})
