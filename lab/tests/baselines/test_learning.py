import torch
from torch import nn

from leantta_lab.baselines.learning import descend, flattened
from reference import assert_close


def networks():
    generator = torch.Generator().manual_seed(0)
    pair = []
    for _ in range(2):
        network = nn.Sequential(nn.Conv1d(2, 3, 2), nn.BatchNorm1d(3), nn.ReLU(), nn.Conv1d(3, 1, 2))
        pair.append(network)
    pair[1].load_state_dict(pair[0].state_dict())
    return *pair, torch.randn(4, 2, 6, generator=generator)


def test_the_vector_holds_what_the_parameters_hold():
    network, other, _ = networks()
    vector = flattened(list(network.parameters()))
    assert_close(vector.detach(), torch.cat([p.detach().flatten() for p in other.parameters()]), atol=0)
    vector.data.mul_(2)
    for one, two in zip(network.parameters(), other.parameters(), strict=True):
        assert_close(one.detach(), 2 * two.detach(), atol=0)


def test_training_the_vector_trains_the_network():
    network, other, x = networks()
    whole = torch.optim.Adam([flattened(list(network.parameters()))], lr=0.01)
    parts = torch.optim.Adam(other.parameters(), lr=0.01)
    for _ in range(4):
        descend(network(x).square().mean(), whole)
        parts.zero_grad()
        other(x).square().mean().backward()
        parts.step()
    for one, two in zip(network.parameters(), other.parameters(), strict=True):
        assert torch.equal(one, two)


def test_a_penalty_on_the_vector_adds_to_the_gradient():
    network, _, x = networks()
    vector = flattened(list(network.parameters()))
    network(x).sum().backward()
    assert vector.grad is not None
    before = vector.grad.clone()
    (network(x).sum() + vector.square().sum()).backward()
    assert_close(vector.grad - 2 * before, 2 * vector.detach(), atol=1e-4)


def test_a_loss_that_is_no_number_is_no_step():
    network, _, x = networks()
    vector = flattened(list(network.parameters()))
    before = vector.detach().clone()
    for factor in (float("nan"), float("inf")):
        descend(network(x).sum() * factor, torch.optim.SGD([vector], lr=1.0))
    assert torch.equal(vector, before)


def test_windows_learn_even_if_they_did_not_before():
    network, _, x = networks()
    network.requires_grad_(False)
    vector = flattened([network[0].weight])
    descend(network(x).square().sum(), torch.optim.SGD([vector], lr=0.1))
    assert vector.grad is not None
    assert vector.grad.abs().max() > 0
    assert network[3].weight.grad is None
