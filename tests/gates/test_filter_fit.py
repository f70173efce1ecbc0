"""Shift filters fitted to trained networks: what they gain, what is told of it, and what files keep."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import leantta
from export.models import ZOO, info_of
from gates.striped import CLASSES, GOOD, Striped, decisions, given, hazy, learn_, pixels, striped
from leantta.disturbances.copies import Disturbances, disturbances_of
from leantta.disturbances.library.camera import CAMERA
from leantta.disturbances.library.motion import MOTION
from leantta.filtering import search
from leantta.filtering.probe import scores, seen_features
from leantta.filtering.report import FilterReport, Interval
from leantta.filtering.search import CHOOSING, FITTING, Filters, Search, Subject
from leantta.gates.filter import FilterGate
from leantta.gates.gate import Gate
from leantta.nn import AdaptiveNorm
from leantta.surgery.adaptation import Adaptation
from leantta.surgery.apply import fit
from leantta.surgery.plan import Action, Plan
from motion_files import made_up
from reference import assert_close

FORMS = {"fp32": ("fp32", False), "int8": ("int8", False), "int8 portable": ("int8", True)}


def fitted(
    model: nn.Module,
    images: Tensor,
    disturbances: Disturbances | None = None,
    *,
    gate: Gate | None = None,
    layers: str = "all",
) -> Plan:
    asked = leantta.plan(model, images[:2], Adaptation(layers=layers, gate=gate or FilterGate()))
    return fit(model, asked, images, disturbances=disturbances)


def report_of(plan: Plan) -> FilterReport:
    assert isinstance(plan.report, FilterReport)
    return plan.report


def agreement(model: nn.Module, inputs: Tensor, wanted: Tensor) -> float:
    return float((decisions(model, inputs) == wanted).float().mean())


def same(one: Mapping[str, Mapping[str, Tensor]], other: Mapping[str, Mapping[str, Tensor]]) -> bool:
    return one.keys() == other.keys() and all(
        torch.equal(value, other[layer][name]) for layer, kept in one.items() for name, value in kept.items()
    )


@pytest.fixture(scope="module")
def model() -> Striped:
    return striped()


@pytest.fixture(scope="module")
def camera() -> Disturbances:
    found = disturbances_of(given(pixels(2)), **GOOD)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def plan(model: Striped, camera: Disturbances) -> Plan:
    return fitted(model, given(pixels()), camera)


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


def test_layers_that_help_adapt_and_the_others_are_fused(model: Striped, plan: Plan) -> None:
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


def test_settings_of_the_gate_reach_the_fit(model: Striped, plan: Plan, camera: Disturbances) -> None:
    images = given(pixels())
    few = fitted(model, images, camera, gate=FilterGate(rank=3))
    assert {tuple(each["into"].shape) for each in few.constants.values()} == {(32, 3)}
    other = fitted(model, images, camera, gate=FilterGate(seed=1))
    assert not same(other.constants, plan.constants)
    # A distance that no source image has: nothing is corrected, so nothing helps.
    alone = fitted(model, images, camera, gate=FilterGate(shrink=10))
    assert report_of(alone).layers[0].gain.mean < report_of(plan).layers[0].gain.mean


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


def test_the_search_ends_after_layers_that_do_not_help(
    model: Striped, camera: Disturbances, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "WORTH_IT", 1)  # nothing is
    monkeypatch.setattr(search, "PATIENCE", 2)
    short = fitted(model, given(pixels()), camera)
    assert [row.name for row in report_of(short).layers] == ["bn1", "bn2"]
    assert {row.adapts for row in report_of(short).layers} == {"no: does not help"}
    assert report_of(short).untried == 1
    assert "1 later layers were not tried" in str(short.report)
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
        judged = one.judged(CHOOSING, {})
        wanted = decisions(model, group.inputs).repeat(2)
        found = scores(model, group.copies)
        assert found is not None
        trust = found.softmax(1).gather(1, wanted[:, None])
        assert_close(judged.trust.T.reshape(-1, 1), trust, atol=1e-5)
        assert torch.equal(judged.hit.T.flatten(), (found.argmax(1) == wanted).float())
        assert not one.cost({}, [FITTING, CHOOSING]).any()


@pytest.mark.parametrize("form", FORMS)
def test_a_file_computes_what_torch_computes(model: Striped, plan: Plan, form: str, tmp_path: Path) -> None:
    precision, portable = FORMS[form]
    options = leantta.FileOptions(precision=precision, portable=portable)  # type: ignore[arg-type] # one of both
    path, images = tmp_path / "x.onnx", pixels(60, seed=9)
    done = leantta.convert(model, pixels(), path, layers="all", gate="filter", options=options, **GOOD)
    assert done.plan.named(Action.ADAPT) == plan.named(Action.ADAPT)
    assert str(done.plan.report) in str(done)
    lean = leantta.apply(model, done.plan)
    with leantta.load(path) as session:
        for each in (images, hazy(images)):
            with torch.inference_mode(), leantta.watch(lean) as readings:
                wanted = lean(given(each)).numpy()
            found = session.predict(each)
            if precision == "fp32":
                assert_close(found, wanted, atol=1e-3)
                for layer, reading in readings.items():
                    assert_close(
                        session.explain(each)[layer] / reading.distance.numpy(),
                        1 + 0 * wanted[:, 0],
                        atol=1e-3,
                    )
            assert (found.argmax(1) == wanted.argmax(1)).mean() >= (1 if precision == "fp32" else 0.95)
    info = info_of(path)
    assert info.gate == FilterGate()
    assert info.layers == tuple(plan.named(Action.ADAPT))
    report = report_of(done.plan)
    assert report.unknown is not None
    assert report.cost is not None
    assert info.calibration is not None
    assert info.calibration["expected_gain_unknown"] == pytest.approx(list(report.unknown))
    assert info.calibration["expected_cost"] == pytest.approx(list(report.cost))
    assert info.calibration["images"] == 120


class Shared(Striped):
    """One BatchNorm behind two convolutions."""

    def __init__(self) -> None:
        super().__init__()
        del self.bn2

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.relu(self.bn1(self.conv2(x)))
        answer: Tensor = self.head(torch.relu(self.bn3(self.conv3(x))).mean((2, 3)))
        return answer


@pytest.fixture(scope="module")
def shared() -> Shared:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Shared()
        learn_(model, given(pixels(480, seed=7)), torch.arange(480) % CLASSES)
    return model


def test_a_shared_layer_shows_its_features_call_by_call(shared: Shared) -> None:
    x, norm = given(pixels(70)), shared.bn1
    seen = seen_features(shared, ["bn1"], x)["bn1"]
    with torch.no_grad():
        calls = [shared.conv1(x), shared.conv2(torch.relu(norm(shared.conv1(x))))]
    assert len(seen) == 140
    assert norm.running_mean is not None
    assert norm.running_var is not None
    scale = norm.running_var + norm.eps
    for call, maps in enumerate(calls):
        mean, var = maps.mean((2, 3)), maps.var((2, 3), unbiased=False)
        logs = ((var + norm.eps) / scale).log().clamp(-4, 4)
        assert_close(
            seen[call::2], torch.cat([(mean - norm.running_mean) / scale.sqrt(), logs], 1), atol=1e-3
        )
    assert torch.equal(seen_features(shared, ["bn1"], x, calls=2)["bn1"], seen)


def test_a_shared_layer_has_one_filter(
    shared: Shared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "interval", lambda _: Interval(1.0, 0.1))  # all that is tried stays
    path, images = tmp_path / "x.onnx", hazy(pixels(40, seed=9))
    options, gate = leantta.FileOptions(precision="fp32"), FilterGate(budget=1)
    done = leantta.convert(shared, pixels(), path, layers="all", gate=gate, options=options, **GOOD)
    assert done.plan.named(Action.ADAPT) == ["bn1", "bn3"]
    lean = leantta.apply(shared, done.plan)
    with leantta.load(path) as session, torch.inference_mode():
        wanted = lean(given(images))
        assert (wanted - shared(given(images))).abs().max() > 0.1
        assert_close(session.predict(images), wanted, atol=1e-3)


class Followed(Striped):
    """The BatchNorms apply their activations themselves, as timm's do."""

    def __init__(self) -> None:
        super().__init__()
        kind: Any = next(type(m) for m in ZOO["known subclass"]().modules() if isinstance(m, nn.BatchNorm2d))
        self.bn1, self.bn2, self.bn3 = (kind(16, nn.ReLU()) for _ in range(3))


