"""The paper's gate: the weight of an input shrinks with its distance from the source.

In ONNX, with S the distance before it saturates:

    a = low + room * exp(rate * S)
    low = (1 - tau)(1 - lambda),  room = (1 - tau) lambda,  rate = -(1 - tau)^2
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leantta.gates.gate import Gate, Operator, setting

if TYPE_CHECKING:
    from torch import Tensor

    from leantta.functional import Reading, Shift, Stats


@dataclass(frozen=True, kw_only=True)
class PaperGate(Gate):
    """The paper's gate: `a = (1 - tau) * (1 - lam * d)`, shrinking with the distance `d`.

    >>> PaperGate(tau=1.5)
    Traceback (most recent call last):
    leantta.errors.SettingError: tau must lie in [0, 1], got 1.5
    """

    tau: float = setting(0.9, "Paper's gate: weight of the source. [default: 0.9]")
    lam: float = setting(0.9, "Paper's gate: pull of the distance. [default: 0.9]", key="lambda")

    name = "paper"
    summary = "as published."
    operator = Operator(
        name="AdaptiveNorm",
        constants=("mean_weight",),
        in_float="""
    mean_terms = Mul (mean_weight, squared_mean)
    total = ReduceSum (mean_terms, channels)
""",
        in_int8="""
    total = MatMul (squared_mean, mean_weight)
""",
        after="""
    low_value = Constant <value_float: float = @low> ()
    room_value = Constant <value_float: float = @room> ()
    rate_value = Constant <value_float: float = @rate> ()
    exponent = Mul (total, rate_value)
    near = Exp (exponent)
    part = Mul (room_value, near)
    weight = Add (low_value, part)
""",
        shown="""
    rate = Constant <value_float: float = @rate> ()
    one = Constant <value_float = 1.0> ()
    exponent = Mul (raw, rate)
    near = Exp (exponent)
    distance = Sub (one, near)
""",
    )

    def reading(self, shift: Shift, source: Stats, constants: Mapping[str, Tensor]) -> Reading:
        """Return the distance, which saturates at 1, and the weight of each input."""
        from leantta.functional import paper_gate

        del constants
        return paper_gate(shift, source, tau=self.tau, lam=self.lam)

    def between(self, weight: Tensor) -> Tensor:
        """Return a * tau: the paper mixes with tau and pulls the result back."""
        return weight * self.tau

    def attributes(self) -> dict[str, float]:
        """Return what the weight is made of."""
        free = 1 - self.tau
        return {"low": free * (1 - self.lam), "room": free * self.lam, "rate": -(free**2)}

    def unit_constants(
        self, var: Tensor, scale: Tensor, constants: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """Return p of S = SUM_c p * m^2, m being the mean of u."""
        from leantta.functional import DISTANCE_EPS

        del constants
        return {"mean_weight": scale / (var + DISTANCE_EPS)}
