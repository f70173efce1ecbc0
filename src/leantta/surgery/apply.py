"""Carry out a plan: a new model comes out, the one given is untouched."""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from torch import Tensor, nn

from leantta.disturbances.copies import Disturbances
from leantta.errors import NoLayerMatchedError, SettingError
from leantta.functional import wide
from leantta.gates.gate import Gate
from leantta.gates.source import Constants
from leantta.gates.table import DEFAULT_GATE, DEFAULT_WITHOUT_IMAGES, gate_of
from leantta.memory import StreamMemory
from leantta.nn import AdaptiveNorm, ChannelAffine
from leantta.pixels import Inputs as Given
from leantta.progress import Progresses, silent
from leantta.surgery.adaptation import DEFAULT_LAYERS, Adaptation, Selector
from leantta.surgery.fitting import SourceImages
from leantta.surgery.flow import Inputs
from leantta.surgery.fuse import fuse
from leantta.surgery.layers import (
    BatchNorm,
    adaptive_type,
    affine,
    batchnorms,
    followers,
    source_stats,
    unwrap,
)
from leantta.surgery.observe import batches_of
from leantta.surgery.plan import Action, Plan, Row, plan


def adapt(
    model: nn.Module,
    example: Inputs,
    layers: Selector = DEFAULT_LAYERS,
    *,
    gate: Gate | str | None = None,
    calibration: Tensor | Iterable[Tensor] | None = None,
    field: Tensor | Iterable[Tensor] | None = None,
    mixture_variance: bool = False,
    adapt_vectors: bool = False,
    memory: StreamMemory | None = None,
) -> nn.Module:
    """Return a copy of the model whose selected BatchNorm layers adapt to each input; the others are fused.

    `example` is an input the model runs on. With `calibration`, source images as the model takes them (one
    tensor or batches), the gate is the shift filter, without them the paper's. Fitting the filter takes a
    minute or more, and only layers that help within its budget adapt. With fewer than 24 different images the
    paper's gate takes its place. `field` are unlabelled images from where the model will run, 24 or more: the
    filter is fitted to what is shifted there, too. With a `memory` the layers remember the inputs before,
    until `leantta.forget`; without, a call leaves no trace. See `plan` for what each layer does and why.

    >>> import torch
    >>> model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8))
    >>> adapt(model, torch.zeros(1, 3, 16, 16))[1]
    AdaptiveNorm2d(8, PaperGate(tau=0.9, lam=0.9), eps=1e-05)
    """
    chosen = gate_of(gate or (DEFAULT_WITHOUT_IMAGES if calibration is None else DEFAULT_GATE))
    if chosen.needs_images and calibration is None:
        raise SettingError(f"the {chosen.name} gate needs source images: pass calibration=images")
    if calibration is not None and not chosen.needs_images:
        raise SettingError(f"the {chosen.name} gate uses no calibration images; leave out one of the two")
    _check_field(chosen, field)
    adaptation = Adaptation(
        layers=layers,
        gate=chosen,
        mixture_variance=mixture_variance,
        adapt_vectors=adapt_vectors,
        memory=memory,
    )
    decisions = plan(model, example, adaptation)
    return apply(model, decisions if calibration is None else fit(model, decisions, calibration, field=field))


def fit(
    model: nn.Module,
    plan: Plan,
    images: Given | Iterable[Given],
    *,
    field: Given | Iterable[Given] | None = None,
    disturbances: Disturbances | None = None,
    resume: Path | None = None,
    progress: Progresses = lambda _: silent,
) -> Plan:
    """Return the plan with its gate fitted to the model on source images, and the gate's constants per layer.

    `images` are as the model takes them, one tensor or batches. A gate that needs none stays as it is. The
    shift filter is fitted on disturbed copies of them; without `disturbances` on such as suit their shape. It
    may leave layers out: those are fused. `field` are unlabelled images from where the model will run, which
    the shift filter is fitted on, too. Fitting the shift filter keeps what it has found in the file `resume`
    after each layer. A fit of the same that was stopped goes on from there, and one that was finished has
    nothing left to do. The file of another fit is replaced; the caller removes it in the end.

    Raises:
        DataError: there are no images, or some are not finite; or the field images are of another shape, or
            fewer than 24 different ones.
        SettingError: the gate uses no field images.
        UnsupportedModelError: the model does not run on them.
        StorageError: `resume` cannot be written.
    """
    layers, asked = plan.named(Action.ADAPT), plan.adaptation
    _check_field(asked.gate, field)
    if not layers or not asked.gate.needs_images:
        return plan

    def adapting(gate: Gate, constants: Constants) -> nn.Module:
        tried = replace(asked, gate=gate, memory=None)
        return apply(model, replace(plan, adaptation=tried, constants=constants))

    def adapting_only(gate: Gate, constants: Constants) -> nn.Module:
        tried = replace(asked, gate=gate, memory=None)
        rows = tuple(
            row if row.name in constants else replace(row, action=Action.KEEP, untouched=True)
            for row in plan.rows
        )
        return apply(model, replace(plan, rows=rows, adaptation=tried, constants=constants))

    source = SourceImages(
        unwrap(model),
        layers,
        batches_of(images),
        adapting,
        adapting_only,
        progress,
        disturbances,
        None if field is None else batches_of(field),
        resume,
    )
    gate, constants, report = asked.gate.fit(source)
    found = replace(asked, gate=gate, memory=asked.memory if gate.remembers else None)
    return narrowed(replace(plan, adaptation=found, report=report), constants)


