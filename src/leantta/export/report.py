"""What a conversion did, as a table."""

from dataclasses import dataclass
from pathlib import Path

from leantta.gates import CalibratedGate, Gate
from leantta.surgery.plan import Action, Plan
from leantta.tables import render


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """A file that was written, and how well it reproduces the model."""

    path: Path
    plan: Plan
    asked: Gate
    gate: Gate | None  # as it was fitted to the model; None: nothing adapts
    precision: str
    size_bytes: int
    weight_bytes: int  # of the weights alone
    difference: float  # largest difference of scores to the torch model, as a share of the largest score
    agreement: float  # share of inputs that both decide alike
    checked: int  # on so many calibration inputs
    empty: tuple[str, ...]  # tensors that never left zero; their bytes stand for 0 to 1
    accuracy: tuple[float, float, int] | None = None  # torch model, file, on so many labelled inputs
    noun: str = "images"  # what the inputs are

    def __str__(self) -> str:
        """Return the table."""
        counts = {action: len(self.plan.named(action)) for action in Action}
        ratio = self.size_bytes / max(self.weight_bytes, 1)
        rows = [
            ["file", f"{self.path} ({self.precision})"],
            [
                "layers",
                f"{counts[Action.ADAPT]} adapt, {counts[Action.FUSE]} fused, {counts[Action.KEEP]} kept",
            ],
            *([["gate", _described(self.asked, self.gate)]] if self.gate is not None else []),
            [
                "size",
                f"{self.size_bytes / 1e6:.2f} MB, {ratio:.3f} times the weights alone",
            ],
            [
                "against torch",
                f"same decision on {100 * self.agreement:.1f} % of {self.checked} {self.noun}, scores within "
                f"{100 * self.difference:.2g} % of the largest",
            ],
        ]
        if self.accuracy is not None:
            torch_, file, count = self.accuracy
            found = f"{100 * file:.1f} % (torch {100 * torch_:.1f} %) on {count:,} clean {self.noun}"
            rows.append(["accuracy", found])
        if self.empty:
            rows.append(["note", f"{len(self.empty)} tensors stayed zero, e.g. {self.empty[0]}"])
        return render(["", "result"], rows)


def _described(asked: Gate, gate: Gate) -> str:
    if not isinstance(gate, CalibratedGate):
        return f"paper, tau {gate.tau:g}, lambda {gate.lam:g}"
    found = f"calibrated, weights from {gate.floor:g} to {gate.ceiling:g}"
    if gate.budget is None:
        return found
    assert isinstance(asked, CalibratedGate)  # fitting changes the ceiling alone
    lowered = f"lowered from {asked.ceiling:g} " if gate.ceiling < asked.ceiling else ""
    return f"{found}, {lowered}to cost at most {100 * gate.budget:g} points of clean accuracy"
