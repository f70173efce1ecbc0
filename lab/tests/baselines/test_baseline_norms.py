import pytest
import torch
from torch import nn

from baselines.two_layers import two_layers
from leantta.errors import NoBatchNormError
from leantta.functional import Stats
from leantta_lab.baselines.norms import (
    BatchNorm,
    SourceNorm,
    affine_parameters,
    batch_stats,
    replace_norms,
    sample_stats,
)
from reference import assert_close

SHAPES = [
    (1, 4, 9, 9),
    (5, 4, 9, 9),
    (1, 4, 3, 3),
    (5, 4, 3, 3),
    (5, 4, 7),
    (5, 4, 80),
    (5, 4),
    (3, 4, 5, 5, 5),
    (1, 4),
]


def drawn(shape, *, far=3.0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(0)) * 2 + far


def a_norm(make=SourceNorm, norm=nn.BatchNorm2d):
    old = norm(4).eval()
    generator = torch.Generator().manual_seed(1)
    old.running_mean.normal_(3, 1, generator=generator)
    old.running_var.uniform_(1, 5, generator=generator)
    nn.init.uniform_(old.weight, 0.5, 2, generator=generator)
    nn.init.normal_(old.bias, generator=generator)
    return make(old), old


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("learns", [False, True])
def test_statistics_are_numpys(shape, learns):
    x = drawn(shape).requires_grad_(learns)
    rows = x.detach().double().numpy().reshape(*shape[:2], -1)
    found = sample_stats(x)
    assert_close(found.mean.detach(), rows.mean(2), atol=1e-5)
    assert_close(found.var.detach(), rows.var(2), atol=1e-4)
    found = batch_stats(x)
    assert_close(found.mean.detach(), rows.mean((0, 2)), atol=1e-5)
    assert_close(found.var.detach(), rows.var((0, 2)), atol=1e-4)
    assert found.mean.requires_grad == learns


@pytest.mark.parametrize("shape", [(2, 4, 3, 3), (2, 4, 9, 9)], ids=str)
def test_statistics_of_channels_far_from_zero_and_of_constant_ones(shape):
    x = drawn(shape, far=3000.0)
    x[:, 1] = 7.0
    rows = x.double().numpy()
    assert_close(batch_stats(x).var, rows.var((0, 2, 3)), atol=1e-2)
    assert batch_stats(x).var[1] == 0


def test_statistics_have_gradients():
    x = drawn((3, 4, 9, 9)).requires_grad_()
    (found,) = torch.autograd.grad(batch_stats(x).var.sum(), x)
    wanted = 2 * (x - x.mean((0, 2, 3), keepdim=True)) / (x.numel() / 4)
    assert_close(found, wanted.detach(), atol=1e-6)


def test_a_norm_in_place_of_another_does_what_that_did():
    norm, old = a_norm()
    x = drawn((3, 4, 5, 5))
    assert_close(norm(x).detach(), old(x).detach(), atol=1e-6)
    assert norm.weight is not old.weight
    assert not norm.weight.requires_grad


def test_a_norm_without_scale_and_offset_gets_neutral_ones():
    old = nn.BatchNorm2d(4, affine=False).eval()
    x = drawn((3, 4, 5, 5))
    assert_close(SourceNorm(old)(x), old(x), atol=1e-6)


def test_samples_can_have_statistics_of_their_own():
    norm, _ = a_norm()
    x = drawn((3, 4, 5, 5))
    stats = Stats(torch.rand(3, 4), torch.rand(3, 4) + 0.5)
    rows = [norm.normalized(x[i : i + 1], Stats(stats.mean[i], stats.var[i])) for i in range(3)]
    assert_close(norm.normalized(x, stats), torch.cat(rows), atol=1e-5)


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != (1, 4)], ids=str)
def test_batch_statistics_and_their_gradients(shape):
    norm, _ = a_norm(BatchNorm)
    parameters = affine_parameters([norm])
    x = drawn(shape).requires_grad_()
    wide = x.double()
    over, each = (0, *range(2, x.dim())), (1, 4, *(1,) * (x.dim() - 2))
    var, mean = torch.var_mean(wide, over, correction=0, keepdim=True)
    gamma, beta = (parameter.double().view(each) for parameter in parameters)
    wanted = gamma * (wide - mean) / (var + norm.eps).sqrt() + beta
    assert_close(norm(x).detach(), wanted.detach(), atol=1e-4)
    slope = drawn(shape, far=0.0)
    found = torch.autograd.grad(norm(x), [x, *parameters], slope)
    expected = torch.autograd.grad(wanted, [x, *parameters], slope.double())
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, atol=1e-3)


@pytest.mark.parametrize("shape", [(1, 4), (1, 4, 1), (1, 4, 1, 1)], ids=str)
def test_one_value_in_its_channel_becomes_the_offset(shape):
    norm, _ = a_norm(BatchNorm)
    assert_close(norm(drawn(shape)).flatten(), norm.bias, atol=0)


def test_norms_are_exchanged_where_they_are():
    network = two_layers()
    norms = replace_norms(network, BatchNorm)
    assert norms == [network.norm1, network.norm2]


def test_a_norm_in_two_places_stays_one():
    shared = nn.BatchNorm2d(4)
    inner = nn.Sequential(shared)
    network = nn.Sequential(shared, nn.ReLU(), shared, inner)
    norms = replace_norms(network, BatchNorm)
    assert norms == [network[0]]
    assert network[2] is network[0]
    assert inner[0] is network[0]


def test_what_may_do_more_than_normalize_is_left():
    class Other(nn.BatchNorm2d):
        pass

    network = nn.Sequential(Other(4), nn.BatchNorm2d(4, track_running_stats=False), nn.BatchNorm3d(4))
    others = list(network)[:2]
    assert replace_norms(network, BatchNorm) == [network[2]]
    assert list(network)[:2] == others


def test_a_network_without_norms_is_refused():
    with pytest.raises(NoBatchNormError, match="no BatchNorm with running statistics"):
        replace_norms(nn.Sequential(nn.Linear(2, 2)), BatchNorm)
