"""Benchmarks of small files, from candidates to the record."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from leantta.errors import MissingFileError, SettingError
from leantta.measure.bench import BenchSettings, run_bench
from leantta.measure.candidates import Candidate, absent, file_candidates
from leantta.measure.machine import pinned, usable_cores
from leantta.measure.request import BenchRequest, run_request
from leantta.measure.running import Running, closing, load_for_session
from leantta.progress import Progress, silent
from measure.foreign import foreign
from runtime.artifacts import artifact

FEW = BenchSettings(sessions=2, rounds=3, warm_up=1, processes=1, throughput_batch=4)


def unavailable(names: list[str], reason: str) -> list[Candidate]:
    return [absent(name, f"what {name} is", reason) for name in names]


@pytest.fixture
def files(tmp_path: Path) -> list[Candidate]:
    paths = [artifact(tmp_path / "ours.onnx", inlined=True), foreign(tmp_path / "theirs.onnx")]
    return file_candidates(paths, ["onnxruntime"], None, seed=0)


def test_a_record_has_every_value_of_every_row(files: list[Candidate], tmp_path: Path) -> None:
    missing = unavailable(["torch-fp32"], "torch is not here")
    found = run_bench([*files, *missing], FEW, model="tiny", about={"weights": "none"}, notes=["said"])
    assert [row.name for row in found.rows] == ["ours.onnx", "theirs.onnx", "torch-fp32"]
    assert [row.engine for row in found.measured] == ["onnxruntime", "plain"]
    for row in found.measured:
        assert [len(session) for session in row.warm_up_ms] == [1, 1]
        assert [len(session) for session in row.throughput_ms] == [1, 0]  # each second session
        assert [len(session) for session in row.latency_ms] == [-(-3 // row.every)] * 2
        assert row.loads == 2
        assert len(row.processes) == 1
        file = tmp_path / row.name
        assert row.size_bytes == file.stat().st_size
        assert row.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert found.rows[2].unavailable == "torch is not here"
    assert (found.base, found.model, found.interrupted) == ("ours.onnx", "tiny", False)
    assert found.settings["weights"] == "none"
    assert found.settings["cores"] == usable_cores()[-1:]
    assert found.notes == ("said",)
    assert found.noise["noisy"] == bool(found.noise["reasons"])
    assert found.energy["unmeasurable"] or found.energy["meter"]
    assert found.kernel


def test_the_base_can_be_chosen_and_replaced(files: list[Candidate]) -> None:
    few = replace(FEW, sessions=1, processes=0)
    assert run_bench(files, few, base="theirs.onnx").base == "theirs.onnx"
    lost = unavailable(["ours-none"], "not here")
    found = run_bench([*lost, *files], few, base="ours-none")
    assert (found.base, found.notes) == (
        "ours.onnx",
        ("ours-none is not available, so ratios are to ours.onnx.",),
    )
    with pytest.raises(SettingError, match="the base row 'gone' takes no part"):
        run_bench(files, few, base="gone")


def test_nothing_to_measure_says_each_reason_once() -> None:
    rows = [*unavailable(["ours-none", "ours-all"], "no torch."), *unavailable(["torch-fp32"], "no time")]
    with pytest.raises(SettingError, match=r"here: no torch \(ours-none, ours-all\); no time \(torch-fp32\)"):
        run_bench(rows, FEW)


def test_an_interrupt_keeps_the_whole_sessions(files: list[Candidate]) -> None:
    def stopping(at: int) -> Progress:
        def progress(done: int, _: int) -> None:
            if done == at:
                raise KeyboardInterrupt

        return progress

    before = usable_cores()
    found = run_bench(files, FEW, progress=lambda label: stopping(1) if label == "latency" else silent)
    assert found.interrupted
    assert [len(row.latency_ms) for row in found.measured] == [1, 1]
    assert usable_cores() == before
    with pytest.raises(KeyboardInterrupt):  # nothing was measured yet
        run_bench(files, FEW, progress=lambda label: stopping(0) if label == "latency" else silent)


def test_one_row_that_fails_stops_no_other(tmp_path: Path, files: list[Candidate]) -> None:
    (tmp_path / "broken.onnx").write_text("hello")
    portable = file_candidates([artifact(tmp_path / "local.onnx")], ["openvino"], None, seed=0)
    broken = file_candidates([tmp_path / "broken.onnx"], ["onnxruntime"], None, seed=0)
    open_sizes = file_candidates([foreign(tmp_path / "open.onnx", size="s")], ["onnxruntime"], None, seed=0)
    few = replace(FEW, sessions=1, processes=0)
    found = run_bench([*broken, *portable, *open_sizes, *files], few)
    reasons = {row.name: row.unavailable or "" for row in found.rows}
    assert "cannot load" in reasons["broken.onnx"]
    assert "convert with --portable" in reasons["local.onnx"]
    assert "say them with --shape" in reasons["open.onnx"]
    assert [row.name for row in found.measured] == ["ours.onnx", "theirs.onnx"]


def test_a_file_with_a_fixed_batch_has_latency_and_no_throughput(tmp_path: Path) -> None:
    fixed = file_candidates([foreign(tmp_path / "one.onnx", batch=1)], ["onnxruntime"], None, seed=0)
    (row,) = run_bench(fixed, FEW).rows
    assert row.processes
    assert row.notes == ["no throughput: it takes batches of 1 only"]
    assert row.throughput_ms == [[], []]
    assert len(row.latency_ms[0]) == 3


def test_files_are_named_and_checked(tmp_path: Path) -> None:
    ours = artifact(tmp_path / "a.onnx")
    named = file_candidates([ours], ["onnxruntime", "openvino"], None, seed=0)
    assert [each.name for each in named] == ["a.onnx onnxruntime", "a.onnx openvino"]
    (tmp_path / "b").mkdir()
    with pytest.raises(SettingError, match=r"two of the files are called 'a.onnx'"):
        file_candidates([ours, artifact(tmp_path / "b" / "a.onnx")], ["onnxruntime"], None, seed=0)
    with pytest.raises(SettingError, match="no engine is called 'tvm'; the engines are onnxruntime, "):
        file_candidates([ours], ["tvm"], None, seed=0)
    with pytest.raises(MissingFileError, match=r"no model file at .*gone.onnx"):
        file_candidates([tmp_path / "gone.onnx"], ["onnxruntime"], None, seed=0)


def test_more_threads_than_cores_is_a_note(files: list[Candidate]) -> None:
    cores = len(usable_cores())
    few = replace(FEW, sessions=1, processes=0, threads=cores + 1)
    assert run_bench(files, few).notes == (
        f"{cores + 1} threads were asked for, but there are {cores} cores.",
    )


@pytest.mark.parametrize("field", ["threads", "batch", "rounds", "sessions"])
def test_settings_that_mean_nothing_are_refused(field: str) -> None:
    with pytest.raises(SettingError, match=f"{field} must be at least 1, got 0"):
        BenchSettings(**{field: 0})
    with pytest.raises(SettingError, match="nothing to measure"):
        run_request(BenchRequest())


def test_pinning_holds_inside_the_block_only() -> None:
    before = usable_cores()
    with pinned(1) as cores:
        if cores is not None:
            assert usable_cores() == cores == before[-1:]
    assert usable_cores() == before


def test_what_loads_slowly_is_loaded_in_some_sessions_only(tmp_path: Path) -> None:
    inputs = np.zeros((1, 3, 8, 8), np.float32)
    path = artifact(tmp_path / "a.onnx")
    (candidate,) = file_candidates([path], ["onnxruntime"], None, seed=0)
    running = {
        "quick": Running(candidate, path, 1, inputs),
        "slow": Running(candidate, path, 1, inputs, serves=3),
    }
    random, opened = np.random.default_rng(0), []
    with closing(running):
        for number in range(5):
            load_for_session(running, number, random)
            opened.append({name: each.engine for name, each in running.items()})
        assert {name: each.loads for name, each in running.items()} == {"quick": 5, "slow": 2}
        assert opened[1]["slow"] is opened[2]["slow"]
        assert opened[2]["slow"] is not opened[3]["slow"]
        with pytest.raises(SettingError, match="closed"):
            opened[0]["quick"].run(inputs)  # type: ignore[union-attr]
    assert [each.engine for each in running.values()] == [None, None]
