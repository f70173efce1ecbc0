"""What adapting costs on source images, and how large the ceiling may be for it."""

import copy
from typing import ClassVar

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from leantta.decisions import expected_losses, scores_of
from leantta.gates.calibrated import PARTS, CalibratedGate
from leantta.gates.gate import Gate
from leantta.nn import AdaptiveNorm
from leantta.surgery.apply import adapt
from reference import assert_close
from zoo import trained

IMAGES = torch.randn(96, 3, 12, 12, generator=torch.Generator().manual_seed(3))
IMAGES[::3] *= torch.linspace(0.2, 3, 32).view(-1, 1, 1, 1)  # some are unlike the others


def network() -> nn.Sequential:
    """Return a network whose decisions on the images are many and close."""
    torch.manual_seed(5)
    made = nn.Sequential(
        *(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8), nn.ReLU()),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5)),
    )
    trained(made)
    head = made[-1]
    assert isinstance(head, nn.Linear)
    with torch.no_grad():
        scores = made(IMAGES)
        head.bias.sub_(scores.mean(0))
        for values in (head.weight, head.bias):
            values.mul_(2 / scores.std(0).mean())
    return made


def ceilings(model: nn.Module) -> set[float]:
    return {gate.ceiling for gate in gates(model) if isinstance(gate, CalibratedGate)}


def gates(model: nn.Module) -> set[Gate]:
    return {layer.gate for layer in model.modules() if isinstance(layer, AdaptiveNorm)}


def costs(before: Tensor, after: Tensor) -> float:
    """The same, one image after the other, in numpy."""
    total = 0.0
    for one, other in zip(before.double().numpy(), after.double().numpy(), strict=True):
        if len(one) == 1:
            yes = 1 / (1 + np.exp(-one[0]))
            p, first, then = [1 - yes, yes], int(one[0] > 0), int(other[0] > 0)
        else:
            p, first, then = np.exp(one) / np.exp(one).sum(), int(np.argmax(one)), int(np.argmax(other))
        total += p[first] - p[then]
    return total / len(before)


@given(st.integers(1, 7), st.integers(1, 20), st.integers(0, 1000))
def test_the_cost_is_what_the_model_expects_to_lose(classes, count, seed):
    before, after = torch.randn(2, count, classes, generator=torch.Generator().manual_seed(seed)) * 3
    first, then = (scores_of(each, torch.zeros(count, 3)) for each in (before, after))
    assert first is not None
    assert then is not None
    losses = expected_losses(first, then)
    assert_close(float(losses.mean()), costs(before, after), atol=1e-6)
    assert not expected_losses(first, first).any()
    assert ((losses >= 0) & (losses <= 1)).all()


@pytest.mark.parametrize("budget", [0.0, 0.002, 0.01, 0.05, 1.0])
def test_the_ceiling_is_the_largest_that_keeps_the_budget(budget):
    model = network()
    with torch.no_grad():
        before = model(IMAGES)
        spent = []
        for part in PARTS:
            gate = CalibratedGate(ceiling=0.8 * part)
            spent.append(
                costs(before, adapt(model, IMAGES[:2], "all", gate=gate, calibration=IMAGES)(IMAGES))
            )
    assert spent[0] > 0.05  # so that there is something to choose
    wanted = next(0.8 * part for part, each in zip(PARTS, spent, strict=True) if each <= budget)
    gate = CalibratedGate(ceiling=0.8, budget=budget)
    lean = adapt(model, IMAGES[:2], "all", gate=gate, calibration=IMAGES)
    assert list(ceilings(lean)) == pytest.approx([wanted])


def test_batches_make_no_difference_and_the_model_stays():
    model = network().train()
    before = copy.deepcopy(model.state_dict())
    gate = CalibratedGate(ceiling=0.8, budget=0.01)
    made = [
        adapt(model, IMAGES[:2], "all", gate=gate, calibration=images)
        for images in (IMAGES, iter(IMAGES.split(7)))
    ]
    assert len(ceilings(made[0])) == 1
    assert ceilings(made[0]) == ceilings(made[1]) != {0.8}
    assert model.training
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())


class Maps(nn.Module):
    """Gives maps, and decides nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.body = network()[:5]

    def forward(self, x: Tensor) -> Tensor:
        maps: Tensor = self.body(x)
        return maps


def test_a_model_that_decides_nothing_keeps_its_ceiling():
    gate = CalibratedGate(ceiling=0.7, budget=0.0)
    assert ceilings(adapt(Maps(), IMAGES[:2], "all", gate=gate, calibration=IMAGES)) == {0.7}


def test_a_gate_by_name_has_a_budget_and_one_that_is_given_has_none():
    lean = adapt(network(), IMAGES[:2], "all", gate="calibrated", calibration=IMAGES)
    (gate,), usual = gates(lean), CalibratedGate.default()
    assert isinstance(gate, CalibratedGate)
    assert usual.budget is not None
    assert gate.budget == usual.budget
    assert gate.ceiling < usual.ceiling
    told = CalibratedGate(floor=0.1)
    lean = adapt(network(), IMAGES[:2], "all", gate=told, calibration=IMAGES)
    assert gates(lean) == {told}


class Counted(nn.Module):
    """Passes its input on, and counts the images of all its copies."""

    seen: ClassVar[list[int]] = []

    def forward(self, x: Tensor) -> Tensor:
        self.seen.append(len(x))
        return x


def test_a_ceiling_that_costs_too_much_is_left_before_all_images_are_seen():
    model = nn.Sequential(Counted(), network())
    seen = []
    for budget in (0.0, 1.0):
        Counted.seen.clear()
        gate = CalibratedGate(ceiling=0.8, budget=budget)
        lean = adapt(model, IMAGES[:2], "all", gate=gate, calibration=IMAGES.split(4))
        seen.append((ceilings(lean).pop(), sum(Counted.seen) // len(IMAGES)))
    (lowest, passes), (highest, once) = seen
    assert (highest, once) == (0.8, 2)  # one to observe, one for the first ceiling
    assert lowest < 0.8
    assert passes < 1 + len(PARTS)
