"""A training reaches the same weights whether or not it was stopped on the way."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from leantta.data.datasets import Dataset
from leantta.errors import CheckpointError, DataError, SettingError
from leantta_lab.datasets.cifar import load_images
from leantta_lab.training import loop
from leantta_lab.training.loop import Training
from leantta_lab.training.recipes import Recipe

RECIPE = Recipe(epochs=3, growth=((16, 1),), batch_size=16, peak_rate=0.05)


def tiny_model() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(8, 10),
    )


@pytest.fixture(scope="module")
def data(sample) -> Dataset:
    found = load_images(sample, split="train")
    return Dataset(found.name, found.split, found.samples[:64], found.labels[:64], found.classes)


def training(data, path, recipe=RECIPE, key="key", teacher=None) -> Training:
    return Training(tiny_model(), data, recipe, checkpoint=path, key=key, bf16=False, teacher=teacher)


def weights_of(model: nn.Module) -> list[np.ndarray]:
    return [value.numpy() for value in model.state_dict().values()]


@pytest.mark.parametrize(
    "changed", [{}, {"average": 0.9, "mixup": 0.3}, {"optimizer": "adamw", "peak_rate": 0.001}], ids=str
)
def test_a_stopped_training_goes_on_to_the_same_bits(changed, data, tmp_path, monkeypatch):
    recipe = replace(RECIPE, **changed)
    whole = training(data, tmp_path / "whole", recipe)
    steps = list(whole.run())
    assert [step.done for step in steps] == list(range(1, 13))

    monkeypatch.setattr(loop, "SAVE_EVERY", 0.0)
    stopped = training(data, tmp_path / "stopped", recipe)
    for step in stopped.run():
        if step.done == 5:
            break
    again = training(data, tmp_path / "stopped", recipe)
    rest = list(again.run())
    assert [step.done for step in rest] == list(range(6, 13))
    assert rest[-1].seconds > rest[0].seconds > 0
    for one, other in zip(weights_of(whole.model), weights_of(again.model), strict=True):
        np.testing.assert_array_equal(one, other)
    assert not list(training(data, tmp_path / "stopped", recipe).run())  # finished: nothing is left to do


def test_training_learns(data, tmp_path):
    steps = list(training(data, tmp_path / "t", replace(RECIPE, epochs=20, growth=(), cutout=0)).run())
    losses = [step.loss for step in steps]
    assert np.mean(losses[-8:]) < np.mean(losses[:8]) - 0.2


def test_a_pupil_comes_nearer_to_its_teacher(data, tmp_path):
    """A teacher whose scores have nothing to do with the labels is followed nevertheless."""
    torch.manual_seed(11)
    last = nn.Linear(12, 10)
    teacher = nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten(), last).eval()
    with torch.no_grad():
        last.weight.mul_(8)
    before = [value.clone() for value in teacher.state_dict().values()]
    recipe = replace(RECIPE, epochs=20, growth=(), cutout=0)

    def agreement(pupil: nn.Module) -> float:
        images = torch.from_numpy(data.samples).permute(0, 3, 1, 2) / 255
        normalized = (images - images.mean((0, 2, 3), keepdim=True)) / images.std((0, 2, 3), keepdim=True)
        with torch.no_grad():
            return (pupil.eval()(normalized).argmax(1) == teacher(normalized).argmax(1)).float().mean().item()

    alone = training(data, tmp_path / "alone", recipe)
    taught = training(data, tmp_path / "taught", replace(recipe, taught=0.95), teacher=teacher)
    for run in (alone, taught):
        list(run.run())
    assert agreement(taught.model) > agreement(alone.model) + 0.2
    for value, earlier in zip(teacher.state_dict().values(), before, strict=True):
        assert torch.equal(value, earlier)


@pytest.mark.parametrize(("taught", "teacher"), [(0.5, None), (0.0, nn.Identity())])
def test_a_teacher_and_its_share_belong_together(taught, teacher, data, tmp_path):
    with pytest.raises(SettingError, match="of the loss that is the teacher's"):
        training(data, tmp_path / "t", replace(RECIPE, taught=taught), teacher=teacher)


def test_the_average_is_what_is_kept(data, tmp_path):
    run = training(data, tmp_path / "t", replace(RECIPE, average=0.9))
    list(run.run())
    assert run.average is not None
    for one, other in zip(weights_of(run.model), weights_of(run.average.module), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "changed",
    [
        {"epochs": 4},
        {"growth": ()},
        {"growth": ((8, 1),)},
        {"growth": ((16, 2),)},
        {"batch_size": 32},
        {"optimizer": "adamw"},
        {"peak_rate": 0.02},
        {"warm_up": 0.5},
        {"weight_decay": 0.1},
        {"cutout": 0},
        {"label_smoothing": 0.1},
        {"mixup": 0.5},
        {"average": 0.9},
        {"seed": 1},
    ],
    ids=str,
)
def test_every_part_of_the_recipe_changes_the_result(changed, data, tmp_path):
    usual, other = training(data, tmp_path / "a"), training(data, tmp_path / "b", replace(RECIPE, **changed))
    for run in (usual, other):
        list(run.run())
    assert any(
        not np.array_equal(one, two)
        for one, two in zip(weights_of(usual.model), weights_of(other.model), strict=True)
    )


def test_a_checkpoint_of_another_training_is_not_taken_up(data, tmp_path):
    list(training(data, tmp_path / "t").run())
    with pytest.raises(CheckpointError, match="other settings"):
        training(data, tmp_path / "t", key="other")


def test_a_damaged_checkpoint_is_named(data, tmp_path):
    (tmp_path / "t").write_bytes(b"not a checkpoint")
    with pytest.raises(CheckpointError, match="no checkpoint of a training"):
        training(data, tmp_path / "t")


def test_too_few_images_are_refused(data, tmp_path):
    with pytest.raises(DataError, match="64 images are less than one batch of 100"):
        training(data, tmp_path / "t", replace(RECIPE, batch_size=100))


def test_a_loss_that_diverges_is_an_error(data, tmp_path):
    run = training(data, tmp_path / "t")
    with torch.no_grad():
        next(run.model.parameters()).fill_(float("nan"))
    with pytest.raises(SettingError, match="diverged"):
        list(run.run())


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"epochs": 0}, "at least one epoch"),
        ({"growth": ((16, 9),)}, "at least one epoch"),
        ({"growth": ((0, 1),)}, "of one pixel or more"),
        ({"batch_size": 1}, "two or more"),
        ({"peak_rate": 0.0}, "positive"),
        ({"label_smoothing": 1.0}, "label smoothing is a share from 0 to below 1"),
        ({"average": 1.0}, "average is a share from 0 to below 1"),
        ({"taught": -0.1}, "taught is a share from 0 to below 1"),
        ({"mixup": -1.0}, "alpha of mixup"),
    ],
)
def test_recipes_that_cannot_be_trained_are_refused(changed, words):
    with pytest.raises(SettingError, match=words):
        replace(RECIPE, **changed)
