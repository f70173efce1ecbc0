"""What a conversion did, as a table."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from torch import nn

from leantta.evaluate.intervals import wilson
from leantta.export.check import Compared, agreement_of
from leantta.gates.gate import Gate
from leantta.quantize.choice import Prepared
from leantta.quantize.lowering import InFloat
from leantta.surgery.plan import Action, Plan
from leantta.tables import render

SHOWN = 3
"""How many kinds of operators in float32 the table names."""

ENOUGH_AGREEMENT, SURE, MOST_LOST = 0.97, 100, 0.01
"""Share of like decisions that int8 should reach, images that can tell it, and accuracy that may be lost."""


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """A file that was written, and how well it reproduces the model."""

    path: Path
    adapted: nn.Module = field(repr=False)  # the torch model that the file stands for
    plan: Plan
    asked: Gate
    gate: Gate | None  # as it was fitted to the model; None: nothing adapts
    precision: str
    size_bytes: int
    weight_bytes: int  # of the weights alone
    compared: tuple[Compared, ...]  # each output with the torch model's
    checked: int  # on so many calibration inputs
    held_out: bool = False  # whether these gave no range and chose nothing
    empty: tuple[str, ...]  # tensors that never left zero; their bytes stand for 0 to 1
    in_float: tuple[InFloat, ...]  # operators that an int8 file computes in float32, and why
    operators: int  # how many the int8 file has, those included; 0: the file is no int8
    float_share: float = 0.0  # of the multiply-adds, what those are
    prepared: Prepared | None = None  # what was done against rounding errors
    accuracy: tuple[float, float, int] | None = None  # torch model, file, on so many labelled inputs
    noun: str = "images"  # what the inputs are

    @property
    def difference(self) -> float:
        """The largest difference of an output to the torch model's, as a share of its largest value."""
        return max(each.difference for each in self.compared)

    @property
    def agreement(self) -> float | None:
        """The share of decisions, for inputs or for pixels, that both make alike; None if there are none."""
        return agreement_of(self.compared)

    def __str__(self) -> str:
        """Return the table."""
        counts = {action: len(self.plan.named(action)) for action in Action}
        ratio = self.size_bytes / max(self.weight_bytes, 1)
        actions = f"{counts[Action.ADAPT]} adapt, {counts[Action.FUSE]} fused, {counts[Action.KEEP]} kept"
        rows = [["file", f"{self.path} ({self.precision})"], ["layers", actions]]
        if self.gate is not None:
            rows.append(["gate", self.gate.described(self.asked)])
        if self.operators:
            share = f"; {100 * self.float_share:.2g} % of the multiply-adds" if self.in_float else ""
            rows.append(["in float32", _in_float(self.in_float, self.operators) + share])
        if self.prepared is not None:
            rows.append(["int8", ", ".join(self.prepared.remedies())])
        rows += [
            ["size", f"{self.size_bytes / 1e6:.2f} MB, {ratio:.3f} times the weights alone"],
            *(self._against_torch(each) for each in self.compared),
        ]
        if self.accuracy is not None:
            torch_, file, count = self.accuracy
            said = f"{100 * file:.1f} % (torch {100 * torch_:.1f} %) on {count:,} clean {self.noun}"
            rows.append(["accuracy", said])
        rows += [["warning", text] for text in self.warnings()]
        if self.empty:
            rows.append(["note", f"{len(self.empty)} tensors stayed zero, e.g. {self.empty[0]}"])
        table = render(["", "result"], rows)
        return table if self.plan.report is None else f"{self.plan.report}\n\n{table}"

    def _against_torch(self, each: Compared) -> list[str]:
        """Return a row of the table: how one output compares."""
        seen = f"{self.checked} {self.noun}{' held out' if self.held_out else ', which gave the ranges'}"
        worst, usual = (f"{100 * value:.2g} %" for value in (each.difference, each.typical))
        if each.agreement is None:
            said = f"within {worst} of the largest, usually {usual}, on {seen}"
        elif each.head.role == "map":  # pixels of an image are no independent decisions: no interval
            said = f"same decision on {100 * each.agreement:.1f} % of the pixels of {seen}"
            said += f", scores within {worst} of the largest"
        else:
            share = wilson(round(each.agreement * self.checked), self.checked)
            said = (
                f"same decision on {100 * share.value:.1f} % [{100 * share.low:.1f}, {100 * share.high:.1f}]"
            )
            said += f" of {seen}, scores within {worst} of the largest"
        return ["against torch" if len(self.compared) == 1 else f"{each.head.name}, against torch", said]

    def warnings(self) -> tuple[str, ...]:
        """Return what costs more than it should, and what to do."""
        told = []
        agreement = self.agreement
        if self.precision == "int8" and agreement is not None and agreement < ENOUGH_AGREEMENT:
            few = "" if self.checked >= SURE else " Few images tell that; give more to --calibration."
            told.append(
                f"int8 decides differently on {100 * (1 - agreement):.1f} % of the {self.noun}. Raise "
                f"--float-budget, or try --precision fp32.{few}"
            )
        lost = 0.0 if self.accuracy is None else self.accuracy[0] - self.accuracy[1]
        if lost > MOST_LOST:
            told.append(
                f"the file loses {100 * lost:.1f} points of accuracy against "
                "torch. Calibrate with more and with typical images, or raise --float-budget."
            )
        cost = getattr(self.plan.report, "cost", None)
        if cost is not None and cost.mean > MOST_LOST:
            told.append(
                f"adapting costs {100 * cost.mean:.1f} points on clean {self.noun}, as the model judges it. "
                "Lower --budget, or leave adapting out with --adapt none."
            )
        return tuple(told)


def _in_float(those: Sequence[InFloat], operators: int) -> str:
    """Return what is computed in float32, the commonest kinds first.

    >>> _in_float([InFloat("Exp", "a", "no int8 rule")] * 2 + [InFloat("Mul", "b", "reads float32")], 9)
    '3 of 9 operators: 2 Exp (no int8 rule), 1 Mul (reads float32)'
    """
    kinds = Counter((each.op, each.reason) for each in those).most_common()
    told = [f"{count} {op} ({reason})" for (op, reason), count in kinds[:SHOWN]]
    more = ["..."] if len(kinds) > SHOWN else []
    listed = f": {', '.join([*told, *more])}" if told else ""
    return f"{len(those) or 'none'} of {operators} operators{listed}"
