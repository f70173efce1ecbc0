import numpy as np
import pytest
import torch
from torch import nn

from baselines.two_layers import (
    CLASSES,
    NORMS,
    Adam,
    affine,
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
from leantta_lab.baselines.augment_images import recoloured
from leantta_lab.baselines.ttn import InterpolatedNorm, Ttn, TtnConfig, prior_of
from reference import assert_close

(SOURCE,) = stream(24)
SIZES = [5, 6]
SHORT = TtnConfig(steps=4, batch=10, learning_rate=0.02, prior_weight=0.3)


def source_images(count):
    return SOURCE[:count]


def made(config=SHORT, network=None):
    return Ttn(network or two_layers(), config, classes=CLASSES, source=source_images)


def with_alpha(values):
    """Return the method on the small network, told its weights."""
    method = made(TtnConfig(steps=0))
    for name, alpha in zip(NORMS, values, strict=True):
        method.network.get_submodule(name).alpha = alpha
    return method


def between(weights, x, alphas):
    """Return logits with statistics between the source's and the batch's, in float64."""

    def norm(name, h):
        alpha = alphas[NORMS.index(name)].double()
        (mean_s, var_s), (mean_b, var_b) = source(weights, name), moments(h)
        mean = alpha * mean_b + (1 - alpha) * mean_s
        var = alpha * var_b + (1 - alpha) * var_s + alpha * (1 - alpha) * (mean_b - mean_s) ** 2
        return scaled(weights, name, h, mean, var)

    return run(weights, x, norm)[0]


def decisions(network):
    return plain(twin(network), torch.from_numpy(SOURCE))[0].argmax(1)


def expected_prior(network, views):
    """Return the prior of both layers, from the gradients of one image after the other in float64."""
    weights = twin(network)
    parameters = affine(weights)
    labels = decisions(network)

    def gradient(x, label):
        loss = -plain(weights, x[None])[0].log_softmax(1)[0, label]
        scale1, offset1, scale2, offset2 = torch.autograd.grad(loss, parameters)
        return torch.stack((torch.cat((scale1, scale2)), torch.cat((offset1, offset2)))).numpy()

    cosines = []
    for x, view, label in zip(torch.from_numpy(SOURCE), views, labels, strict=True):
        one, other = gradient(x, label), gradient(view, label)
        lengths = np.sqrt((one**2).sum(0) * (other**2).sum(0))
        products = (one * other).sum(0)
        cosines.append([p / d if d else None for p, d in zip(products, lengths, strict=True)])
    known = [[cosine for cosine in column if cosine is not None] for column in zip(*cosines, strict=True)]
    distances = [1 - sum(column) / len(column) if column else None for column in known]
    low, high = (pick(d for d in distances if d is not None) for pick in (min, max))
    return np.array([0 if d is None else ((d - low) / (high - low)) ** 2 for d in distances])


@pytest.mark.parametrize("shape", [(4, 3, 5, 5), (1, 3, 5, 5), (6, 3, 9), (6, 3), (1, 3)], ids=str)
def test_a_layer_normalizes_between_source_and_batch(shape):
    rng = np.random.default_rng(0)
    norm = (nn.BatchNorm2d if len(shape) == 4 else nn.BatchNorm1d)(3)
    values = {
        name: rng.uniform(0.2, 2, 3).astype(np.float32) for name in norm.state_dict() if "num" not in name
    }
    norm.load_state_dict({name: torch.from_numpy(value) for name, value in values.items()}, strict=False)
    x = rng.normal(1, 3, shape).astype(np.float32)
    alpha = np.array([0.0, 0.3, 1.0], np.float32)
    layer = InterpolatedNorm(norm)
    layer.alpha = torch.from_numpy(alpha)
    over, ones = (0, *range(2, x.ndim)), (1, 3, *(1,) * (x.ndim - 2))
    mean_b, var_b = x.mean(over, np.float64), x.var(over, np.float64)
    mean_s, var_s = values["running_mean"], values["running_var"]
    mean = (alpha * mean_b + (1 - alpha) * mean_s).reshape(ones)
    var = (alpha * var_b + (1 - alpha) * var_s + alpha * (1 - alpha) * (mean_b - mean_s) ** 2).reshape(ones)
    wanted = (x - mean) / np.sqrt(var + norm.eps)
    wanted = wanted * values["weight"].reshape(ones) + values["bias"].reshape(ones)
    with torch.no_grad():
        assert_close(layer(torch.from_numpy(x)), wanted, atol=1e-4)
    layer.alpha.requires_grad_()  # which takes another way
    assert_close(layer(torch.from_numpy(x)).detach(), wanted, atol=1e-4)


def test_the_layers_of_a_network_use_their_weights():
    alphas = [torch.linspace(0, 1, size) for size in SIZES]
    method = with_alpha(alphas)
    for x in stream(4, 1, 8):
        wanted = between(twin(two_layers()), torch.from_numpy(x), alphas)
        assert_close(method.predict(x), wanted, atol=1e-4)


def test_without_the_batch_it_is_the_source_and_without_the_source_the_batch():
    network = two_layers()
    nothing, everything = ([torch.full((size,), value) for size in SIZES] for value in (0.0, 1.0))
    for x in stream(4, 1):
        with torch.no_grad():
            wanted = network.eval()(torch.from_numpy(x))
        assert_close(with_alpha(nothing).predict(x), wanted, atol=1e-5)
        assert_close(
            with_alpha(everything).predict(x), on_batch(twin(network), torch.from_numpy(x)), atol=1e-4
        )


def test_the_prior_is_how_far_gradients_turn():
    network = two_layers()
    views = recoloured(torch.from_numpy(SOURCE), torch.Generator().manual_seed(3))
    found = prior_of(
        two_layers(), torch.from_numpy(SOURCE), decisions(network), torch.Generator().manual_seed(3)
    )
    assert [len(each) for each in found] == SIZES
    assert (torch.cat(found).min(), torch.cat(found).max()) == (0, 1)
    assert_close(torch.cat(found), expected_prior(network, views), atol=1e-4)


def test_a_channel_that_no_image_reaches_stays_at_the_source():
    network = two_layers()
    network.norm1.bias.data[2] = -100.0
    method = made(TtnConfig(steps=0), network)
    assert method._alpha is not None
    assert method._alpha[0][2] == 0
    assert torch.cat(method._alpha).isfinite().all()
    assert torch.cat(method._alpha).max() == 1


def test_weights_descend_the_loss_from_the_prior():
    network = two_layers()
    method, weights, labels = made(), twin(network), decisions(network)
    generator = torch.Generator().manual_seed(0)
    start = torch.from_numpy(expected_prior(network, recoloured(torch.from_numpy(SOURCE), generator)))
    alpha = start.clone().requires_grad_()
    adam = Adam([alpha], SHORT.learning_rate)
    for _ in range(SHORT.steps):
        drawn = torch.randperm(len(SOURCE), generator=generator)[: SHORT.batch]
        x = recoloured(torch.from_numpy(SOURCE)[drawn], generator)
        logits = between(weights, x, alpha.split(SIZES))
        chosen = logits.log_softmax(1)[torch.arange(len(x)), labels[drawn]]
        adam.step(-chosen.mean() + SHORT.prior_weight * ((alpha - start) ** 2).sum())
        alpha.data.clamp_(0, 1)
    assert method._alpha is not None
    assert_close(torch.cat(method._alpha), alpha.detach(), atol=1e-3)
    assert (alpha - start).abs().max() > 0.02


def test_weights_stay_between_0_and_1():
    ends = []
    for rate in (0.0, 0.5):
        method = made(TtnConfig(steps=6, learning_rate=rate, prior_weight=0.0))
        assert method._alpha is not None
        alpha = torch.cat(method._alpha)
        assert alpha.min() >= 0
        assert alpha.max() <= 1
        ends.append(((alpha == 0) | (alpha == 1)).sum())
    assert ends[1] > ends[0]  # the steps would have led beyond


def test_weights_are_found_once_and_always_the_same():
    calls = []

    def counted(count):
        calls.append(count)
        return source_images(count)

    config = TtnConfig(source_images=20, steps=3)
    method = Ttn(two_layers(), config, classes=CLASSES, source=counted)
    for x in stream(4, 1):
        method.predict(x)
        method.reset()
    assert calls == [20]
    again = made(config)
    for one, other in zip(method._alpha or (), again._alpha or (), strict=True):
        assert torch.equal(one, other)
    assert again._alpha is not None


def test_nothing_is_remembered():
    first, second = stream(4, 2)
    method = made()
    alone = method.predict(second)
    method.predict(first)
    assert np.array_equal(method.predict(second), alone)


@pytest.mark.parametrize("source", [None, lambda _: source_images(0)], ids=["no source", "no images"])
def test_it_is_refused_without_source_images(source):
    with pytest.raises(SettingError, match="source images"):
        Ttn(two_layers(), TtnConfig(), classes=CLASSES, source=source)


@pytest.mark.parametrize("field", ["source_images", "steps", "batch", "learning_rate", "prior_weight"])
def test_settings_below_zero_are_refused(field):
    with pytest.raises(SettingError, match=field):
        TtnConfig(**{field: -1})
