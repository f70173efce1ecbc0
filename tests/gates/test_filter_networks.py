"""Shift filters in files, and in networks of other kinds: shared layers, dead channels, motion."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import leantta
from export.models import ZOO, info_of
from gates.fitting import fitted, report_of, same
from gates.striped import CLASSES, GOOD, Striped, given, hazy, learn_, pixels
from leantta.disturbances.copies import Disturbances, disturbances_of
from leantta.disturbances.library.motion import MOTION
from leantta.filtering import search
from leantta.filtering.probe import seen_features
from leantta.filtering.report import Interval
from leantta.gates.filter import FilterGate
from leantta.surgery.plan import Action, Plan
from motion_files import made_up
from reference import assert_close

FORMS = {"fp32": ("fp32", False), "int8": ("int8", False), "int8 portable": ("int8", True)}


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


def test_motion_is_disturbed_as_motion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SURE", 0)  # so few windows do not tell for sure
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
