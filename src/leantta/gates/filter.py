"""The shift filter: what happened to an input is taken out of its statistics, what is in it stays.

A linear map, fitted on source images and disturbed copies of them, estimates which part of the features f of
an input (see `leantta.functional.features`) is shift. In ONNX:

    z = f @ into;   S = (z * z) @ weight;   a = max(0, 1 - shrink / S);   c = a * z @ back
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import exp
from typing import TYPE_CHECKING

from leantta.errors import SettingError
from leantta.gates.gate import Gate, Operator, setting
from leantta.gates.paper import PaperGate
from leantta.gates.source import Fitted, Source
from leantta.memory import AGREEMENT_OVER, DOMAIN, DOUBT, FULL_AGREEMENT, LEAST_AGREEMENT, NOW

if TYPE_CHECKING:
    from torch import Tensor

    from leantta.disturbances.copies import Copies
    from leantta.functional import Reading, Shift, Stats
    from leantta.layer_memory import LayerMemory
    from leantta.pixels import Inputs

LAST = 4
"""Layers at the end of a network that may have a filter beside those of its first half."""

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
PART = """
    squares = Mul (seen, seen)
    total = MatMul (squares, weight)
    least_total = Constant <value_float = 1e-30> ()
    safe_total = Max (total, least_total)
    shrink_value = Constant <value_float: float = @shrink> ()
    lost = Div (shrink_value, safe_total)
    rest = Sub (unit, lost)
    part = Relu (rest)
"""
ANSWER = f"""
    seen = MatMul (features, into)
    {PART}
    shown = Mul (part, seen)
    answer = MatMul (shown, back)
"""
LIMITS = """
    low_answer = Constant <value_float = -3.0> ()
    high_answer = Constant <value_float = 3.0> ()
"""
STREAM_ANSWER = f"""
    directions = MatMul (features, into)
    seen = Flatten <axis = 1> (directions)
    columns = Constant <value_ints = [1]> ()
    first = Constant <value_ints = [0]> ()
    at_count = Constant <value_ints = [-2]> ()
    at_agreement = Constant <value_ints = [-1]> ()
    end = Constant <value_ints = [1000000]> ()
    rank = Shape <start = 0, end = 1> (weight)
    means_before = Slice (before, first, at_count, columns)
    mean_before = Slice (means_before, first, rank, columns)
    count_before = Slice (before, at_count, at_agreement, columns)
    agreement_before = Slice (before, at_agreement, end, columns)
    zero = Constant <value_float = 0.0> ()
    {PART}
    squares_before = Mul (mean_before, mean_before)
    size = MatMul (squares_before, weight)
    safe_size = Max (size, least_total)
    products = Mul (seen, mean_before)
    common = MatMul (products, weight)
    ratio_of_both = Div (common, safe_size)
    least_agreement = Constant <value_float = -1.0> ()
    near_ratio = Clip (ratio_of_both, least_agreement, unit)
    has_memory = Cast <to = 9> (count_before)
    agrees = Where (has_memory, near_ratio, zero)
    change = Sub (agrees, agreement_before)
    over = Constant <value_float = {AGREEMENT_OVER}> ()
    step = Div (change, over)
    new_agreement = Add (agreement_before, step)
    doubt = Constant <value_float = {DOUBT}> ()
    doubted = Min (new_agreement, doubt)
    is_against = Less (agrees, zero)
    agreement = Where (is_against, doubted, new_agreement)
    kept_count = Where (is_against, zero, count_before)
    more = Add (kept_count, unit)
    length_value = Constant <value_float: float = @length> ()
    count = Min (more, length_value)
    least_grown = Constant <value_float = {exp(-4.0)}> ()
    most_grown = Constant <value_float = {exp(4.0)}> ()
    near_grown = Clip (grown, least_grown, most_grown)
    mean_square_now = Add (near_grown, squared_mean)
    first_moment = Flatten <axis = 1> (mean)
    second_moment = Flatten <axis = 1> (mean_square_now)
    means_now = Concat <axis = 1> (seen, first_moment, second_moment)
    way = Sub (means_now, means_before)
    part_of_way = Div (way, count)
    means_after = Add (means_before, part_of_way)
    after = Concat <axis = 1> (means_after, count, agreement)
    mean_after = Slice (means_after, first, rank, columns)
    squares_after = Mul (mean_after, mean_after)
    size_after = MatMul (squares_after, weight)
    total_of_mean = Mul (count, size_after)
    safe_total_of_mean = Max (total_of_mean, least_total)
    lost_of_mean = Div (shrink_value, safe_total_of_mean)
    rest_of_mean = Sub (unit, lost_of_mean)
    part_of_mean = Relu (rest_of_mean)
    lowest = Constant <value_float = {LEAST_AGREEMENT}> ()
    room = Constant <value_float = {FULL_AGREEMENT - LEAST_AGREEMENT}> ()
    above = Sub (agreement, lowest)
    share = Div (above, room)
    trust = Clip (share, zero, unit)
    doubt_left = Sub (unit, trust)
    alone = Mul (doubt_left, part)
    trusted = Mul (trust, part_of_mean)
    now = Constant <value_float = {NOW}> ()
    of_now = Mul (now, trusted)
    factor = Add (alone, of_now)
    shown = Mul (factor, seen)
    of_filter = MatMul (shown, back)
    moments = Slice (means_after, rank, end, columns)
    domain_mean, domain_square = Split <axis = 1, num_outputs = 2> (moments)
    squared_domain_mean = Mul (domain_mean, domain_mean)
    domain_var = Sub (domain_square, squared_domain_mean)
    safe_domain_var = Max (domain_var, least_var)
    log_domain_var = Log (safe_domain_var)
    near_domain_var = Clip (log_domain_var, low_log, high_log)
    domain = Concat <axis = 1> (domain_mean, near_domain_var)
    domain_weight = Constant <value_float = {DOMAIN}> ()
    of_domain = Mul (domain_weight, trusted)
    moved_by_domain = Mul (of_domain, domain)
    flat_answer = Add (of_filter, moved_by_domain)
    as_seen = Shape (features)
    answer = Reshape (flat_answer, as_seen)