def test_a_layer_with_its_activation_inside_has_the_filter_of_one_without(
    model: Striped, plan: Plan, camera: Disturbances
) -> None:
    followed = Followed().eval()
    followed.load_state_dict(model.state_dict())
    other = fitted(followed, given(pixels()), camera)
    assert same(other.constants, plan.constants)
    images = given(hazy(pixels(20, seed=9)))
    with torch.inference_mode():
        wanted = leantta.apply(model, plan)(images)
        assert_close(leantta.apply(followed, other)(images), wanted, atol=1e-4)


def test_dead_channels_keep_the_source_statistics(model: Striped, camera: Disturbances) -> None:
    dead = copy.deepcopy(model)
    with torch.no_grad():
        dead.conv1.weight[3] *= 1e-4
    for values in (dead.bn1.running_mean, dead.bn1.running_var):
        assert values is not None
        values[3] = 0
    plan = fitted(dead, given(pixels()), camera)
    assert "bn1" in plan.constants
    layer, norm = leantta.apply(dead, plan).get_submodule("bn1"), dead.bn1
    with torch.no_grad(), leantta.watch(nn.Sequential(layer)) as readings:
        x = dead.conv1(given(hazy(pixels())))
        y, wanted = layer(x), norm(x)
        assert_close(y[:, 3], wanted[:, 3], atol=1e-4 * float(wanted[:, 3].abs().max()))
        assert float((y[:, 4] - wanted[:, 4]).abs().max()) > 0.1
        nn.Sequential(layer)(dead.conv1(given(pixels())))
    assert readings["0"].distance.isfinite().all()


