"""Fit shift filters, and look at what came out."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

import leantta
from leantta.disturbances.copies import Disturbances
from leantta.filtering.report import FilterReport
from leantta.gates.filter import FilterGate
from leantta.gates.gate import Gate
from leantta.surgery.adaptation import Adaptation
from leantta.surgery.apply import fit
from leantta.surgery.plan import Plan


def fitted(
    model: nn.Module,
    images: Tensor,
    disturbances: Disturbances | None = None,
    *,
    gate: Gate | None = None,
    layers: str = "all",
    field: Tensor | list[Tensor] | None = None,
) -> Plan:
    asked = leantta.plan(model, images[:2], Adaptation(layers=layers, gate=gate or FilterGate()))
    return fit(model, asked, images, field=field, disturbances=disturbances)


def report_of(plan: Plan) -> FilterReport:
    assert isinstance(plan.report, FilterReport)
    return plan.report


def same(one: Mapping[str, Mapping[str, Tensor]], other: Mapping[str, Mapping[str, Tensor]]) -> bool:
    return one.keys() == other.keys() and all(
        torch.equal(value, other[layer][name]) for layer, kept in one.items() for name, value in kept.items()
    )
