"""How shift filters are fitted to a trained network: what they gain, what they cost, what is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import leantta
from gates.fitting import fitted, report_of, same
from gates.striped import CLASSES, Striped, decisions, given, hazy, learn_, pixels
from leantta.disturbances.copies import Disturbances
from leantta.disturbances.library.camera import CAMERA
from leantta.filtering import judging, search
from leantta.filtering.images import Images
from leantta.filtering.judging import Judged
from leantta.filtering.layer import Candidate
from leantta.filtering.probe import scores
from leantta.filtering.report import FilterReport, Interval
from leantta.filtering.search import CHOOSING, FITTING, PARTS, Search
from leantta.filtering.subject import Filters, Subject
from leantta.gates import filter as gates_filter
from leantta.gates.filter import FilterGate
from leantta.gates.paper import PaperGate
from leantta.nn import AdaptiveNorm
from leantta.pixels import floats
from leantta.surgery.adaptation import Adaptation
from leantta.surgery.apply import fit
from leantta.surgery.plan import Action, Plan
from reference import assert_close


def agreement(model: nn.Module, inputs: Tensor, wanted: Tensor) -> float:
    return float((decisions(model, inputs) == wanted).float().mean())


def test_the_default_is_the_filter_with_images_and_the_papers_gate_without(model: Striped) -> None:
    images = given(pixels())
    for calibration, gate in ((images, FilterGate.default()), (None, PaperGate.default())):
        lean = leantta.adapt(model, images[:2], "all", calibration=calibration)
        assert {layer.gate for layer in lean.modules() if isinstance(layer, AdaptiveNorm)} == {gate}


def test_decisions_come_nearer_to_clean_ones_under_a_shift_that_was_never_shown(
    model: Striped, camera: Disturbances
) -> None:
    others = {name: each for name, each in CAMERA.items() if each.kind not in ("light", "colour")}
    dark = replace(camera, library=replace(CAMERA, disturbances=others))
    lean = leantta.apply(model, fitted(model, given(pixels(240)), dark))
    assert any(isinstance(module, AdaptiveNorm) for module in lean.modules())
    images = pixels(200, seed=9)
    wanted = decisions(model, given(images))
    assert agreement(lean, given(images), wanted) > 0.98
    before, after = (agreement(each, given(hazy(images)), wanted) for each in (model, lean))
    assert after > before + 0.05


class OfPixels(nn.Module):
    """Gives each pixel the scores of its image, beside something that decides nothing."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        found: Tensor = self.inner(x)
        return {"rows": found[:, :, None], "map": found[:, :, None, None].expand(-1, -1, *x.shape[2:])}


def test_a_model_of_pixels_is_judged_as_one_of_images(model: Striped, camera: Disturbances) -> None:
    images = given(pixels(60))
    by_pixel, by_image = fitted(OfPixels(model), images, camera), fitted(model, images, camera)
    wanted, found = report_of(by_image), report_of(by_pixel)
    assert [row.adapts for row in found.layers] == [row.adapts for row in wanted.layers]
    assert any(row.adapts in PARTS for row in found.layers)
    for one, other in ((found.known, wanted.known), (found.cost, wanted.cost)):
        assert_close(torch.tensor(one), torch.tensor(other), atol=1e-5)


def test_layers_that_help_adapt_and_the_others_are_fused(model: Striped, camera: Disturbances) -> None:
    plan = fitted(model, given(pixels(240)), camera)
    kept = plan.named(Action.ADAPT)
    assert 0 < len(kept) < 3
    assert set(kept) == set(plan.constants)
    for row in plan.rows:
        if row.name not in kept:
            assert (row.action, row.reason) == (Action.FUSE, "adapting it does not help")
    lean = leantta.apply(model, plan)
    assert [n for n, module in lean.named_modules() if isinstance(module, AdaptiveNorm)] == kept
    assert not any(isinstance(module, nn.BatchNorm2d) for module in lean.modules())
    for constants in plan.constants.values():
        assert {name: tuple(value.shape) for name, value in constants.items()} == {
            "into": (32, 16),
            "back": (16, 32),
            "share": (16,),
        }


def test_the_report_names_each_layer_that_was_tried(plan: Plan) -> None:
    report, lines = report_of(plan), str(plan.report).splitlines()
    assert [row.name for row in report.layers] == ["bn1", "bn2", "bn3"]
    assert [row.channels for row in report.layers] == [16] * 3
    for row, line in zip(report.layers, lines[1:], strict=False):
        assert line.split()[:2] == [row.name, "16"]
        assert line.endswith(row.adapts)
        assert row.adapts.startswith("no: ") == (row.name not in plan.constants)
        assert all(share <= 1 for share in row.explained)
    assert (report.images, report.untried) == ((72, 30, 18), 0)
    assert report.known is not None
    assert report.unknown is not None
    assert report.cost is not None
    assert str(report.known) in str(report)
    assert str(report.unknown) in str(report)
    assert any("72 images to fit on are few" in note for note in report.notes)
    told = report.numbers()
    assert told["expected_gain_known"] == list(report.known)
    assert told["expected_gain_unknown"] == list(report.unknown)
    assert told["expected_cost"] == list(report.cost)
    assert told["notes"] == list(report.notes)


def test_two_fits_are_equal_and_leave_model_and_images_alone(
    model: Striped, plan: Plan, camera: Disturbances
) -> None:
    before = {name: value.clone() for name, value in model.state_dict().items()}
    images = given(pixels())
    torch.manual_seed(5)  # nothing is drawn from torch's own generator
    state = torch.random.get_rng_state()
    again = fitted(model, images, camera)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert again == plan
    assert again.report == plan.report
    assert same(again.constants, plan.constants)
    assert torch.equal(images, given(pixels()))
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_batches_are_as_good_as_one_tensor(model: Striped, plan: Plan, camera: Disturbances) -> None:
    asked = leantta.plan(model, given(pixels(2)), Adaptation(layers="all", gate=FilterGate()))
    again = fit(model, asked, iter(given(pixels()).split(50)), disturbances=camera)
    assert same(again.constants, plan.constants)


