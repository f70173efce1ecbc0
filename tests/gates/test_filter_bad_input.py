"""A shift filter on images, models and disturbances that it cannot be fitted with: errors and fallbacks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
import torch
from torch import Generator, Tensor, nn

import leantta
from gates.striped import GOOD, Striped, given, pixels
from leantta.disturbances.copies import Disturbances, disturbances_of
from leantta.disturbances.library.camera import CAMERA
from leantta.disturbances.library.disturbance import Disturbance, Library
from leantta.disturbances.library.motion import MOTION
from leantta.errors import DataError, SettingError, UnsupportedModelError
from leantta.filtering.report import FilterReport
from leantta.gates.filter import FilterGate
from leantta.gates.paper import PaperGate
from leantta.nn import AdaptiveNorm
from leantta.surgery.adaptation import Adaptation
from leantta.surgery.apply import fit
from leantta.surgery.plan import Action, Plan


@pytest.fixture(scope="module")
def model() -> Striped:
    torch.manual_seed(0)
    return Striped(8).eval()


def camera() -> Disturbances:
    found = disturbances_of(given(pixels(2)), **GOOD)
    assert found is not None
    return found


def fitted(
    model: nn.Module,
    images: Tensor | Iterable[Tensor],
    disturbances: Disturbances | None = None,
    example: Tensor | None = None,
) -> Plan:
    example = given(pixels(2)) if example is None else example
    plan = leantta.plan(model, example, Adaptation(layers="all", gate=FilterGate()))
    return fit(model, plan, images, disturbances=disturbances)


def fell_back(model: nn.Module, plan: Plan, example: Tensor) -> str:
    """Check that the paper's gate is in the place of the filter, and return the note that says why."""
    assert plan.adaptation.gate == PaperGate.default()
    assert not plan.constants
    assert isinstance(plan.report, FilterReport)
    (note,) = plan.report.notes
    assert note.endswith("The paper's gate, which needs no images, takes the filter's place.")
    assert str(plan.report) == note
    assert plan.report.numbers() == {"notes": [note]}
    lean = leantta.apply(model, plan)
    kept = [name for name, module in lean.named_modules() if isinstance(module, AdaptiveNorm)]
    assert kept == plan.named(Action.ADAPT) != []
    lean(example)
    return note


@pytest.mark.parametrize(
    ("images", "words"),
    [
        (given(pixels(23)), "needs 24 different images, some hundreds are usual; 23 were given"),
        (given(pixels(1)), "1 were given"),
        (given(pixels(1)).expand(60, -1, -1, -1), "60 were given, of which 1 differ"),
        (torch.zeros(60, 3, 12, 12), "60 were given, of which 1 differ"),
        (given(pixels(20)).repeat(3, 1, 1, 1), "60 were given, of which 20 differ"),
    ],
    ids=["few", "one", "one often", "black", "some often"],
)
def test_too_few_different_images_leave_the_papers_gate(model: Striped, images: Tensor, words: str) -> None:
    assert words in fell_back(model, fitted(model, images), images[:2])


def test_24_images_are_enough(model: Striped) -> None:
    plan = fitted(model, given(pixels(24)), camera())
    assert isinstance(plan.report, FilterReport)
    assert plan.report.images == (14, 8, 2)
    assert plan.adaptation.gate == FilterGate()
    assert any("14 images to fit on are few" in note for note in plan.report.notes)


def test_images_of_one_colour_each_are_images(model: Striped) -> None:
    plain = torch.linspace(-1, 1, 40)[:, None, None, None].expand(-1, 3, 12, 12)
    plan = fitted(model, plain)
    assert leantta.apply(model, plan)(plain).isfinite().all()


def test_no_images_and_broken_ones_are_errors(model: Striped) -> None:
    for none in (torch.zeros(0, 3, 12, 12), [], [torch.zeros(0, 3, 12, 12)]):
        with pytest.raises(DataError, match="no images were given"):
            fitted(model, none)
    for value in (torch.nan, torch.inf):
        images = given(pixels(30))
        images[7, 1, 2, 3] = value
        with pytest.raises(DataError, match="not finite"):
            fitted(model, images)


def test_images_that_the_model_does_not_take_are_an_error(model: Striped) -> None:
    with pytest.raises(UnsupportedModelError, match=r"does not run on a batch .* of source images"):
        fitted(model, given(pixels(30))[:, :2])


