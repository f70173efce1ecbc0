"""Packs of records: what goes in comes out, the bytes depend on the records alone, and nothing is lost."""

import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantta.errors import MissingFileError, RecordError, StorageError
from leantta.evaluate import packs
from leantta.evaluate.loop import evaluate
from leantta.evaluate.packs import SUFFIX, add_to_pack, names_in, pack_of, packed, read_pack
from leantta.evaluate.record import RunSettings
from leantta.report.show import load_records
from leantta.streams.stream import Domain, Stream

SETTINGS = RunSettings(model="tiny", method="none", dataset="made up")


class Constant:
    """Always says class 0, and counts how often it is asked."""

    stateless = True

    def __init__(self) -> None:
        self.calls = 0

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        self.calls += 1
        return np.tile(np.array([1.0, 0.0], np.float32), (len(inputs), 1))

    def reset(self) -> None:
        """There is nothing to forget."""


def stream(seed: int) -> Stream:
    zeros = np.zeros(9, np.int64)
    return Stream(
        name="s",
        seed=seed,
        settings={},
        domains=(Domain("fog", 3),),
        domain=zeros,
        labels=zeros,
        index=np.arange(9),
        load=lambda positions: positions[:, None].astype(np.float32),
    )


def record(folder: Path, seed: int = 0) -> Path:
    path = folder / f"tiny-{seed}.jsonl"
    evaluate(Constant(), stream(seed), batch_size=4, settings=SETTINGS, path=path)
    return path


@given(st.dictionaries(st.from_regex(r"[a-z_.]{1,120}\.jsonl", fullmatch=True), st.binary(max_size=99)))
def test_what_goes_in_comes_out_whatever_the_order(tmp_path_factory: pytest.TempPathFactory, files) -> None:
    path = tmp_path_factory.mktemp("p") / f"t{SUFFIX}"
    path.write_bytes(packed(files))
    assert read_pack(path) == files
    assert packed(dict(reversed(files.items()))) == path.read_bytes()


def test_the_same_records_make_the_same_bytes_in_one_step_or_several(tmp_path: Path) -> None:
    once, twice = (tmp_path / name / f"t{SUFFIX}" for name in "ab")
    for number in range(3):
        record(twice.parent, number)
    contents = {path.name: path.read_bytes() for path in twice.parent.glob("*.jsonl")}
    add_to_pack(twice, [twice.parent / "tiny-2.jsonl"])
    add_to_pack(twice, sorted(twice.parent.glob("*.jsonl")))
    assert list(twice.parent.iterdir()) == [twice]
    once.parent.mkdir()
    for name, raw in contents.items():
        (once.parent / name).write_bytes(raw)
    add_to_pack(once, once.parent.glob("*.jsonl"))
    assert once.read_bytes() == twice.read_bytes()
    assert add_to_pack(once, []) == 0


def test_tar_gives_the_files_back(tmp_path: Path) -> None:
    path = record(tmp_path)
    raw = path.read_bytes()
    add_to_pack(tmp_path / f"t{SUFFIX}", [path])
    subprocess.run(["tar", "xf", f"t{SUFFIX}"], cwd=tmp_path, check=True)
    assert path.read_bytes() == raw


def test_a_packed_run_is_not_done_again(tmp_path: Path) -> None:
    add_to_pack(tmp_path / f"t{SUFFIX}", [record(tmp_path)])
    predictor = Constant()
    path = tmp_path / "tiny-0.jsonl"
    again = evaluate(predictor, stream(0), batch_size=4, settings=SETTINGS, path=path)
    assert (predictor.calls, again.correct.all(), path.exists()) == (0, True, False)
    with pytest.raises(RecordError, match="the record of another run: its batch_size"):
        evaluate(predictor, stream(0), batch_size=3, settings=SETTINGS, path=path)


def test_a_pack_and_a_folder_with_one_are_read_as_their_records(tmp_path: Path) -> None:
    pack = tmp_path / f"t{SUFFIX}"
    add_to_pack(pack, [record(tmp_path, 0), record(tmp_path, 1)])
    record(tmp_path, 2)
    assert [r.stream["seed"] for r in load_records([pack])] == [0, 1]
    assert sorted(r.stream["seed"] for r in load_records([tmp_path])) == [0, 1, 2]
    assert [r.stream["seed"] for r in load_records([tmp_path], "*-1.jsonl")] == [1]
    for where in (tmp_path, pack):
        with pytest.raises(RecordError, match="has no records"):
            load_records([where], "other*")
    assert pack_of(tmp_path / "tiny-1.jsonl") == pack
    assert pack_of(tmp_path / "tiny-2.jsonl") is None


def test_a_damaged_pack_is_named_and_left(tmp_path: Path) -> None:
    pack = tmp_path / f"t{SUFFIX}"
    add_to_pack(pack, [record(tmp_path)])
    whole = pack.read_bytes()
    other = record(tmp_path, 1)
    for damaged in (b"", b"no pack", whole[: len(whole) // 2], whole[:80] + b"\xff" + whole[81:]):
        pack.write_bytes(damaged)
        with pytest.raises(RecordError, match="cannot be unpacked"):
            names_in(pack)
        with pytest.raises(RecordError, match="cannot be unpacked"):
            add_to_pack(pack, [other])
        assert (pack.read_bytes(), other.exists()) == (damaged, True)
    with tarfile.open(pack, "w:xz") as tar:
        tar.add(tmp_path, "folder", recursive=False)
    with pytest.raises(RecordError, match="which is no file"):
        read_pack(pack)
    with pytest.raises(MissingFileError):
        read_pack(tmp_path / f"absent{SUFFIX}")


def test_no_file_is_removed_before_the_pack_reads_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = tmp_path / f"t{SUFFIX}"
    first, second = record(tmp_path, 0), record(tmp_path, 1)
    add_to_pack(pack, [first])
    before = pack.read_bytes()
    monkeypatch.setattr(packs, "packed", lambda files: packed({name: b"rotten" for name in files}))
    with pytest.raises(StorageError, match="Nothing was changed"):
        add_to_pack(pack, [second])
    assert (pack.read_bytes(), second.exists()) == (before, True)
    assert {path.name for path in tmp_path.iterdir()} == {pack.name, second.name}
