"""What every baseline promises, for each row of the table, each preset and several kinds of networks."""

from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from baselines.tiny import TINY, Batch, Tiny
from leantta_lab.baselines.base import Baseline, Config
from leantta_lab.baselines.methods import BASELINES
from reference import assert_close

PRESETS = [(name, preset) for name, row in BASELINES.items() for preset in row.presets]

Settings = dict[str, dict[str, Any]]

# Settings under which a short stream of small batches leads everywhere.
BUSY: Settings = {
    "eata": {"learning_rate": 0.05, "similarity": 0.9, "fisher_weight": 5.0, "fisher_images": 100},
    "cotta": {"learning_rate": 0.05, "augmentations": 3, "teacher_momentum": 0.9, "restore": 0.2},
    "sar": {"learning_rate": 0.05, "reset_below": 0.1},
    "rotta": {"learning_rate": 0.05, "capacity": 8, "every": 6, "teacher_momentum": 0.1},
    "note": {"learning_rate": 0.05, "width": 1.0, "capacity": 8, "every": 6},
    "mecta": {
        "learning_rate": 0.05,
        "similarity": 0.9,
        "fisher_weight": 5.0,
        "fisher_images": 100,
        "pruned": 0.4,
    },
    "ttn": {"source_images": 100, "steps": 3, "batch": 32, "learning_rate": 0.05},
    "mixnorm": {"mixing": 0.3, "speed": 0.1},
    "unmix_tns": {"components": 4, "full_batch": 4, "momentum": 0.5},
}

# Another value for every field of every method; a field without one fails its test.
OTHER: Settings = {
    "alpha_bn": {"alpha": 0.2, "prior": 3.0},
    "tent": {"learning_rate": 0.01, "beta1": 0.5, "beta2": 0.5},
    "eata": {
        "learning_rate": 0.1,
        "momentum": 0.5,
        "margin": 0.2,
        "similarity": 0.3,
        "fisher_weight": 50.0,
        "fisher_images": 50,
    },
    "cotta": {
        "learning_rate": 0.1,
        "optimizer": "adam",
        "momentum": 0.5,
        "train": "all",
        "teacher_momentum": 0.5,
        "confidence": 0.1,
        "augmentations": 4,
        "restore": 0.9,
        "seed": 1,
    },
    "realistic_tta": {"momentum": 0.5, "prior_momentum": 0.9},
    "sar": {
        "learning_rate": 0.1,
        "full_batch": 4,
        "momentum": 0.5,
        "margin": 0.2,
        "rho": 0.5,
        "decay": 0.1,
        "reset_below": 0.3,
        "frozen_share": 0.5,
    },
    "rotta": {
        "learning_rate": 0.1,
        "beta1": 0.5,
        "beta2": 0.5,
        "capacity": 4,
        "every": 3,
        "statistics_momentum": 0.5,
        "teacher_momentum": 0.5,
        "seed": 1,
    },
    "note": {
        "learning_rate": 0.1,
        "beta1": 0.5,
        "beta2": 0.5,
        "width": 2.0,
        "capacity": 4,
        "every": 3,
        "statistics_momentum": 0.5,
        "seed": 1,
    },
    "lame": {"neighbours": 2, "iterations": 1},
    "sita": {"prior": 0.3, "views": 2, "seed": 1},
    "intent": {"steps": 2},
    "mecta": {
        "learning_rate": 0.1,
        "momentum": 0.5,
        "margin": 0.2,
        "similarity": 0.3,
        "fisher_weight": 50.0,
        "fisher_images": 50,
        "pruned": 0.9,
        "skip_below": 0.5,
        "seed": 1,
    },
    "ttn": {
        "source_images": 50,
        "steps": 4,
        "batch": 16,
        "learning_rate": 0.1,
        "prior_weight": 3.0,
        "seed": 1,
    },
    "mixnorm": {"mixing": 0.6, "speed": 0.3, "views": 2, "seed": 1},
    "unmix_tns": {
        "components": 3,
        "momentum": 0.2,
        "full_batch": 8,
        "spread": 0.1,
        "temperature": 0.5,
        "seed": 1,
    },
}
MIXED = TINY["images"].batches(8, 1, 8, 3, 8, 16, 4)
DRAWS_NOTHING = {"source", "bn_batch", "alpha_bn", "tent", "eata", "realistic_tta", "sar", "lame", "intent"}
SAME_IN_ANY_BATCH = {"mixnorm"}
"""They remember, but one input after the other; `test_mixnorm` shows that what came before counts."""

FIELDS = [
    (name, field.name)
    for name, row in BASELINES.items()
    for field in fields(row.presets["paper"](4))
    if field.name != "seed" or name not in DRAWS_NOTHING
]


