"""Field images: unlabelled, without clean twins, one more group that shift filters are fitted on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor, nn

import leantta
from gates.fitting import fitted, report_of, same
from gates.striped import Pixels, Striped, decisions, given, hazy, pixels
from leantta.disturbances.copies import Disturbances
from leantta.disturbances.library.camera import CAMERA
from leantta.errors import DataError, SettingError
from leantta.filtering.layer import LayerData, field_moments
from leantta.gates.calibrated import CalibratedGate
from leantta.gates.gate import Gate
from leantta.gates.paper import PaperGate
from leantta.surgery.adaptation import Adaptation
from leantta.surgery.plan import Plan
from reference import assert_close

Array = NDArray[np.float64]
SIZE = 8  # features: 4 channels
KNOWN = (0, 1, 2)


def made_up(images: int = 60, there: int = 90, seed: int = 0) -> dict[str, Tensor]:
    """Return features of clean images, of two copies of each, and of field images, which are shifted."""
    random = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=random, dtype=torch.float64)

    spread, away = normal(SIZE, SIZE), normal(SIZE)
    content = 0.4 * normal(images + there, SIZE) @ spread + 0.3
    kinds = torch.randint(3, (2 * images,), generator=random)
    copies = content[:images].repeat(2, 1) + normal(3, SIZE)[kinds] * normal(2 * images, 1).abs()
    return {
        "clean": content[:images],
        "copies": copies,
        "kinds": torch.stack([kinds, torch.full_like(kinds, -1)], 1),
        "field": content[images:] + away * (1 + normal(there, 1)),
    }


def layer_data(parts: Mapping[str, Tensor], field: Tensor | None) -> LayerData:
    return LayerData(parts["clean"], parts["clean"], parts["copies"], parts["kinds"], KNOWN, field)


def common(field: Array, clean: Array) -> tuple[Array, Array]:
    """P and E[f t^T] of field images, written a second time."""
    m, n = len(field), len(clean)
    covariance = np.cov(field.T, bias=True) - np.cov(clean.T, bias=True)
    halves = clean - clean.mean(0)
    one, other = (half.T @ half / len(half) for half in np.array_split(halves, 2))
    noise = np.linalg.norm(one - other, 2)
    least = noise * np.sqrt((1 / m + 1 / n) / (4 / n))
    shift = np.zeros_like(covariance)
    values, directions = np.linalg.eigh(covariance)
    for value, direction in zip(values, directions.T, strict=True):
        if value > least:
            shift += value * np.outer(direction, direction)
    return shift, shift + np.outer(field.mean(0), field.mean(0) - clean.mean(0))


def weight_of(field: Array, in_common: Array) -> float:
    """Of what the copies weigh, the part that field images take."""
    return 0.5 * float(np.trace(in_common) / np.mean((field**2).sum(1)))


@pytest.mark.parametrize(("images", "there"), [(60, 90), (61, 24), (6, 5)])  # the last: fewer than features
def test_the_sums_of_field_images_are_those_of_the_formula(images: int, there: int) -> None:
    parts = made_up(images, there)
    found = field_moments(parts["field"], parts["clean"])
    field = parts["field"].numpy()
    assert found.samples == there
    assert_close(found.square, field.T @ field, atol=1e-9)
    assert_close(found.cross / there, common(field, parts["clean"].numpy())[1], atol=1e-9)


def test_they_come_to_what_pairs_would_give() -> None:
    """With many images: as if each had a clean twin."""
    parts = made_up(40_000, 40_000)
    random = torch.Generator().manual_seed(1)
    shift = (
        torch.randn(40_000, 3, generator=random).double() @ torch.randn(3, SIZE, generator=random).double()
    )
    content = made_up(40_000, 40_000, seed=0)["clean"].flip(0)
    field = content + shift + 0.5
    wanted = field.T @ (shift + 0.5) / len(field)
    found = field_moments(field, parts["clean"]).cross / len(field)
    assert_close(found, wanted, atol=0.05 * float(wanted.abs().max()))


@settings(max_examples=40, deadline=None)
@drawn(seed=st.integers(0, 10_000), images=st.integers(8, 60), there=st.integers(2, 60), size=st.floats(0, 3))
def test_what_they_have_in_common_is_a_covariance(seed: int, images: int, there: int, size: float) -> None:
    parts = made_up(images, there, seed)
    field = size * parts["field"]
    cross = field_moments(field, parts["clean"]).cross / there
    mean = field.mean(0)
    covariance = cross - torch.outer(mean, mean - parts["clean"].mean(0))
    assert_close(covariance, covariance.T, atol=1e-9)
    values = torch.linalg.eigvalsh((covariance + covariance.T) / 2)
    assert float(values.min()) > -1e-9
    most = torch.linalg.eigvalsh(torch.cov(field.T, correction=0)).max()
    assert float(values.max()) <= float(most) + 1e-9  # no more than all that scatters there


def test_source_images_as_field_images_change_nothing() -> None:
    parts = made_up()
    clean = parts["clean"]
    assert_close(field_moments(clean, clean).cross, np.zeros((SIZE, SIZE)), atol=1e-9)
    matrices = [layer_data(parts, field).matrix(0.1)[0] for field in (None, clean, parts["field"])]
    assert_close(matrices[1], matrices[0], atol=1e-9)
    assert float((matrices[2] - matrices[0]).abs().max()) > 0.01


@pytest.mark.parametrize("field", [torch.zeros(30, SIZE), torch.full((30, SIZE), 100.0), -made_up()["field"]])
def test_their_weight_has_ends(field: Tensor) -> None:
    """Also where the content is gone, or all images are the same: then next to everything is shift."""
    data = layer_data(made_up(), field)
    assert 0 <= data.field_weight <= 0.5
    assert all(value.isfinite().all() for value in data.candidate(0.1, 3).constants.values())


@pytest.mark.parametrize(("there", "size"), [(30, 8), (100, 64), (400, 128)])
def test_what_chance_gives_is_no_shift(there: int, size: int) -> None:
    """Of field images that are as the source is, at most one or two directions remain, not half of all."""
    kept = []
    for seed in range(10):
        images = torch.randn(there + 240, size, generator=torch.Generator().manual_seed(seed)).double()
        field, clean = images[:there], images[there:]
        mean = field.mean(0)
        shift = field_moments(field, clean).cross / there - torch.outer(mean, mean - clean.mean(0))
        kept.append(int((torch.linalg.eigvalsh(shift) > 1e-6).sum()))
    assert np.mean(kept) < 2


@pytest.mark.parametrize("place", [None, 0, 1, 2])
def test_they_weigh_by_how_much_of_them_is_shift_and_are_never_left_out(place: int | None) -> None:
    parts = made_up()
    keep = (
        torch.ones(len(parts["kinds"]), dtype=torch.bool) if place is None else parts["kinds"][:, 0] != place
    )
    clean, copies, field = parts["clean"].numpy(), parts["copies"][keep].numpy(), parts["field"].numpy()
    twins = parts["clean"].repeat(2, 1)[keep].numpy()
    grown = np.clip(copies[:, 4:] - twins[:, 4:], -2, 2)
    asked = np.c_[copies[:, :4] - twins[:, :4] * np.exp(grown / 2), grown]
    in_common = common(field, clean)[1]
    weight = weight_of(field, in_common)
    assert 0.1 < weight < 0.45
    square = (
        0.25 * clean.T @ clean / len(clean)
        + 0.75 * (1 - weight) * copies.T @ copies / len(copies)
        + 0.75 * weight * field.T @ field / len(field)
    )
    cross = 0.75 * ((1 - weight) * copies.T @ asked / len(copies) + weight * in_common)
    size = square.diagonal()
    crowding = SIZE / (len(clean) + len(copies))
    square = square + np.diag((0.3 + crowding) * size + 1e-6 * size.mean() + 1e-12)
    found, with_ridge = layer_data(parts, parts["field"]).matrix(0.3, place)
    assert_close(with_ridge, square, atol=1e-9)
    assert_close(found, np.linalg.solve(square, cross), atol=1e-9)


def test_the_distance_sees_what_is_shifted_there() -> None:
    parts = made_up()
    data, alone = layer_data(parts, parts["field"]), layer_data(parts, None)
    constants = data.candidate(0.1, 3).constants
    clean, copies, field = (
        (parts[k].float() @ constants["into"]).numpy() for k in ("clean", "copies", "field")
    )
    assert_close(clean.T @ clean / len(clean), np.eye(3), atol=1e-4)
    there = parts["field"].numpy()
    weight = weight_of(there, common(there, parts["clean"].numpy())[1])
    shifted = (1 - weight) * copies.T @ copies / len(copies) + weight * field.T @ field / len(field)
    assert_close(shifted, np.diag(shifted.diagonal()), atol=1e-4 * shifted.max())
    distance = data.field_distance(constants)
    assert distance is not None
    assert distance == pytest.approx(float(((field**2) @ constants["share"].numpy()).mean()), rel=1e-5)
    assert distance > 1
    assert alone.field_distance(constants) is None


def test_dead_channels_stay_out_of_it() -> None:
    parts = {name: value.clone() for name, value in made_up().items()}
    for name in ("clean", "copies", "field"):
        parts[name][:, [1, 5]] = 0
    constants = layer_data(parts, parts["field"]).candidate(0.1, 16).constants
    answer = parts["field"].float() @ constants["into"] @ constants["back"]
    assert answer.isfinite().all()
    assert_close(answer[:, [1, 5]], np.zeros((len(answer), 2)), atol=1e-6)


@pytest.fixture(scope="module")
def indoors(camera: Disturbances) -> Disturbances:
    """Disturbances that know nothing of light and colour, and so nothing of fog."""
    others = {name: each for name, each in CAMERA.items() if each.kind not in ("light", "colour")}
    return replace(camera, library=replace(CAMERA, disturbances=others))


def foggy(images: Pixels) -> Pixels:
    """Return images as through fog: a fifth of the contrast, on a light grey."""
    return (0.2 * images + 160).astype(np.uint8)


@pytest.fixture(scope="module")
def in_fog(model: Striped, indoors: Disturbances) -> Plan:
    return fitted(model, given(pixels()), indoors, field=given(foggy(pixels(200, seed=3))))


def test_decisions_come_nearer_to_clean_ones_where_they_were_taken(
    model: Striped, indoors: Disturbances, in_fog: Plan
) -> None:
    images = pixels(400, seed=9)
    wanted = decisions(model, given(images))
    plans = fitted(model, given(pixels()), indoors), in_fog
    without, with_field = (
        [
            float((decisions(leantta.apply(model, plan), given(each)) == wanted).float().mean())
            for each in (foggy(images), images)
        ]
        for plan in plans
    )
    assert with_field[0] > without[0] + 0.3
    assert with_field[1] > 0.98


def test_the_report_has_a_line_of_them(in_fog: Plan, plan: Plan) -> None:
    report = report_of(in_fog)
    distance = report.field_distance
    assert distance is not None
    assert distance > 5
    (line,) = (line for line in str(report).splitlines() if line.startswith("field:"))
    assert "200 images" in line
    assert f"{distance:.1f}" in line
    assert {"field_images": 200, "field_distance": distance}.items() <= report.numbers().items()
    assert "field" not in str(report_of(plan))
    assert not any(key.startswith("field") for key in report_of(plan).numbers())


def test_images_of_the_source_as_field_images_change_little(model: Striped, camera: Disturbances) -> None:
    images = given(pixels(240))
    plans = [fitted(model, images, camera, field=field) for field in (None, given(pixels(240, seed=4)))]
    distance = report_of(plans[1]).field_distance
    assert distance is not None
    assert distance < 2  # 1 on those that it was fitted on
    others = pixels(400, seed=9)
    for seen in (given(others), given(hazy(others))):
        one, other = (decisions(leantta.apply(model, plan), seen) for plan in plans)
        assert float((one == other).float().mean()) > 0.98


def test_batches_are_as_good_as_one_tensor_and_nothing_is_left_behind(
    model: Striped, camera: Disturbances
) -> None:
    images, there = given(pixels(40)), given(hazy(pixels(40, seed=3)))
    one, other = (fitted(model, images, camera, field=field) for field in (there, list(there.split(7))))
    assert same(one.constants, other.constants)
    assert torch.equal(there, given(hazy(pixels(40, seed=3))))


class Twice(nn.Module):
    """Calls one BatchNorm for two maps."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.again, self.bn = nn.Conv2d(3, 6, 3), nn.Conv2d(6, 6, 3), nn.BatchNorm2d(6)
        self.head = nn.Linear(6, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.bn(self.conv(x)))
        scores: Tensor = self.head(torch.relu(self.bn(self.again(x))).mean((2, 3)))
        return scores


