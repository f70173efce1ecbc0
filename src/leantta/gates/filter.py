"""The shift filter: what happened to an input is taken out of its statistics, what is in it stays.

A linear map, fitted on source images and disturbed copies of them, estimates which part of the features f of
an input (see `leantta.functional.features`) is shift. In ONNX:

    z = f @ into;   S = (z * z) @ weight;   a = max(0, 1 - shrink / S);   c = a * z @ back
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from leantta.gates.gate import Gate, Operator, setting
from leantta.gates.paper import PaperGate
from leantta.gates.source import Fitted, Source

if TYPE_CHECKING:
    from torch import Tensor

    from leantta.functional import Reading, Shift, Stats

FEATURES = """
    unit = Constant <value_float = 1.0> ()
    least_var = Constant <value_float = 1e-30> ()
    low_log = Constant <value_float = -4.0> ()
    high_log = Constant <value_float = 4.0> ()
    grown = Add (unit, excess)
    safe_grown = Max (grown, least_var)
    log_grown = Log (safe_grown)
    log_var = Clip (log_grown, low_log, high_log)
"""
ANSWER = """
    seen = MatMul (features, into)
    squares = Mul (seen, seen)
    total = MatMul (squares, weight)
    shrink_value = Constant <value_float: float = @shrink> ()
    least_total = Constant <value_float = 1e-30> ()
    safe_total = Max (total, least_total)
    lost = Div (shrink_value, safe_total)
    rest = Sub (unit, lost)
    part = Relu (rest)
    shown = Mul (part, seen)
    answer = MatMul (shown, back)
    low_answer = Constant <value_float = -3.0> ()
    high_answer = Constant <value_float = 3.0> ()
"""


@dataclass(frozen=True, kw_only=True)
class FilterGate(Gate):
    """The shift filter: a linear estimate of what happened to the input is removed from its statistics.

    Fitting decides which layers have one: those with which decisions on held-out images, under disturbances
    that the fit never saw, come nearer to those on the clean images, within the budget.
    """

    shrink: float = setting(
        1.0,
        "Shift filter: inputs nearer to the source than this distance are left alone, those\n"
        "a little further are corrected in part; 1 is the mean of source images. [default: 1]",
        most=10,
    )
    rank: float = setting(
        16, "Shift filter: directions of shift that a layer knows, at most. [default: 16]", least=1, most=512
    )
    budget: float = setting(
        0.005,
        "Calibrated gate and shift filter: share of clean accuracy that adapting may cost,\n"
        "judged by the model's own probabilities on source images. [default: 0.005; no limit\n"
        "if --floor or --ceiling is given]",
    )
    seed: int = field(default=0, compare=False)  # of the disturbances that it is fitted on

    name = "filter"
    summary = "what is known of shifts is\nremoved, each channel on its own."
    needs_images = True
    images = 1000
    constants = ("into", "back", "share")
    operator = Operator(
        name="FilterNorm",
        constants=("into", "back", "weight"),
        in_float=f"""{FEATURES}
    means = Squeeze (mean, positions)
    logs = Squeeze (log_var, positions)
    features = Concat <axis = 1> (means, logs)
    {ANSWER}
    mean_part, log_part = Split <axis = 1, num_outputs = 2> (answer)
    moved_mean = Unsqueeze (mean_part, positions)
    near = Clip (log_part, low_answer, high_answer)
    growth = Exp (near)
    new_var = Unsqueeze (growth, positions)
""",
        in_int8=f"""{FEATURES}
    features = Concat <axis = -1> (mean, log_var)
    {ANSWER}
    moved_mean, log_part = Split <axis = -1, num_outputs = 2> (answer)
    near = Clip (log_part, low_answer, high_answer)
    new_var = Exp (near)
""",
        after="",
        new_var="",
        moved_mean="",
    )

    def described(self, asked: Gate) -> str:
        """Return what the filter may cost."""
        del asked
        return f"{self.name}, to cost at most {100 * self.budget:g} points of clean accuracy"

    def fit(self, source: Source) -> Fitted:
        """Return the filters of the layers that help, or the paper's gate if there is nothing to go by."""
        import torch

        from leantta.filtering.report import FilterReport
        from leantta.filtering.search import Subject, UnfitError, fit_filters

        subject = Subject(
            layers=source.layers,
            images=torch.cat(list(source.batches)) if source.batches else torch.zeros(0),
            filtered=partial(source.adapting_only, self),
            copies=source.copies,
            progress=source.progress("filter"),
        )
        try:
            constants, report = fit_filters(subject, rank=int(self.rank), budget=self.budget, seed=self.seed)
        except UnfitError as e:
            note = f"{e}. The paper's gate, which needs no images, takes the filter's place."
            return Fitted(PaperGate.default(), {}, FilterReport(notes=(note,)))
        return Fitted(self, constants, report)

    def statistics(
        self,
        shift: Shift,
        source: Stats,
        constants: Mapping[str, Tensor],
        *,
        eps: float,
        counts: Tensor | None,
        mixture_variance: bool,
    ) -> tuple[Stats, Reading]:
        """Return the source statistics moved by the part of the shift that the filter sees."""
        from leantta.functional import Filter, features, filtered, moved

        del counts, mixture_variance
        parts = Filter(*(constants[name].to(shift.mean.dtype) for name in self.constants))
        answer, reading = filtered(features(shift, source, eps), parts, shrink=self.shrink)
        return moved(source, answer, eps), reading

    def attributes(self) -> dict[str, float]:
        """Return the distance up to which nothing is done."""
        return {"shrink": self.shrink}

    def unit_constants(
        self, var: Tensor, scale: Tensor, constants: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """Return the filter as it is: its features are in the units of u."""
        del var, scale
        return {
            "into": constants["into"],
            "back": constants["back"],
            "weight": constants["share"].unsqueeze(1),
        }
