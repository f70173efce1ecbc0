"""Carry out a plan: a new model comes out, the one given is untouched."""

import copy
from collections.abc import Callable, Iterable, Mapping

from torch import Tensor, nn

from leantta.errors import NoLayerMatchedError, SettingError
from leantta.functional import Spread, wide
from leantta.gates import CalibratedGate, Gate, GateName, gate_of
from leantta.memory import StreamMemory
from leantta.nn import AdaptiveNorm, ChannelAffine
from leantta.progress import Progress, silent
from leantta.surgery.budget import fitted
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
from leantta.surgery.observe import batches_of, observe_all
from leantta.surgery.plan import Action, Plan, plan
from leantta.surgery.select import DEFAULT_LAYERS, Selector
from leantta.surgery.trace import Inputs


def adapt(
    model: nn.Module,
    example: Inputs,
    layers: Selector = DEFAULT_LAYERS,
    *,
    gate: Gate | GateName | None = None,
    calibration: Tensor | Iterable[Tensor] | None = None,
    mixture_variance: bool = False,
    adapt_vectors: bool = False,
    memory: StreamMemory | None = None,
) -> nn.Module:
    """Return a copy of the model whose selected BatchNorm layers adapt to each input; the others are fused.

    `example` is an input the model runs on. With `calibration`, source images as the model takes them (one
    tensor or batches), the gate is the calibrated one, without them the paper's. If the gate has a budget,
    as the calibrated one has by default, its ceiling is lowered until it keeps it. With a `memory` the layers
    remember the inputs before, until `leantta.nn.forget`; without, a call leaves no trace. See `plan` for
    what each layer will do and why.

    >>> import torch
    >>> model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8))
    >>> adapt(model, torch.zeros(1, 3, 16, 16))[1]
    AdaptiveNorm2d(8, PaperGate(tau=0.9, lam=0.9), eps=1e-05)
    """
    chosen = gate_of(gate or ("paper" if calibration is None else "calibrated"))
    decisions = plan(model, example, layers, adapt_vectors=adapt_vectors)
    spreads = None
    if isinstance(chosen, CalibratedGate):
        if calibration is None:
            raise SettingError("the calibrated gate needs source images: pass calibration=images")
        chosen, spreads = calibrated(
            model,
            decisions,
            chosen,
            calibration,
            mixture_variance=mixture_variance,
            adapt_vectors=adapt_vectors,
        )
    elif calibration is not None:
        raise SettingError("the paper's gate uses no calibration images; leave out one of the two")
    return apply(
        model,
        decisions,
        gate=chosen,
        spreads=spreads,
        mixture_variance=mixture_variance,
        adapt_vectors=adapt_vectors,
        memory=memory,
    )


def calibrated(
    model: nn.Module,
    plan: Plan,
    gate: CalibratedGate,
    images: Tensor | Iterable[Tensor],
    *,
    mixture_variance: bool = False,
    adapt_vectors: bool = False,
    progress: Callable[[str], Progress] = lambda _: silent,
) -> tuple[CalibratedGate, dict[str, Spread]]:
    """Return the gate with a ceiling that keeps its budget, and how source images scatter in each layer."""
    batches = batches_of(images)
    spreads, scores = observe_all(unwrap(model), batches, progress=progress("gate"))
    if gate.budget is None:
        return gate, spreads
    trial = apply(
        model,
        plan,
        gate=gate,
        spreads=spreads,
        mixture_variance=mixture_variance,
        adapt_vectors=adapt_vectors,
    )
    return fitted(scores, trial, gate, batches, progress=progress("ceiling")), spreads


def apply(
    model: nn.Module,
    plan: Plan,
    *,
    gate: Gate | GateName = "paper",
    spreads: Mapping[str, Spread] | None = None,
    mixture_variance: bool = False,
    adapt_vectors: bool = False,
    memory: StreamMemory | None = None,
) -> nn.Module:
    """Return a copy of the model in eval mode, changed as planned; the calibrated gate needs `spreads`.

    Raises:
        NoLayerMatchedError: the plan was made for another model.
        SettingError: the calibrated gate lacks the spread of a layer.
    """
    chosen = gate_of(gate)
    lean = copy.deepcopy(unwrap(model)).eval()
    norms = batchnorms(lean)
    _check(plan, norms, chosen, spreads)
    new: dict[nn.Module, nn.Module] = {}
    for row in plan.rows:
        norm = norms[row.name]
        if row.action is Action.ADAPT:
            layer = _adaptive(norm, chosen, mixture_variance, adapt_vectors, memory)
            if spreads is not None:
                layer.mean_spread, layer.var_spread = (value.clone() for value in spreads[row.name])
            new[norm] = _with_followers(layer, norm)
        elif row.action is Action.FUSE:
            assert row.producer is not None  # the planner fuses nothing without one
            producer = lean.get_submodule(row.producer)
            new[producer], new[norm] = fuse(producer, norm), _with_followers(nn.Identity(), norm)
        elif not row.untouched:
            fixed = ChannelAffine(*affine(norm)).to(wide(source_stats(norm).var.dtype))
            new[norm] = _with_followers(fixed, norm)
    return replaced(lean, new)


def _check(
    plan: Plan, norms: Mapping[str, BatchNorm], gate: Gate, spreads: Mapping[str, Spread] | None
) -> None:
    planned = {row.name for row in plan.rows}
    if planned != set(norms):
        odd = min(planned ^ set(norms))
        holder = "plan" if odd in planned else "model"
        raise NoLayerMatchedError(
            f"the plan was made for another model: {odd!r} is only in the {holder}. Plan again."
        )
    if isinstance(gate, CalibratedGate):
        lacking = [name for name in plan.named(Action.ADAPT) if spreads is None or name not in spreads]
        if lacking:
            raise SettingError(
                f"the calibrated gate has not seen {lacking[0]!r}; pass spreads=observe(model, source_images)"
            )


def _adaptive(
    norm: BatchNorm, gate: Gate, mixture_variance: bool, adapt_vectors: bool, memory: StreamMemory | None
) -> AdaptiveNorm:
    """Return an adaptive layer with the parameters and statistics of a BatchNorm."""
    kind = adaptive_type(norm)
    assert kind is not None  # the planner adapts no unknown subclass
    layer = kind(
        norm.num_features,
        gate=gate,
        eps=norm.eps,
        affine=norm.affine,
        mixture_variance=mixture_variance,
        adapt_vectors=adapt_vectors,
        memory=memory,
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
