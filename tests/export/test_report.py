"""The table of a conversion says what became of the gate that was asked for."""

from dataclasses import replace
from pathlib import Path

import pytest

from leantta.export.report import Conversion
from leantta.gates import CalibratedGate, Gate, PaperGate
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
        plan=Plan(()),
        asked=asked,
        gate=fitted,
        precision="int8",
        size_bytes=10,
        weight_bytes=10,
        difference=0.0,
        agreement=1.0,
        checked=8,
        empty=(),
    )
    shown = str(done)
    assert says in shown
    assert ("gate" in shown) == (fitted is not None)