def put_on(tiny: Tiny, name: str, config: Config) -> Baseline[Config]:
    images = np.concatenate(tiny.batches(64, 64, seed=2))
    return BASELINES[name].make(
        tiny.network(), config, classes=tiny.classes, source=lambda count: images[:count].copy()
    )


def preset_on(tiny: Tiny, name: str, preset: str) -> Baseline[Config]:
    return put_on(tiny, name, BASELINES[name].presets[preset](max(tiny.classes, 2)))


def busy(name: str) -> Config:
    return replace(BASELINES[name].presets["paper"](4), **BUSY.get(name, {}))


def run(method: Baseline[Config], batches: list[Batch]) -> list[Batch]:
    return [method.predict(x) for x in batches]


def assert_same(found: list[Batch], expected: list[Batch]) -> None:
    for i, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert np.array_equal(one, other), f"batch {i} differs by up to {np.abs(one - other).max():.3g}"


def different(found: list[Batch], expected: list[Batch]) -> bool:
    return any(not np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


def state_of(model: torch.nn.Module) -> list[object]:
    """Return everything about a model that a method could have changed."""
    found: list[object] = []
    for path, module in model.named_modules():
        found.append((path, type(module), module.training, sorted(vars(module)), len(module._forward_hooks)))
    for key, value in model.state_dict(keep_vars=True).items():
        found.append((key, value.requires_grad, value.grad is None, value.detach().numpy().tobytes()))
    return found


@pytest.mark.parametrize("kind", TINY)
@pytest.mark.parametrize(("name", "preset"), PRESETS)
def test_predictions_are_sound_and_reset_is_exact(name, preset, kind):
    tiny = TINY[kind]
    batches = tiny.batches(1, 2, 16, 1, 32, 16)
    method = preset_on(tiny, name, preset)
    found = run(method, batches)
    for x, logits in zip(batches, found, strict=True):
        assert logits.shape == (len(x), tiny.classes)
        assert logits.dtype == np.float32
        assert np.isfinite(logits).all()
    kept = [logits.copy() for logits in found]
    method.reset()
    assert_same(run(method, batches), kept)
    assert_same(found, kept)  # what was given out does not change later


@pytest.mark.parametrize("name", BASELINES)
def test_two_of_a_kind_agree_whatever_else_is_drawn(name):
    torch.manual_seed(1)
    found = usual(name)
    torch.manual_seed(2)
    method = put_on(TINY["images"], name, busy(name))
    torch.rand(5)
    assert_same(run(method, MIXED), found)
    method.reset()
    torch.rand(5)
    assert_same(run(method, MIXED), found)


@pytest.mark.parametrize("kind", ["images", "yes-no"])
@pytest.mark.parametrize("name", BASELINES)
def test_the_model_and_the_inputs_are_left_as_they_are(name, kind):
    tiny = TINY[kind]
    model = tiny.network().train()
    next(model.parameters()).requires_grad_(False)
    before = state_of(model)
    batches = tiny.batches(8, 1)
    copies = [x.copy() for x in batches]
    method = BASELINES[name].make(
        model, busy(name), classes=tiny.classes, source=lambda count: tiny.batches(count)[0]
    )
    run(method, batches)
    method.reset()
    run(method, batches)
    assert state_of(model) == before
    assert_same(batches, copies)


@cache
def usual(name: str) -> list[Batch]:
    """Return what a method makes of MIXED with its busy settings."""
    return run(put_on(TINY["images"], name, busy(name)), MIXED)


@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_every_field_changes_the_result(name, field):
    other = replace(busy(name), **{field: OTHER[name][field]})
    assert other != busy(name)
    changed = different(run(put_on(TINY["images"], name, other), MIXED), usual(name))
    assert changed


@pytest.mark.parametrize("name", sorted(DRAWS_NOTHING))
def test_the_seed_changes_nothing_where_nothing_is_drawn(name):
    assert_same(run(put_on(TINY["images"], name, replace(busy(name), seed=1)), MIXED), usual(name))


@pytest.mark.parametrize("kind", TINY)
@pytest.mark.parametrize("name", BASELINES)
def test_stateless_ones_see_each_input_alone_and_the_others_do_not(name, kind):
    tiny = TINY[kind]
    (x,) = tiny.batches(16)
    together = put_on(tiny, name, busy(name)).predict(x)
    method = put_on(tiny, name, busy(name))
    apart = np.concatenate(run(method, [x[:1], x[1:3], x[3:10], *np.split(x[10:], 6)]))
    if method.stateless or name in SAME_IN_ANY_BATCH:
        assert_close(apart, together, atol=1e-4)
    elif kind == "images":
        assert np.abs(apart - together).max() > 1e-3
