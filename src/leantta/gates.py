"""How far a layer follows the sample: the settings of the two gates, as values.

Both turn a layer's shift into a weight `a` in [0, 1] for the sample's statistics; the formulas are in
`leantta.functional`.
"""

from dataclasses import dataclass
from typing import Literal

from leantta.errors import SettingError


def _check_unit(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise SettingError(f"{name} must lie in [0, 1], got {value!r}")


@dataclass(frozen=True, kw_only=True)
class PaperGate:
    """The paper's gate: `a = (1 - tau) * (1 - lam * d)`, shrinking with the distance `d`.

    >>> PaperGate(tau=1.5)
    Traceback (most recent call last):
    leantta.errors.SettingError: tau must lie in [0, 1], got 1.5
    """

    tau: float = 0.9  # weight of the source statistics when they are stabilised
    lam: float = 0.9  # lambda: how strongly the distance pulls back to the source

    def __post_init__(self) -> None:
        """Refuse values outside [0, 1]."""
        _check_unit("tau", self.tau)
        _check_unit("lambda", self.lam)


@dataclass(frozen=True, kw_only=True)
class CalibratedGate:
    """The calibrated gate: `a = floor + (ceiling - floor) * max(0, 1 - 1 / D)`, growing with the shift.

    `D` compares the shift with how single source images scatter, so the layer must have seen source images.
    """

    floor: float = 0.0  # a0: weight for an input like the training data
    ceiling: float = 0.4  # a1: weight for an input infinitely far from it
    budget: float | None = None  # clean accuracy it may cost; a larger ceiling is lowered when it is put on

    def __post_init__(self) -> None:
        """Refuse values outside [0, 1] or in the wrong order."""
        _check_unit("floor", self.floor)
        _check_unit("ceiling", self.ceiling)
        if self.budget is not None:
            _check_unit("budget", self.budget)
        if self.floor > self.ceiling:
            raise SettingError(f"floor must not exceed ceiling, got {self.floor!r} > {self.ceiling!r}")


Gate = PaperGate | CalibratedGate
GateName = Literal["paper", "calibrated"]

DEFAULT_GATE = CalibratedGate(budget=0.005)
"""Where source images are at hand. A gate whose floor or ceiling is given is taken as it is."""


def gate_of(gate: Gate | GateName) -> Gate:
    """Return the gate itself, or the default gate of that name.

    >>> gate_of("paper")
    PaperGate(tau=0.9, lam=0.9)
    """
    if isinstance(gate, PaperGate | CalibratedGate):
        return gate
    defaults: dict[str, Gate] = {"paper": PaperGate(), "calibrated": DEFAULT_GATE}
    if gate not in defaults:
        raise SettingError(f"no gate is called {gate!r}; the gates are {', '.join(defaults)}")
    return defaults[gate]
