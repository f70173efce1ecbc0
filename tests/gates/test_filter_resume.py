"""A fit that was stopped goes on after its last finished layer."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import leantta
from gates.fitting import same
from gates.striped import Striped, given, pixels
from leantta.disturbances.copies import Disturbances
from leantta.errors import StorageError
from leantta.filtering.search import Search
from leantta.gates.filter import FilterGate
from leantta.progress import Progress
from leantta.surgery.adaptation import Adaptation
from leantta.surgery.apply import fit
from leantta.surgery.plan import Plan


class StoppedError(Exception):
    """The fit was stopped."""


class Fits:
    """Fits filters with a file, and counts the layers that were tried."""

    def __init__(self, camera: Disturbances, tried: list[str]) -> None:
        self.camera, self.tried, self.labels = camera, tried, list[str]()

    def __call__(
        self,
        model: Striped,
        path: Path,
        *,
        gate: FilterGate | None = None,
        images: torch.Tensor | None = None,
        stop: int = -1,
    ) -> Plan:
        inputs = given(pixels()) if images is None else images
        asked = leantta.plan(model, inputs[:2], Adaptation(layers="all", gate=gate or FilterGate()))

        def progress(label: str) -> Progress:
            self.labels.append(label)

            def reached(done: int, _: int) -> None:
                if done == stop:
                    raise StoppedError

            return reached

        self.tried.clear()
        return fit(model, asked, inputs, disturbances=self.camera, resume=path, progress=progress)


@pytest.fixture
def fits(camera: Disturbances, monkeypatch: pytest.MonkeyPatch) -> Fits:
    tried: list[str] = []
    real: Callable[..., object] = Search.tried

    def counted(self: Search, name: str, *others: object) -> object:
        tried.append(name)
        return real(self, name, *others)

    monkeypatch.setattr(Search, "tried", counted)
    return Fits(camera, tried)


@pytest.mark.parametrize("finished", [1, 2, 3])
def test_a_fit_that_was_stopped_finds_the_same(
    finished: int, fits: Fits, model: Striped, plan: Plan, tmp_path: Path
) -> None:
    path = tmp_path / "x.fitting"
    with pytest.raises(StoppedError):
        fits(model, path, stop=finished)
    assert fits.tried == ["bn1", "bn2", "bn3"][:finished]
    again = fits(model, path)
    assert fits.tried == ["bn1", "bn2", "bn3"][finished:]
    assert again == plan
    assert again.report == plan.report
    assert same(again.constants, plan.constants)
    finished_file = path.read_bytes()
    once_more = fits(model, path)
    assert not fits.tried
    assert len(fits.labels) == 2  # nothing was left to do
    assert once_more.report == plan.report
    assert same(once_more.constants, plan.constants)
    assert path.read_bytes() == finished_file
    assert list(tmp_path.iterdir()) == [path]


def test_what_decides_a_fit_is_in_its_key(fits: Fits, model: Striped, tmp_path: Path) -> None:
    path = tmp_path / "x.fitting"
    other = Striped()
    other.load_state_dict(model.state_dict())
    with torch.no_grad():
        other.head.bias.add_(0.01)
    changes: list[Callable[[], Plan]] = [
        lambda: fits(model, path, images=given(pixels(seed=1)), stop=1),
        lambda: fits(model, path, gate=FilterGate(rank=3), stop=1),
        lambda: fits(model, path, gate=FilterGate(shrink=2), stop=1),
        lambda: fits(model, path, gate=FilterGate(budget=0.1), stop=1),
        lambda: fits(model, path, gate=FilterGate(seed=1), stop=1),
        lambda: fits(other, path, stop=1),
    ]
    for changed in changes:
        path.unlink(missing_ok=True)
        with pytest.raises(StoppedError):
            fits(model, path, stop=1)
        with pytest.raises(StoppedError):
            changed()
        assert fits.tried == ["bn1"]
        assert fits.labels[-1] == "filter (anew: x.fitting is damaged or of another fit)"


@pytest.mark.parametrize("harm", ["cut", "flipped", "empty", "text"])
def test_a_damaged_file_is_not_read(
    harm: str, fits: Fits, model: Striped, plan: Plan, tmp_path: Path
) -> None:
    path = tmp_path / "x.fitting"
    with pytest.raises(StoppedError):
        fits(model, path, stop=1)
    raw = path.read_bytes()
    harmed = {
        "cut": raw[: len(raw) // 2],
        "flipped": raw[:-9] + b"?" + raw[-8:],
        "empty": b"",
        "text": b"hello",
    }
    path.write_bytes(harmed[harm])
    again = fits(model, path)
    assert fits.tried == ["bn1", "bn2", "bn3"]
    assert same(again.constants, plan.constants)


def test_a_place_that_cannot_be_written_is_one_clear_error(
    fits: Fits, model: Striped, tmp_path: Path
) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(StorageError, match="cannot write"):
        fits(model, tmp_path / "taken")
