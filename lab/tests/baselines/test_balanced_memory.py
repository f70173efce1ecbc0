import math

import numpy as np
import pytest
import torch

from leantta_lab.baselines.balanced_memory import BalancedReservoir, TimelyMemory


def value(number):
    return torch.tensor([float(number)])


class Timely:
    """RoTTA's memory the slow way: every input ages whenever another is offered."""

    def __init__(self, capacity, classes):
        self.capacity, self.classes, self.items = capacity, classes, []

    def score(self, age, doubt):
        return 1 / (1 + math.exp(-age / self.capacity)) + doubt

    def add(self, number, label, doubt):
        count = {c: sum(item["label"] == c for item in self.items) for c in range(self.classes)}
        may_leave = None
        if count[label] >= self.capacity / self.classes:
            may_leave = [label]
        elif len(self.items) >= self.capacity:
            may_leave = [c for c in count if count[c] == max(count.values())]
        enters = True
        if may_leave is not None:
            scores = [self.score(item["age"], item["doubt"]) for item in self.items]
            worst = max((s, i) for i, s in enumerate(scores) if self.items[i]["label"] in may_leave)
            enters = worst[0] > self.score(0, doubt)
            if enters:
                del self.items[worst[1]]
        if enters:
            self.items.append({"number": number, "label": label, "doubt": doubt, "age": 0})
        for item in self.items:
            item["age"] += 1


@pytest.mark.parametrize(("capacity", "classes"), [(6, 3), (7, 3), (2, 5), (1, 2)])
def test_timely_memory_holds_what_the_slow_one_holds(capacity, classes):
    rng = np.random.default_rng(0)
    memory, slow = TimelyMemory(capacity, classes), Timely(capacity, classes)
    for number in range(60):
        label, doubt = int(rng.integers(classes) * rng.integers(2)), rng.uniform()
        memory.add(value(number), label, doubt)
        slow.add(number, label, doubt)
        x, ages = memory.content()
        found = sorted(zip(x[:, 0].tolist(), (ages * capacity).round().tolist(), strict=True))
        assert found == sorted((item["number"], item["age"]) for item in slow.items)
        assert 1 <= len(x) <= capacity


def test_timely_memory_prefers_the_sure():
    memory = TimelyMemory(2, 1)
    for number, doubt in enumerate([0.1, 0.9, 0.2, 0.95]):
        memory.add(value(number), 0, doubt)
    assert memory.content()[0].flatten().tolist() == [0, 2]


def test_memories_keep_their_own_copy():
    x = value(1)
    timely, reservoir = TimelyMemory(2, 1), BalancedReservoir(2, 1, torch.Generator())
    timely.add(x, 0, 0.5)
    reservoir.add(x, 0)
    x.fill_(7)
    assert timely.content()[0].item() == reservoir.content().item() == 1


def test_reservoir_evens_out_the_classes():
    reservoir = BalancedReservoir(6, 3, torch.Generator().manual_seed(0))
    for number in range(50):
        reservoir.add(value(number), 0)
    assert [len(shelf) for shelf in reservoir.shelves] == [6, 0, 0]
    for number in range(50, 60):
        reservoir.add(value(number), 1 + number % 2)
    assert [len(shelf) for shelf in reservoir.shelves] == [2, 2, 2]


def test_reservoir_keeps_each_of_a_class_with_the_same_chance():
    kept = np.zeros(12)
    generator = torch.Generator().manual_seed(0)
    for _ in range(600):
        reservoir = BalancedReservoir(4, 2, generator)
        for number in range(12):
            reservoir.add(value(number), 1)
        kept[reservoir.content().flatten().int().tolist()] += 1
    # 600 draws of 4 in 12: 200 each, with a deviation of 11.5
    assert kept.min() > 150
    assert kept.max() < 250
