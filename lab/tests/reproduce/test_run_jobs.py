"""The int8 files of a reproduction: made once, and anew for other weights."""

from pathlib import Path

import pytest

from leantta.gates.calibrated import CalibratedGate
from leantta.gates.gate import Gate
from leantta.gates.paper import PaperGate
from leantta.progress import silent
from leantta_lab.reproduce import at_hand
from leantta_lab.reproduce.protocol import NONE_INT8
from leantta_lab.reproduce.run_jobs import accuracy_job
from leantta_lab.reproduce.run_record import record_of
from leantta_lab.reproduce.target import Setting
from reproduce.made_up import cell_run


def test_a_ceiling_that_was_lowered_to_fit_is_no_other_gate() -> None:
    asked = CalibratedGate(ceiling=0.4, budget=0.005)
    assert CalibratedGate(ceiling=0.2, budget=0.005).comes_from(asked)
    assert not CalibratedGate(ceiling=0.2, budget=0.01).comes_from(asked)
    assert not CalibratedGate(ceiling=0.4).comes_from(asked)
    assert not PaperGate().comes_from(asked)
    assert not CalibratedGate(ceiling=0.2).comes_from(CalibratedGate(ceiling=0.4))


def test_a_file_is_made_run_and_not_taken_for_one_of_other_weights(
    tmp_path: Path, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Gate, "images", 16)  # 512 take half a minute
    setting = Setting(
        scale="quick", images={"cifar10": sample}, records=tmp_path / "records", work=tmp_path / "work"
    )
    run = cell_run(setting, "fog", NONE_INT8, 32)
    job = accuracy_job(run)
    [file] = job.needs
    assert not file.done(setting)
    file.run(setting, silent)
    assert file.done(setting)
    job.run(setting, silent)
    assert job.done(setting)
    record = record_of(run, setting)
    assert record is not None
    assert record.method == "resnet18_cifar10_none.onnx"
    assert record.header.recipe["method_settings"]["precision"] == "int8"
    assert record.correct.mean() > 0.3  # fog at severity 5; chance is 0.1

    path = setting.work / "resnet18_cifar10_none.onnx"
    other = tmp_path / "resnet18_cifar10.safetensors"
    other.write_bytes(b"other weights")
    monkeypatch.setattr(at_hand, "checkpoint", lambda *_: other)
    assert not file.done(setting)
    monkeypatch.undo()
    assert file.done(setting)
    path.write_bytes(path.read_bytes()[:-100])
    assert not file.done(setting)
