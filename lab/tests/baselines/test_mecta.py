import math

import pytest
import torch

from baselines.two_layers import CLASSES, NORMS, affine, doubt, moments, run, source, stream, twin, two_layers
from leantta_lab.baselines.eata import Eata
from leantta_lab.baselines.mecta import Mecta, MectaConfig, MectaNorm
from reference import assert_close


def layer(mecta: Mecta, name: str) -> MectaNorm:
    found = mecta.network.get_submodule(name)
    assert isinstance(found, MectaNorm)
    return found


def batchnorm_with_channels(weights, name, h, mean, var, kept):
    """Return h normalized, written so that autograd finds the gradients that pruning leaves.

    Values are those of the given statistics. Where a channel is kept, batch statistics are functions of h;
    elsewhere only the mean is, and the scale is a constant.
    """
    shape = (1, -1, 1, 1)
    gamma, beta = weights[f"{name}.weight"], weights[f"{name}.bias"]
    batch_mean, batch_var = moments(h)
    inverse = 1 / (var + 1e-5).sqrt()
    fixed_mean, fixed_spread = batch_mean.detach(), (batch_var.detach() + 1e-5).sqrt()
    z = (h - batch_mean.reshape(shape)) / (batch_var + 1e-5).sqrt().reshape(shape)
    full = (z * fixed_spread.reshape(shape) + (fixed_mean - mean).reshape(shape)) * (gamma * inverse).reshape(
        shape
    )
    centred = h - batch_mean.reshape(shape) + (fixed_mean - mean).reshape(shape)
    lean = centred * (gamma.detach() * inverse).reshape(shape)
    return torch.where(kept.reshape(shape), full, lean) + beta.reshape(shape)


def expected(network, batches, config):
    weights = twin(network)
    parameters = affine(weights)
    velocity = [torch.zeros_like(p) for p in parameters]
    generator = torch.Generator().manual_seed(config.seed)
    highest = config.margin * math.log(CLASSES)
    seen, found, gates = None, [], []

    def norm(name, h):
        mean, var = (t.detach() for t in moments(h))
        own_mean, own_var = source(weights, name)
        square = (mean - own_mean) ** 2
        there = 0.5 * torch.log(own_var_ := own_var + 1e-3) - 0.5 * torch.log(var_ := var + 1e-3)
        one = there + (var_ + square) / (2 * own_var_) - 0.5
        other = -there + (own_var_ + square) / (2 * var_) - 0.5
        gate = 1 - math.exp(-(one + other).mean())
        gates.append(gate)
        weights[f"{name}.running_mean"] = (1 - gate) * own_mean + gate * mean
        weights[f"{name}.running_var"] = (1 - gate) * own_var + gate * var
        mean, var = source(weights, name)
        if gate <= config.skip_below:
            scale = (weights[f"{name}.weight"] / (var + 1e-5).sqrt()).detach().reshape(1, -1, 1, 1)
            return (h - mean.reshape(1, -1, 1, 1)) * scale + weights[f"{name}.bias"].detach().reshape(
                1, -1, 1, 1
            )
        kept = torch.ones(h.shape[1], dtype=torch.bool)
        kept[
            torch.randperm(h.shape[1], generator=generator)[h.shape[1] - int(config.pruned * h.shape[1]) :]
        ] = False
        return batchnorm_with_channels(weights, name, h, mean, var, kept)

    for x in map(torch.from_numpy, batches):
        logits = run(weights, x, norm)[0]
        found.append(logits.detach())
        p, h = logits.detach().softmax(1), doubt(logits)
        learns = [i for i in range(len(x)) if h[i] < highest]
        if seen is not None:
            cosine = torch.cosine_similarity(seen[None], p).abs()
            learns = [i for i in learns if cosine[i] < config.similarity]
        if not learns:
            continue
        seen = p[learns].mean(0) if seen is None else 0.9 * seen + 0.1 * p[learns].mean(0)
        loss = (torch.exp(highest - h[learns].detach()) * h[learns]).mean()
        loss = loss + sum(0 * p.sum() for p in parameters)  # all layers may have been skipped
        gradients = torch.autograd.grad(loss, parameters, allow_unused=True, materialize_grads=True)
        with torch.no_grad():
            for i, parameter in enumerate(parameters):
                velocity[i] = config.momentum * velocity[i] + gradients[i]
                parameter -= config.learning_rate * velocity[i]
    return found, weights, gates