class Showing(nn.Module):
    """Returns something else than scores."""

    def __init__(self, inner: Striped, form: str) -> None:
        super().__init__()
        self.inner, self.form = inner, form

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        maps: Tensor = self.inner.bn2(self.inner.conv2(torch.relu(self.inner.bn1(self.inner.conv1(x)))))
        forms: dict[str, Tensor | tuple[Tensor, Tensor]]
        forms = {
            "small maps": maps[..., ::2, ::2],
            "pair": (maps.flatten(2), maps[..., 1:]),
            "number": maps.mean((1, 2, 3)),
        }
        return forms[self.form]


@pytest.mark.parametrize("form", ["small maps", "pair", "number"])
def test_a_model_that_decides_nothing_leaves_the_papers_gate(model: Striped, form: str) -> None:
    images = given(pixels(40))
    shows = Showing(model, form)
    assert "the model decides nothing" in fell_back(shows, fitted(shows, images, camera()), images[:2])


def test_a_yes_no_question_is_a_decision() -> None:
    torch.manual_seed(0)
    asking = Striped(8).eval()
    asking.head = nn.Linear(8, 1)
    plan = fitted(asking, given(pixels(40)), camera())
    assert isinstance(plan.report, FilterReport)
    assert len(plan.report.layers) == 3
    assert plan.adaptation.gate == FilterGate()


def broken(answer: object) -> Disturbances:
    """A camera with a disturbance that returns that."""

    def change(images: Tensor, strengths: Tensor, random: Generator) -> Tensor:
        del strengths, random
        if answer == "nan":
            return torch.full_like(images, torch.nan)
        return images[:, :, 1:] if answer == "another shape" else answer  # type: ignore[return-value] # a bug

    library = replace(CAMERA, disturbances={**CAMERA, "my_rain": Disturbance("cover", change)})
    return replace(camera(), library=library)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("nan", "my_rain returned NaN"),
        ("another shape", r"my_rain must return what it takes, .* it returned"),
        (None, "my_rain must return a tensor"),
    ],
)
def test_a_disturbance_that_breaks_images_is_named(model: Striped, answer: object, words: str) -> None:
    with pytest.raises(DataError, match=words):
        fitted(model, given(pixels(60)), broken(answer))


def nothing(images: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Change nothing."""
    del strengths, random
    return images.clone()


@pytest.mark.parametrize("normalised", [False, True])
def test_disturbances_that_change_nothing_leave_the_papers_gate(model: Striped, normalised: bool) -> None:
    idle = Library({"idle": Disturbance("none", nothing)}, axes=4, least=0, most=1)
    images = given(pixels(40)) if normalised else given(pixels(40)).sigmoid()
    disturbances = replace(camera(), library=idle) if normalised else Disturbances(idle)
    note = fell_back(model, fitted(model, images, disturbances), images[:2])
    assert note.startswith("the disturbances change nothing")


class Deep(nn.Module):
    """Decides by volumes, (n, 2, d, h, w)."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.bn, self.head = nn.Conv3d(2, 4, 3), nn.BatchNorm3d(4), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.head(torch.relu(self.bn(self.conv(x))).mean((2, 3, 4)))
        return scores


def lighter(volumes: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Add something."""
    del random
    return volumes + strengths.view(-1, 1, 1, 1, 1)


def test_inputs_that_no_library_is_for_leave_the_papers_gate_unless_ones_own_is_given() -> None:
    torch.manual_seed(0)
    deep, volumes = Deep().eval(), torch.randn(40, 2, 5, 6, 7)
    note = fell_back(deep, fitted(deep, volumes, example=volumes[:2]), volumes[:2])
    assert note.startswith("no disturbances are known for inputs (2, 5, 6, 7); pass disturbances=")
    own = Disturbances(Library({"lighter": Disturbance("light", lighter)}, axes=5))
    plan = fitted(deep, volumes, own, example=volumes[:2])
    assert isinstance(plan.report, FilterReport)
    assert [row.name for row in plan.report.layers] == ["bn"]


def test_a_library_for_other_inputs_leaves_the_papers_gate(model: Striped) -> None:
    images = given(pixels(40))
    note = fell_back(model, fitted(model, images, Disturbances(MOTION)), images[:2])
    assert "for inputs with 3 axes" in note


@pytest.mark.parametrize("rank", [0, 513, float("nan")])
def test_a_rank_that_is_no_number_of_directions_is_refused(rank: float) -> None:
    with pytest.raises(SettingError, match="rank must"):
        FilterGate(rank=rank)