def test_settings_of_the_gate_reach_the_fit(model: Striped, camera: Disturbances) -> None:
    images = given(pixels(240))
    plan = fitted(model, images, camera)
    few = fitted(model, images, camera, gate=FilterGate(rank=3))
    assert {tuple(each["into"].shape) for each in few.constants.values()} == {(32, 3)}
    other = fitted(model, images, camera, gate=FilterGate(seed=1))
    assert not same(other.constants, plan.constants)
    # A distance that no source image has: nothing is corrected, so nothing helps.
    alone = fitted(model, images, camera, gate=FilterGate(shrink=10))
    assert report_of(alone).layers[0].gain.mean < report_of(plan).layers[0].gain.mean


def test_with_a_limit_the_first_layers_that_help_adapt(model: Striped, camera: Disturbances) -> None:
    images = given(pixels(240))
    free = fitted(model, images, camera)
    first, *others = free.named(Action.ADAPT)
    assert others
    bound = fitted(model, images, camera, gate=FilterGate(most_layers=1))
    assert bound.named(Action.ADAPT) == [first]
    assert same(bound.constants, {first: free.constants[first]})
    assert report_of(bound).untried == len(free.rows) - [row.name for row in free.rows].index(first) - 1
    assert bound.adaptation.gate.described(FilterGate()).endswith(", in 1 layers at most")


def test_a_layer_that_costs_too_much_stays_as_it_is(camera: Disturbances) -> None:
    """A network that is unsure of its decisions loses some of them by adapting."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        unsure = Striped(8)
        learn_(unsure, given(pixels(480, seed=7)), torch.arange(480) % CLASSES, steps=8)
    free, bound = (
        fitted(unsure, given(pixels(240)), camera, gate=FilterGate(budget=budget, shrink=0))
        for budget in (1, 0)
    )
    refused = "no: costs too much on clean images"
    assert refused in {row.adapts for row in report_of(bound).layers}
    assert refused not in {row.adapts for row in report_of(free).layers}


def test_after_layers_that_do_not_help_the_search_goes_on_with_the_last_ones(
    model: Striped, camera: Disturbances, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "WORTH_IT", 1)  # nothing is
    monkeypatch.setattr(judging, "SURER", 1000)
    monkeypatch.setattr(search, "PATIENCE", 1)
    monkeypatch.setattr(gates_filter, "LAST", 1)
    short = fitted(model, given(pixels()), camera)
    assert [row.name for row in report_of(short).layers] == ["bn1", "bn3"]
    assert {row.adapts for row in report_of(short).layers} == {"no: does not help"}
    assert report_of(short).untried == 1
    assert "1 other layers were not tried" in str(short.report)
    assert "so nothing adapts" in str(short.report)
    assert short.named(Action.FUSE) == ["bn1", "bn2", "bn3"]


def test_every_copy_is_judged(model: Striped, camera: Disturbances, monkeypatch: pytest.MonkeyPatch) -> None:
    """With few images, some kinds may happen to those only that layers are chosen by."""
    caught: list[Subject] = []

    def catch(subject: Subject, **_: Any) -> Filters:
        caught.append(subject)
        return Filters({}, FilterReport())

    monkeypatch.setattr(search, "fit_filters", catch)
    fitted(model, given(pixels(24)), camera)
    for seed in range(4):
        one = Search(caught[0], rank=4, budget=1, seed=seed)
        group = one.groups[CHOOSING]
        judged = one.judged(group, {})
        wanted = decisions(model, floats(group.inputs)).repeat(len(group.copies) // len(group.inputs))
        found = scores(model, group.copies)
        assert found is not None
        trust = found.softmax(1).gather(1, wanted[:, None])
        assert_close(judged.trust.T.reshape(-1, 1), trust, atol=1e-5)
        assert torch.equal(judged.hit.T.flatten(), (found.argmax(1) == wanted).float())
        assert not one.cost({}, [FITTING, CHOOSING]).any()


def test_filters_that_may_help_by_chance_only_are_given_up(
    model: Striped, camera: Disturbances, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert plan.constants  # they help for sure
    monkeypatch.setattr(search, "SURE", 100)
    doubted = fitted(model, given(pixels()), camera)
    assert not doubted.constants
    assert not doubted.named(Action.ADAPT)
    sure, unsure = report_of(plan), report_of(doubted)
    assert {row.adapts for row in sure.layers} & set(PARTS)
    assert not {row.adapts for row in unsure.layers} & set(PARTS)
    assert [row.gain for row in unsure.layers] == [row.gain for row in sure.layers]
    assert unsure.known == Interval(0, 0)
    assert any("nothing adapts" in note for note in unsure.notes)
    images = given(pixels(8, seed=3))
    assert torch.equal(decisions(leantta.apply(model, doubted), images), decisions(model, images))


def test_filters_that_know_only_what_they_were_shown_are_given_up(
    model: Striped, camera: Disturbances, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = Search.judged

    def worse(self: Search, group: Images, filters: Mapping[str, Candidate]) -> Judged:
        """Return what is found in the end as if kinds left out lost half of what they have."""
        found = judged(self, group, filters)
        is_new = all(group is not each for each in self.groups)
        return Judged(*(each * torch.tensor([1, 0.5]) for each in found)) if is_new and filters else found

    monkeypatch.setattr(Search, "judged", worse)
    assert not fitted(model, given(pixels()), camera).constants