def test_a_model_in_double_precision_is_fitted_like_another(
    model: Striped, plan: Plan, camera: Disturbances
) -> None:
    double = copy.deepcopy(model).double()
    exact = fitted(double, given(pixels()).double(), camera)
    assert exact.named(Action.ADAPT) == plan.named(Action.ADAPT)
    images = given(pixels(20, seed=9))
    with torch.inference_mode():
        wanted = leantta.apply(model, plan)(images)
        assert_close(leantta.apply(double, exact)(images.double()), wanted, atol=1e-2)


class Moving(nn.Module):
    """Decides by windows of motion, (n, 9, t)."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv1d(9, 12, 5, stride=2), nn.BatchNorm1d(12)
        self.conv2, self.bn2 = nn.Conv1d(12, 12, 5, stride=2), nn.BatchNorm1d(12)
        self.head = nn.Linear(12, 6)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.bn1(self.conv1(x)))
        answer: Tensor = self.head(torch.relu(self.bn2(self.conv2(x))).mean(2))
        return answer


def test_motion_is_disturbed_as_motion(tmp_path: Path) -> None:
    labels = np.arange(240) % 6
    windows = made_up(labels)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Moving()
        learn_(model, torch.from_numpy(made_up(labels, seed=7)), torch.from_numpy(labels), steps=20)
    guessed = disturbances_of(torch.from_numpy(windows))
    assert guessed is not None
    assert guessed.library is MOTION
    path = tmp_path / "x.onnx"
    done = leantta.convert(model, windows, path, layers="all", gate="filter")
    assert same(done.plan.constants, fitted(model, torch.from_numpy(windows)).constants)
    report = report_of(done.plan)
    assert [row.name for row in report.layers] == ["bn1", "bn2"]
    assert report.unknown is not None
    assert done.plan.constants
    fresh = made_up(labels[:60], seed=9)
    with leantta.load(path) as session, torch.inference_mode():
        wanted = leantta.apply(model, done.plan)(torch.from_numpy(fresh)).numpy()
        assert (session.predict(fresh).argmax(1) == wanted.argmax(1)).mean() > 0.9
