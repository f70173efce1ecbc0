"""Records found again: by the whole recipe, or by what is known of it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leantta.errors import MissingFileError
from leantta.evaluate.journal import Journal
from leantta.evaluate.lookup import Place, find_record, places, record_path
from leantta.evaluate.packs import SUFFIX, add_to_pack
from leantta.evaluate.record import Chunk, Header
from leantta.records.provenance import Provenance, recipe_sha256
from leantta.streams.stream import Domain


def recipe_of(method: str, seed: int = 0) -> dict[str, Any]:
    stream = {"name": "abrupt", "seed": seed, "settings": {}}
    return {"model": "r/18", "dataset": "cifar10", "method": method, "stream": stream}


def written(folder: Path, recipe: dict[str, Any], started: str, *, finished: bool = True) -> Path:
    provenance = Provenance(command="", machine={}, versions={}, started=started)
    header = Header(recipe=recipe, inputs=1, domains=(Domain("fog", 3),), provenance=provenance)
    path = folder / f"{started}.jsonl"
    with Journal(header, path, resume=True) as journal:
        one = np.zeros(1, np.int64)
        journal.append(Chunk(0, one, one, one))
        if finished:
            journal.finish()
    return path


def test_a_name_says_what_was_run_and_the_hash_the_rest(tmp_path: Path) -> None:
    recipe = recipe_of("leantta:half:paper")
    digest = recipe_sha256(recipe)[:8]
    assert record_path(tmp_path, recipe) == tmp_path / (
        f"r_18-cifar10-abrupt-leantta_half_paper-seed0-{digest}.jsonl"
    )
    assert record_path(tmp_path, recipe) != record_path(tmp_path, {**recipe, "threads": 2})


def test_the_newest_finished_record_is_found(tmp_path: Path) -> None:
    written(tmp_path, recipe_of("none"), "2025-01-01")
    newest = written(tmp_path, recipe_of("none"), "2025-01-03")
    written(tmp_path, recipe_of("none"), "2025-01-05", finished=False)
    written(tmp_path, recipe_of("tent"), "2025-01-04")
    (tmp_path / "other.jsonl").write_text("no record\n")
    assert find_record(tmp_path, lambda recipe: recipe["method"] == "none") == Place(newest)
    assert find_record(tmp_path, lambda recipe: recipe["method"] == "none", "2025-01-01*") != Place(newest)
    assert find_record(tmp_path, lambda recipe: recipe["method"] == "sar") is None


@pytest.mark.parametrize("content", ["", "{}", "{}\n[]\n", '{"recipe": {}}\n{"finished": "x"}\n'])
def test_what_is_no_record_is_passed_over(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.jsonl").write_text(content)
    assert find_record(tmp_path, lambda _: True) is None


def test_a_packed_record_is_found_as_a_file_was(tmp_path: Path) -> None:
    old = written(tmp_path, recipe_of("none"), "2025-01-01")
    new = written(tmp_path, recipe_of("none"), "2025-01-03")
    before = Place(new).record()
    pack = tmp_path / f"t{SUFFIX}"
    assert add_to_pack(pack, [new]) == 1
    found = find_record(tmp_path, lambda _: True)
    assert found == Place(pack, new.name)
    assert found.record().header == before.header
    assert [place.name for place in places(tmp_path)] == [old.name, new.name]
    assert places(tmp_path, "2025-01-03*") == [found]


def test_a_record_that_moves_while_it_is_looked_at_is_read_from_its_pack(tmp_path: Path) -> None:
    path = written(tmp_path, recipe_of("none"), "2025-01-01")
    found = find_record(tmp_path, lambda _: True)
    assert found == Place(path)
    add_to_pack(tmp_path / f"t{SUFFIX}", [path])
    assert not path.exists()
    assert found.record().header.provenance.started == "2025-01-01"
    (tmp_path / f"t{SUFFIX}").unlink()
    with pytest.raises(MissingFileError):
        found.record()


def test_a_file_and_a_pack_that_hold_the_same_record_are_one(tmp_path: Path) -> None:
    """What a kill between writing the pack and removing the file leaves behind."""
    path = written(tmp_path, recipe_of("none"), "2025-01-01")
    raw = path.read_bytes()
    add_to_pack(tmp_path / f"t{SUFFIX}", [path])
    path.write_bytes(raw)
    assert places(tmp_path) == [Place(path)]