def test_a_layer_that_is_called_twice_sees_them_twice(camera: Disturbances) -> None:
    torch.manual_seed(0)
    plan = fitted(Twice().eval(), given(pixels(40)), camera, field=given(hazy(pixels(30, seed=3))))
    assert [row.name for row in report_of(plan).layers] == ["bn"]
    assert report_of(plan).field == 30


def broken(value: float) -> Tensor:
    images = given(pixels(30))
    images[7, 1, 2, 3] = value
    return images


@pytest.mark.parametrize(
    ("field", "words"),
    [
        (given(pixels(23)), "24 different field images .*; 23 were given, of which 23 differ"),
        (given(pixels(12)).repeat(5, 1, 1, 1), "60 were given, of which 12 differ"),
        (torch.zeros(0, 3, 12, 12), "no field images were given"),
        ([], "no field images were given"),
        (given(pixels(30))[..., :8], r"shape of source images, \(3, 12, 12\); these have \(3, 12, 8\)"),
        (given(pixels(30))[:, :1], r"these have \(1, 12, 12\)"),
        (broken(torch.nan), "one of the field images is not finite"),
        (broken(torch.inf), "one of the field images is not finite"),
    ],
    ids=["few", "some often", "none", "no batches", "size", "channels", "nan", "inf"],
)
@pytest.mark.parametrize("images", [60, 20])  # 20: too few for a filter, and yet no reason to be silent
def test_field_images_that_cannot_be_used_are_errors(
    model: Striped, field: Tensor | list[Tensor], words: str, images: int
) -> None:
    with pytest.raises(DataError, match=words) as caught:
        leantta.adapt(model, given(pixels(2)), "all", calibration=given(pixels(images)), field=field)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("gate", [PaperGate(), CalibratedGate()], ids=["paper", "calibrated"])
def test_gates_without_disturbances_refuse_them(model: Striped, gate: Gate) -> None:
    images = given(pixels(60))
    plan = leantta.plan(model, images[:2], Adaptation(layers="all", gate=gate))
    with pytest.raises(SettingError, match=f"the {gate.name} gate uses no field images"):
        leantta.fit(model, plan, images, field=images)
    calibration = images if gate.needs_images else None
    with pytest.raises(SettingError, match=f"the {gate.name} gate uses no field images"):
        leantta.adapt(model, images[:2], "all", gate=gate, calibration=calibration, field=images)


def test_they_go_with_source_images(model: Striped) -> None:
    with pytest.raises(SettingError, match=r"beside source images: .*calibration=images"):
        leantta.adapt(model, given(pixels(2)), "all", field=given(pixels(60)))


def test_adapt_passes_them_on(model: Striped) -> None:
    images, there = given(pixels()), given(hazy(pixels(60, seed=3)))
    plain, lean = (
        leantta.adapt(model, images[:2], "all", calibration=images, field=field) for field in (None, there)
    )
    assert not torch.equal(plain(there), lean(there))
