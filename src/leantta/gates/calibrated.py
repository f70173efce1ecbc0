"""The calibrated gate: the weight of an input grows with how unlike single source images it is.

In ONNX:

    a = low + max(0, room - room / D)      low = floor, room = ceiling - floor
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from leantta.errors import SettingError
from leantta.gates.gate import Gate, Operator, setting
from leantta.gates.source import Fitted, Source

if TYPE_CHECKING:
    from torch import Tensor

    from leantta.functional import Reading, Shift, Stats

PARTS = (1.0, 0.75, 0.5, 0.375, 0.25, 0.125, 0.0)
"""Of the room between floor and ceiling, in the order in which they are tried."""


@dataclass(frozen=True, kw_only=True)
class CalibratedGate(Gate):
    """The calibrated gate: `a = floor + (ceiling - floor) * max(0, 1 - 1 / D)`, growing with the shift.

    `D` compares the shift with how single source images scatter, so the layer must have seen source images.
    A ceiling that costs more clean accuracy than the budget is lowered when the gate is fitted.
    """

    floor: float = setting(0.0, "Calibrated gate: least weight. [default: 0]")
    ceiling: float = setting(0.4, "Calibrated gate: largest weight. [default: 0.4]")
    budget: float | None = setting(
        None,
        "Calibrated gate: share of clean accuracy that adapting may cost, judged by the\n"
        "model's own probabilities on source images; the ceiling is lowered until it does\n"
        "not. [default: 0.005; no limit if --floor or --ceiling is given]",
    )

    name = "calibrated"
    summary = "the more, the further the input\nis from how single source images scatter."
    needs_images = True
    constants = ("mean_spread", "var_spread")
    operator = Operator(
        name="CalibratedNorm",
        constants=("mean_weight", "var_weight"),
        in_float="""
    mean_terms = Mul (mean_weight, squared_mean)
    squared_excess = Mul (excess, excess)
    var_terms = Mul (var_weight, squared_excess)
    terms = Add (mean_terms, var_terms)
    total = ReduceSum (terms, channels)
""",
        in_int8="""
    mean_total = MatMul (squared_mean, mean_weight)
    squared_excess = Mul (excess, excess)
    var_total = MatMul (squared_excess, var_weight)
    total = Add (mean_total, var_total)
""",
        after="""
    low_value = Constant <value_float: float = @low> ()
    room_value = Constant <value_float: float = @room> ()
    least = Constant <value_float = 1e-30> ()
    safe_total = Max (total, least)
    shrunk = Div (room_value, safe_total)
    rest = Sub (room_value, shrunk)
    part = Relu (rest)
    weight = Add (low_value, part)
""",
    )

    def __post_init__(self) -> None:
        """Refuse values outside [0, 1] or in the wrong order."""
        super().__post_init__()
        if self.floor > self.ceiling:
            raise SettingError(f"floor must not exceed ceiling, got {self.floor!r} > {self.ceiling!r}")

    @classmethod
    def default(cls) -> CalibratedGate:
        """Return the gate with a budget."""
        return cls(budget=0.005)

    def changed(self, **values: float) -> CalibratedGate:
        """Return the gate with these settings; one whose floor or ceiling is given is taken as it is."""
        budget = None if values.keys() - {"budget"} else self.budget
        return replace(self, **{"budget": budget, **values})  # type: ignore[arg-type] # fields by name

    def described(self, asked: Gate) -> str:
        """Return the range of weights, and what became of the ceiling."""
        line = f"{self.name}, weights from {self.floor:g} to {self.ceiling:g}"
        if self.budget is None:
            return line
        is_lower = isinstance(asked, CalibratedGate) and self.ceiling < asked.ceiling
        lowered = f"lowered from {asked.ceiling:g} " if is_lower else ""  # type: ignore[attr-defined] # see above
        return f"{line}, {lowered}to cost at most {100 * self.budget:g} points of clean accuracy"

    def comes_from(self, asked: Gate) -> bool:
        """Tell whether this is the gate that was asked for, but for a ceiling that was lowered to fit."""
        if isinstance(asked, CalibratedGate) and asked.budget is not None:
            return replace(self, ceiling=asked.ceiling) == asked
        return self == asked

    def fit(self, source: Source) -> Fitted:
        """Return the gate with the largest ceiling that keeps its budget, and the spreads of the layers.

        A model that decides nothing keeps the ceiling.
        """
        spreads = {
            name: {"mean_spread": spread.mean, "var_spread": spread.var}
            for name, spread in source.spreads().items()
        }
        if self.budget is None:
            return Fitted(self, spreads)
        progress = source.progress("ceiling")
        for place, part in enumerate(PARTS):
            progress(place, len(PARTS))
            tried = replace(self, ceiling=round(self.floor + part * (self.ceiling - self.floor), 6))
            cost = source.cost(tried, spreads, most=self.budget)
            if cost is None:
                return Fitted(self, spreads)
            if cost <= self.budget:
                break
        progress(len(PARTS), len(PARTS))
        return Fitted(tried, spreads)

    def reading(self, shift: Shift, source: Stats, constants: Mapping[str, Tensor]) -> Reading:
        """Return D, about 1 for source-like inputs, and the weight of each input."""
        from leantta.functional import Spread, calibrated_gate

        del source
        spread = Spread(constants["mean_spread"], constants["var_spread"])
        return calibrated_gate(shift, spread, floor=self.floor, ceiling=self.ceiling)

    def attributes(self) -> dict[str, float]:
        """Return what the weight is made of."""
        return {"low": self.floor, "room": self.ceiling - self.floor}

    def unit_constants(
        self, var: Tensor, scale: Tensor, constants: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """Return p and q of D = SUM_c p * m^2 + q * (v - r)^2, m and v being mean and variance of u."""
        del var
        share = 0.5 / max(1, int(constants["mean_spread"].isfinite().sum()))  # dead channels do not count
        return {
            "mean_weight": share * scale / constants["mean_spread"].double(),
            "var_weight": share * scale**2 / constants["var_spread"].double(),
        }