def narrowed(plan: Plan, constants: Constants) -> Plan:
    """Return a fitted plan with these constants; layers that its gate has none for do not adapt."""
    gate = plan.adaptation.gate
    rows = tuple(_left_out(row) if _is_left_out(row, gate, constants) else row for row in plan.rows)
    return replace(plan, rows=rows, constants=constants)


def _check_field(gate: Gate, field: object) -> None:
    """Refuse field images that the gate cannot use."""
    if field is not None and not gate.uses_field:
        raise SettingError(
            f"the {gate.name} gate uses no field images. The shift filter does, beside source images: "
            'gate="filter", calibration=images'
        )


def _is_left_out(row: Row, gate: Gate, constants: Constants) -> bool:
    """Tell whether a layer was to adapt and fitting decided against it."""
    return row.action is Action.ADAPT and gate.needs_images and row.name not in constants


def _left_out(row: Row) -> Row:
    """Return the row of a layer that does not adapt after all."""
    action = Action.KEEP if row.producer is None else Action.FUSE
    return replace(row, action=action, reason="adapting it does not help")


def apply(model: nn.Module, plan: Plan) -> nn.Module:
    """Return a copy of the model in eval mode, changed as planned.

    Raises:
        NoLayerMatchedError: the plan was made for another model.
        SettingError: the gate needs source images and has not seen them; see `fit`.
    """
    lean = copy.deepcopy(unwrap(model)).eval()
    norms = batchnorms(lean)
    _check(plan, norms)
    new: dict[nn.Module, nn.Module] = {}
    for row in plan.rows:
        norm = norms[row.name]
        if row.action is Action.ADAPT:
            layer = _adaptive(norm, plan.adaptation)
            for name, value in plan.constants.get(row.name, {}).items():
                setattr(layer, name, value.clone())
            new[norm] = _with_followers(layer, norm)
        elif row.action is Action.FUSE:
            assert row.producer is not None  # the planner fuses nothing without one
            producer = lean.get_submodule(row.producer)
            new[producer], new[norm] = fuse(producer, norm), _with_followers(nn.Identity(), norm)
        elif not row.untouched:
            fixed = ChannelAffine(*affine(norm)).to(wide(source_stats(norm).var.dtype))
            new[norm] = _with_followers(fixed, norm)
    return replaced(lean, new)


def _check(plan: Plan, norms: Mapping[str, BatchNorm]) -> None:
    planned = {row.name for row in plan.rows}
    if planned != set(norms):
        odd = min(planned ^ set(norms))
        holder = "plan" if odd in planned else "model"
        raise NoLayerMatchedError(
            f"the plan was made for another model: {odd!r} is only in the {holder}. Plan again."
        )
    gate = plan.adaptation.gate
    for name in plan.named(Action.ADAPT):
        if gate.needs_images and not set(gate.constants) <= set(plan.constants.get(name, {})):
            raise SettingError(
                f"the {gate.name} gate has not seen {name!r}; plan = fit(model, plan, source_images)"
            )


def _adaptive(norm: BatchNorm, adaptation: Adaptation) -> AdaptiveNorm:
    """Return an adaptive layer with the parameters and statistics of a BatchNorm."""
    kind = adaptive_type(norm)
    assert kind is not None  # the planner adapts no unknown subclass
    layer = kind(
        norm.num_features,
        gate=adaptation.gate,
        eps=norm.eps,
        affine=norm.affine,
        mixture_variance=adaptation.mixture_variance,
        adapt_vectors=adaptation.adapt_vectors,
        memory=adaptation.memory,
    )
    layer.weight, layer.bias = norm.weight, norm.bias
    source = source_stats(norm)
    layer.running_mean, layer.running_var = source.mean, source.var
    return layer.eval()


def _with_followers(layer: nn.Module, norm: BatchNorm) -> nn.Module:
    """Return the layer, followed by what the BatchNorm applied after normalising, such as an activation."""
    rest = followers(norm)
    return nn.Sequential(layer, *rest) if rest else layer


def replaced(model: nn.Module, new: Mapping[nn.Module, nn.Module]) -> nn.Module:
    """Put each new module at every place of the old one; return the model, or what replaced all of it."""
    for parent in list(model.modules()):
        for name, child in parent._modules.items():
            if child is not None and child in new:
                setattr(parent, name, new[child])
    return new.get(model, model)