"""


def _operator(name: str, answer: str, *, streams: bool) -> Operator:
    return Operator(
        name=name,
        constants=("into", "back", "weight"),
        streams=streams,
        in_float=f"""{FEATURES}
    means = Squeeze (mean, positions)
    logs = Squeeze (log_var, positions)
    features = Concat <axis = 1> (means, logs)
    {answer}{LIMITS}
    mean_part, log_part = Split <axis = 1, num_outputs = 2> (answer)
    moved_mean = Unsqueeze (mean_part, positions)
    near = Clip (log_part, low_answer, high_answer)
    growth = Exp (near)
    new_var = Unsqueeze (growth, positions)
""",
        in_int8=f"""{FEATURES}
    features = Concat <axis = -1> (mean, log_var)
    {answer}{LIMITS}
    moved_mean, log_part = Split <axis = -1, num_outputs = 2> (answer)
    near = Clip (log_part, low_answer, high_answer)
    new_var = Exp (near)
""",
        after="",
        new_var="",
        moved_mean="",
    )


def _disturbed(source: Source, inputs: Inputs, seed: int) -> Copies:
    """Return disturbed copies, for fitting; no library may be for such inputs."""
    from leantta.filtering.images import UnfitError

    try:
        return source.copies(inputs, seed)
    except SettingError as e:
        raise UnfitError(str(e)) from e


def _joined(batches: Sequence[Inputs]) -> Inputs:
    import torch

    from leantta.pixels import joined_inputs

    return joined_inputs(batches) if batches else torch.zeros(0)


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
    uses_field = True
    images = 1000
    layers = "ends"
    constants = ("into", "back", "share")
    operator = _operator("FilterNorm", ANSWER, streams=False)
    stream_operator = _operator("DomainFilterNorm", STREAM_ANSWER, streams=True)

    def described(self, asked: Gate) -> str:
        """Return what the filter may cost."""
        del asked
        return f"{self.name}, to cost at most {100 * self.budget:g} points of clean accuracy"

    def fit(self, source: Source) -> Fitted:
        """Return the filters of the layers that help, or the paper's gate if there is nothing to go by."""
        from leantta.filtering.images import UnfitError
        from leantta.filtering.report import FilterReport
        from leantta.filtering.search import fit_filters
        from leantta.filtering.subject import Subject

        subject = Subject(
            gate=repr(self),
            layers=source.layers,
            last=LAST,
            images=_joined(source.batches),
            filtered=partial(source.adapting_only, self),
            copies=partial(_disturbed, source),
            progress=source.progress,
            field=None if source.field is None else _joined(source.field),
            resume=source.resume,
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
        mixture_variance: bool,
        memory: LayerMemory | None = None,
    ) -> tuple[Stats, Reading]:
        """Return the source statistics moved by the part of the shift that the filter sees."""
        from leantta.functional import Filter, features, filtered, moved

        del mixture_variance
        parts = Filter(*(constants[name].to(shift.mean.dtype) for name in self.constants))
        seen = features(shift, source, eps)
        if memory is None:
            answer, reading = filtered(seen, parts, shrink=self.shrink)
        else:
            answer, reading = memory.follow(seen, parts, shrink=self.shrink)
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
