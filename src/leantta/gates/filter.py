"""The shift filter: what happened to an input is taken out of its statistics, what is in it stays.

A linear map, fitted on source images and disturbed copies of them, estimates which part of the features f of
an input (see `leantta.functional.features`) is shift.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from leantta.errors import SettingError
from leantta.gates.filter_operator import ANSWER, STREAM_ANSWER, filter_operator
from leantta.gates.gate import Gate, setting
from leantta.gates.paper import PaperGate
from leantta.gates.source import Fitted, Source

if TYPE_CHECKING:
    from torch import Tensor

    from leantta.disturbances.copies import Copies
    from leantta.functional import Reading, Shift, Stats
    from leantta.layer_memory import LayerMemory
    from leantta.pixels import Inputs

LAST = 4
"""Layers at the end of a network that may have a filter beside those of its first half."""


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
    most_layers: float | None = setting(
        None,
        "Shift filter: layers that adapt, at most: the first ones that help. Fewer are quicker\n"
        "and correct less. [default: no limit]",
        key="most-layers",
        least=1,
        most=1000,
    )
    seed: int = field(default=0, compare=False)  # of the disturbances that it is fitted on

    name = "filter"
    summary = "what is known of shifts is\nremoved, each channel on its own."
    needs_images = True
    uses_field = True
    images = 1000
    layers = "ends"
    constants = ("into", "back", "share")
    operator = filter_operator("FilterNorm", ANSWER, streams=False)
    stream_operator = filter_operator("DomainFilterNorm", STREAM_ANSWER, streams=True)

    def described(self, asked: Gate) -> str:
        """Return what the filter may cost."""
        del asked
        limit = "" if self.most_layers is None else f", in {int(self.most_layers)} layers at most"
        return f"{self.name}, to cost at most {100 * self.budget:g} points of clean accuracy{limit}"

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
            constants, report = fit_filters(
                subject,
                rank=int(self.rank),
                budget=self.budget,
                most=None if self.most_layers is None else int(self.most_layers),
                seed=self.seed,
            )
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
