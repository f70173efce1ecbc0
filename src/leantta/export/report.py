"""What a conversion did, as a table."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from torch import nn

from leantta.export.check import Compared
from leantta.gates.gate import Gate
from leantta.quantize.lowering import InFloat
from leantta.surgery.plan import Action, Plan
from leantta.tables import render

SHOWN = 3
"""How many kinds of operators in float32 the table names."""


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
    empty: tuple[str, ...]  # tensors that never left zero; their bytes stand for 0 to 1
    in_float: tuple[InFloat, ...]  # operators that an int8 file computes in float32, and why
    operators: int  # how many the int8 file has, those included; 0: the file is no int8
    accuracy: tuple[float, float, int] | None = None  # torch model, file, on so many labelled inputs
    noun: str = "images"  # what the inputs are

    @property
    def difference(self) -> float:
        """The largest difference of an output to the torch model's, as a share of its largest value."""
        return max(each.difference for each in self.compared)

    @property
    def agreement(self) -> float | None:
        """The share of decisions, for inputs or for pixels, that both make alike; None if there are none."""
        return next((each.agreement for each in self.compared if each.agreement is not None), None)

    def __str__(self) -> str:
        """Return the table."""
        counts = {action: len(self.plan.named(action)) for action in Action}
        ratio = self.size_bytes / max(self.weight_bytes, 1)
        actions = f"{counts[Action.ADAPT]} adapt, {counts[Action.FUSE]} fused, {counts[Action.KEEP]} kept"
        rows = [["file", f"{self.path} ({self.precision})"], ["layers", actions]]
        if self.gate is not None:
            rows.append(["gate", self.gate.described(self.asked)])
        if self.operators:
            rows.append(["in float32", _in_float(self.in_float, self.operators)])
        rows += [
            ["size", f"{self.size_bytes / 1e6:.2f} MB, {ratio:.3f} times the weights alone"],
            *(self._against_torch(each) for each in self.compared),
        ]
        if self.accuracy is not None:
            torch_, file, count = self.accuracy
            said = f"{100 * file:.1f} % (torch {100 * torch_:.1f} %) on {count:,} clean {self.noun}"
            rows.append(["accuracy", said])
        if self.empty:
            rows.append(["note", f"{len(self.empty)} tensors stayed zero, e.g. {self.empty[0]}"])
        table = render(["", "result"], rows)
        return table if self.plan.report is None else f"{self.plan.report}\n\n{table}"

    def _against_torch(self, each: Compared) -> list[str]:
        """Return a row of the table: how one output compares."""
        lone = len(self.compared) == 1
        if each.head.role == "array":
            said = (
                f"within {100 * each.difference:.2g} % of the largest, usually {100 * each.typical:.2g} %, "
            )
            said += f"on {self.checked} {self.noun}"
        else:
            assert each.agreement is not None  # it decides
            of = f"{self.checked} {self.noun}"
            where = of if each.head.role == "classes" else f"the pixels of {of}"
            said = f"same decision on {100 * each.agreement:.1f} % of {where}, scores within "
            said += f"{100 * each.difference:.2g} % of the largest"
        return ["against torch" if lone else f"{each.head.name}, against torch", said]


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
