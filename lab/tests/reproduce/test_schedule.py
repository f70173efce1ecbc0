"""Which job is next and how long it takes, without running any."""

from pathlib import Path

import pytest

from leantta_lab.reproduce.schedule import Active, choose, remaining, speed, unfinished
from reproduce.little_jobs import job, setting


def test_what_is_needed_comes_first_and_only_if_somebody_needs_it(tmp_path: Path) -> None:
    where = setting(tmp_path)

    made = job("file")
    first, second, other = job("a", made), job("b", made), job("c", job("unneeded"))
    (where.folder / "c").touch()
    assert [each.name for each in unfinished([first, second, other], where)] == ["file", "a", "b"]
    (where.folder / "file").touch()
    assert [each.name for each in unfinished([first, second, first], where)] == ["a", "b"]


def test_the_longest_is_taken_unless_another_is_of_the_group_at_hand() -> None:
    ready = [
        job("short", seconds=1, group="a"),
        job("long", seconds=9, group="b"),
        job("longest", seconds=10, group="c"),
    ]
    nobody: frozenset[str] = frozenset()
    assert choose(ready, "", nobody, idle=True) is ready[2]
    assert choose(ready, "a", nobody, idle=True) is ready[0]
    assert choose(ready, "", frozenset({"c"}), idle=False) is ready[1]
    assert choose(ready, "", frozenset({"a", "b", "c"}), idle=False) is ready[2]


def test_a_job_without_a_group_belongs_to_none() -> None:
    ready = [job("one", seconds=1), job("two", seconds=2)]
    assert choose(ready, "", frozenset(), idle=True) is ready[1]


def test_what_must_be_alone_comes_last_and_waits_for_the_others() -> None:
    measuring, usual = job("bench", seconds=100, alone=True), job("usual", seconds=1)
    assert choose([measuring, usual], "", frozenset(), idle=True) is usual
    assert choose([measuring], "", frozenset(), idle=False) is None
    assert choose([measuring], "", frozenset(), idle=True) is measuring
    assert choose([], "", frozenset(), idle=True) is None


def test_the_guess_is_corrected_by_what_was_measured() -> None:
    half = Active(job=job("a", seconds=10), elapsed_seconds=15, share=0.5)
    assert speed([], []) == 1
    assert speed([], [half]) == 3
    assert speed([(10.0, 20.0), (10.0, 40.0)], []) == 3
    unheard = Active(job=job("b", seconds=10), elapsed_seconds=7, share=0)
    assert speed([], [unheard]) == 1


def test_the_rest_is_shared_but_no_shorter_than_its_longest_part() -> None:
    waiting = [job("a", seconds=10), job("b", seconds=2)]
    assert remaining(waiting, [], 1.0, workers=1) == 12
    assert remaining(waiting, [], 1.0, workers=2) == 10
    assert remaining(waiting, [], 3.0, workers=1) == 36
    assert remaining([*waiting, job("c", seconds=5, alone=True)], [], 1.0, workers=2) == 15
    running = Active(job=job("d", seconds=100), elapsed_seconds=30, share=0.25)
    assert remaining([], [running], 1.0, workers=2) == pytest.approx(
        90
    )  # by its own account, not by the guess
    silent = Active(job=job("e", seconds=10), elapsed_seconds=4, share=0)
    assert remaining([], [silent], 2.0, workers=1) == 16
    assert remaining([], [], 1.0, workers=2) == 0
