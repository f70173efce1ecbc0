"""The table of a conversion says what became of the model, and of the gate that was asked for."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from export.models import GOOD, Files, Small, pixels, trained
from leantta.export.check import Compared
from leantta.export.convert import convert
from leantta.export.options import FileOptions
from leantta.export.report import Conversion
from leantta.gates.calibrated import CalibratedGate
from leantta.gates.gate import Gate
from leantta.gates.paper import PaperGate
from leantta.outputs import Head
from leantta.surgery.plan import Plan

LOW, USUAL = CalibratedGate(ceiling=0.2, budget=0.005), CalibratedGate(ceiling=0.4, budget=0.005)


@pytest.mark.parametrize(
    ("asked", "fitted", "says"),
    [
        (USUAL, USUAL, "weights from 0 to 0.4, to cost at most 0.5 points"),
        (USUAL, LOW, "weights from 0 to 0.2, lowered from 0.4 to cost at most 0.5 points"),
        (LOW, LOW, "weights from 0 to 0.2, to cost at most 0.5 points"),
        (replace(LOW, budget=None), replace(LOW, budget=None), "calibrated, weights from 0 to 0.2\n"),
        (PaperGate(), PaperGate(), "paper, tau 0.9, lambda 0.9\n"),
        (USUAL, None, ""),  # nothing adapts
    ],
)
def test_a_ceiling_is_called_lowered_only_if_it_was(asked: Gate, fitted: Gate | None, says: str) -> None:
    done = Conversion(
        path=Path("x.onnx"),
        adapted=nn.Identity(),
        plan=Plan(()),
        asked=asked,
        gate=fitted,
        precision="int8",
        size_bytes=10,
        weight_bytes=10,
        compared=(Compared(Head("logits", (2,), "classes"), 0.0, 0.0, 1.0),),
        checked=8,
        empty=(),
        in_float=(),
        operators=0,
    )
    shown = str(done)
    assert says in shown
    assert ("gate" in shown) == (fitted is not None)


def test_the_report_is_a_table(tmp_path: Path) -> None:
    made = Files(tmp_path)()
    text = str(made.done)
    assert f"{made.path} (int8)" in text
    assert "3 adapt, 0 fused, 0 kept" in text
    assert made.done.agreement is not None
    assert f"same decision on {100 * made.done.agreement:.1f} % [" in text
    assert "stayed zero" not in text


class Attentive(Small):
    """Weighs its scores by a softmax and a sigmoid, which int8 has no rules for."""

    def forward(self, x: Tensor) -> Tensor:
        x = self.bn1(self.stem(x))
        scores: Tensor = self.head((x * torch.sigmoid(x)).softmax(1).amax((2, 3)))
        return scores


@pytest.mark.parametrize(
    ("portable", "reason"), [(False, "no int8 product of two maps"), (True, "no int8 rule")]
)
def test_what_stays_in_float32_is_told_with_its_reason(tmp_path: Path, portable: bool, reason: str) -> None:
    model = trained(Attentive())
    path, options = tmp_path / "x.onnx", FileOptions(portable=portable)
    done = convert(model, pixels(40), path, layers="all", gate="calibrated", options=options, **GOOD)
    told = {each.op: each.reason for each in done.in_float}
    assert (told["Softmax"], told["Sigmoid"], told["Mul"]) == ("no int8 rule", "no int8 rule", reason)
    row = next(line for line in str(done).splitlines() if line.startswith("in float32"))
    assert f"{len(done.in_float)} of {done.operators} operators: " in row
    assert f"1 Mul ({reason})" in row
    assert row.count("(") <= 3
    assert b"no int8 rule" not in path.read_bytes()


def test_only_int8_files_have_something_in_float32(tmp_path: Path) -> None:
    files = Files(tmp_path)
    assert "in float32     none of 13 operators" in str(files().done)
    assert "in float32" not in str(files(precision="fp32").done)
