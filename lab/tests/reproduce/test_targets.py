"""What holds for every target, also for those that come later."""

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from leantta_lab.reproduce import at_hand
from leantta_lab.reproduce.target import Job, Setting
from leantta_lab.reproduce.targets import TARGETS


@pytest.fixture
def setting(tmp_path: Path, sample: Path, weights: Path, monkeypatch: pytest.MonkeyPatch) -> Setting:
    """With everything at hand but the sounds of birds; the images and weights are not looked into."""
    monkeypatch.setattr(at_hand, "checkpoint", lambda *_: weights)
    images = {"cifar10": sample, "cifar100": sample}
    return Setting(scale="quick", images=images, records=tmp_path / "records", work=tmp_path / "work")


def jobs_of(target: str, setting: Setting) -> list[Job]:
    return TARGETS[target].jobs(setting)


@pytest.mark.parametrize("scale", ["quick", "full"])
def test_a_name_stands_for_one_piece_of_work(setting: Setting, scale: str) -> None:
    here = replace(setting, scale=scale)  # type: ignore[arg-type]
    found: dict[str, bytes] = {}
    for target in TARGETS:
        named = [job.name for job in jobs_of(target, here)]
        assert len(named) == len(set(named)), target
        for job in jobs_of(target, here):
            pickled = pickle.dumps(job)
            assert found.setdefault(job.name, pickled) == pickled, job.name
    assert len(found) > 100


@pytest.mark.parametrize("target", TARGETS)
def test_an_empty_folder_has_a_page(target: str, setting: Setting) -> None:
    if target == "table-birds":
        assert TARGETS[target].jobs(setting) == []
    else:
        assert all(job.seconds > 0 and not job.done(setting) for job in jobs_of(target, setting))
    page = TARGETS[target].page(setting)
    assert page.parts or page.lacking
    bare = TARGETS[target].page(replace(setting, images={}))
    assert bare.lacking


def test_targets_are_named_for_what_they_are() -> None:
    assert all(name.startswith(("table-", "figure-")) for name in TARGETS)
    assert all(target.title and len(target.summary) < 100 for target in TARGETS.values())
