"""Hostile inputs, over all readers and paths: none crashes, hangs, or is answered wrongly in silence."""

import json
import random
from contextlib import ExitStack
from pathlib import Path

import pytest

from hostile.attack import tried
from hostile.broken_attacks import ATTACKS as BROKEN
from hostile.damage import changed_json, damaged
from hostile.page import PAGE, RECORD, with_table
from hostile.run_hostile import SEED
from hostile.table import ATTACKS
from hostile.watch import attacked
from leantta.runtime import kernel

FEW = 25
MANY = 2_000
SLOW_SEED = 10_000_000  # other inputs than those of the record


def skip_without_kernel(name: str) -> None:
    if name == "kernel" and not kernel.paths():
        pytest.skip("this installation has no kernel: there was no compiler")


@pytest.mark.filterwarnings("ignore")  # of other packages, about files that are damaged
@pytest.mark.parametrize("name", ATTACKS)
def test_a_few_inputs_are_answered_or_refused(name: str, tmp_path: Path) -> None:
    skip_without_kernel(name)
    with ExitStack() as stack:
        attempt = ATTACKS[name].begin(tmp_path, stack)
        endings = [tried(attempt, number) for number in range(FEW)]
    assert set(endings) <= {"answered", "refused"}
    assert "refused" in endings


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_many_inputs_are_answered_or_refused(name: str) -> None:
    skip_without_kernel(name)
    tally = attacked(name, SLOW_SEED, SLOW_SEED + MANY)
    assert not tally.faults
    assert tally.inputs == MANY


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("crash", "the process ended with -11"),
        ("hang", "no end after 2 seconds"),
        ("traceback", "IndexError"),
        ("wrong_answer", "AssertionError: 0.5 is not 0.25"),
        ("endless_memory", "MemoryError"),
        ("long_winded", "not said in one line"),
    ],
)
def test_every_kind_of_fault_is_found(name: str, says: str) -> None:
    assert set(BROKEN) == {"crash", "hang", "traceback", "wrong_answer", "endless_memory", "long_winded"}
    tally = attacked(name, 0, 14, module="hostile.broken_attacks", hang_seconds=2)
    assert list(tally.faults) == [10]
    assert says in tally.faults[10]
    assert (tally.answered, tally.refused, tally.inputs) == (12, 1, 14)


def test_damage_is_never_nothing_and_the_same_for_a_number() -> None:
    data = bytes(range(50))
    made = [damaged(random.Random(number), data) for number in range(500)]
    assert data not in made
    assert made == [damaged(random.Random(number), data) for number in range(500)]
    assert len(set(made)) > 400
    text = '{"a": [1, {"b": "c"}], "d": null}'
    changed = [changed_json(random.Random(number), text) for number in range(200)]
    assert len(set(changed)) > 100


def test_the_record_is_of_the_attacks_there_are_and_has_no_fault() -> None:
    told = json.loads(RECORD.read_text())
    assert told["seed"] == SEED
    assert {each["name"]: each["inputs"] for each in told["attacks"]} == {
        name: attack.recorded for name, attack in ATTACKS.items()
    }
    assert sum(each["inputs"] for each in told["attacks"]) == told["inputs"] >= 100_000
    assert not any(each["faults"] for each in told["attacks"])
    assert with_table(PAGE.read_text(), told) == PAGE.read_text()