@pytest.mark.parametrize(
    "config",
    [
        MectaConfig(pruned=0.0, learning_rate=0.05, margin=0.9, similarity=2.0, fisher_weight=0),
        MectaConfig(pruned=0.5, learning_rate=0.05, margin=0.9, similarity=2.0, fisher_weight=0, seed=3),
        MectaConfig(pruned=1.0, learning_rate=0.05, margin=0.9, similarity=0.97, fisher_weight=0),
        MectaConfig(
            pruned=0.5, learning_rate=0.05, margin=0.9, similarity=2.0, fisher_weight=0, skip_below=0.4
        ),
    ],
)
def test_steps_are_those_of_the_equations(config):
    network, batches = two_layers(), stream(6, 4, 5, 6)
    wanted, weights, gates = expected(network, batches, config)
    mecta = Mecta(network, config, classes=CLASSES)
    for x, logits in zip(batches, wanted, strict=True):
        assert_close(mecta.predict(x), logits, atol=1e-3)
    for name in NORMS:
        norm = layer(mecta, name)
        assert_close(norm.weight.detach(), weights[f"{name}.weight"].detach(), atol=1e-4)
        assert_close(norm.bias.detach(), weights[f"{name}.bias"].detach(), atol=1e-4)
        for found, expected_ in zip(norm.own, source(weights, name), strict=True):
            assert_close(found, expected_, atol=1e-4)
    if config.skip_below > 0.1:
        assert min(gates) <= config.skip_below < max(gates)


def test_pruned_channels_take_no_memory():
    def bytes_kept(pruned):
        sizes = []

        def pack(t):
            sizes.append(t.numel() * t.element_size())
            return t

        mecta = Mecta(two_layers(), MectaConfig(fisher_weight=0, pruned=pruned), classes=CLASSES)
        h = torch.rand(8, 5, 7, 7, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            layer(mecta, "norm1")(h)
        return sum(sizes)

    whole = 8 * 5 * 7 * 7 * 4
    assert bytes_kept(0.0) > whole
    assert bytes_kept(0.7) < 0.5 * whole
    assert bytes_kept(1.0) < 0.1 * whole


def test_layers_near_their_statistics_neither_learn_nor_keep():
    mecta = Mecta(two_layers(), MectaConfig(fisher_weight=0, skip_below=1.0, margin=1.0), classes=CLASSES)
    before = mecta.trained.detach().clone()
    for x in stream(8, 8):
        mecta.predict(x)
    assert mecta.mean is not None  # samples were chosen, and their loss could be descended
    assert torch.equal(mecta.trained.detach(), before)


def test_the_penalty_is_eatas():
    def images(n):
        return stream(16)[0][:n]

    config = MectaConfig(fisher_images=16)
    network = two_layers()
    mecta, eata = (make(network, config, classes=CLASSES, source=images) for make in (Mecta, Eata))
    assert mecta._fisher is not None
    assert eata._fisher is not None
    assert torch.equal(mecta._fisher, eata._fisher)


def test_overflow_does_not_spoil_the_statistics():
    mecta = Mecta(two_layers(), MectaConfig(fisher_weight=0), classes=CLASSES)
    (x,) = stream(2)
    before = layer(mecta, "norm1").own
    mecta.predict(x * 0 + 3e38)
    after = layer(mecta, "norm1").own
    assert torch.equal(before.mean, after.mean)
    assert torch.isfinite(torch.from_numpy(mecta.predict(x))).all()
