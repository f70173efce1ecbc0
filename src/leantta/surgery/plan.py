"""What surgery would do to each BatchNorm, and why: decided here, done in `leantta.surgery.apply`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from torch import nn

from leantta.errors import NoLayerMatchedError
from leantta.gates.source import Constants, Report
from leantta.gates.table import DEFAULT_WITHOUT_IMAGES
from leantta.surgery.adaptation import DEFAULT_LAYERS, Adaptation, Selector, select
from leantta.surgery.flow import FUSABLE, Flow, Inputs, Visit, flow_of
from leantta.surgery.layers import BatchNorm, adaptive_type, batchnorms, dead_channels, unwrap
from leantta.tables import render

ONE_VALUE = "sees one value per channel, which has no variance"


class Action(Enum):
    """What happens to a layer."""

    ADAPT = "adapt"  # replaced by an adaptive layer
    FUSE = "fuse"  # folded into the module that feeds it
    KEEP = "keep"  # a fixed scale and offset per channel; an unknown subclass stays as it is


@dataclass(frozen=True)
class Row:
    """The decision on one BatchNorm."""

    order: int | None  # position in execution order, from 1; None when the example never reached it
    name: str
    channels: int
    fed_by: str
    action: Action
    reason: str
    producer: str | None = None  # the module that it, or its source normalisation, can be folded into
    untouched: bool = False  # kept as the module it is: replacing it might change more


@dataclass(frozen=True)
class Plan:
    """One row per BatchNorm in execution order; `print(plan)` shows them as a table."""

    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    adaptation: Adaptation = Adaptation()
    constants: Constants = field(default_factory=dict, repr=False, compare=False)  # the gate's, once fitted
    report: Report | None = field(default=None, repr=False, compare=False)  # what fitting found

    def named(self, action: Action) -> list[str]:
        """Return the names of the layers with that action, in execution order."""
        return [row.name for row in self.rows if row.action is action]

    def __str__(self) -> str:
        """Return the plan as a table with a line that counts."""
        cells = [
            [str(r.order or "-"), r.name, str(r.channels), r.fed_by, r.action.value, r.reason]
            for r in self.rows
        ]
        counts = ", ".join(f"{action.value} {len(self.named(action))}" for action in Action)
        table = render(["#", "layer", "channels", "fed by", "action", "reason"], cells)
        total = f"{len(self.rows)} BatchNorm layer{'s' if len(self.rows) != 1 else ''}: {counts}"
        return "\n".join([table, "", total, *self.notes])


def plan(
    model: nn.Module,
    example: Inputs,
    layers: Adaptation | Selector = DEFAULT_LAYERS,
    *,
    adapt_vectors: bool = False,
) -> Plan:
    """Return what surgery would do: the selected layers adapt, the others are fused where that is exact.

    `example` is an input the model runs on (a tensor, or a tuple of arguments); the model is not changed.
    `layers` may be an `Adaptation`, which says how they adapt, too; else they have the gate that needs no
    source images. Layers that see one value per channel have nothing to adapt to and only do so with
    `adapt_vectors`.

    Raises:
        NoBatchNormError, UnsupportedModelError, BadStatisticsError: the model cannot be changed.
        NoLayerMatchedError, SettingError: the selector does not fit the model.
    """
    asked = (
        layers if isinstance(layers, Adaptation) else Adaptation(layers=layers, gate=DEFAULT_WITHOUT_IMAGES)
    )
    asked = replace(asked, adapt_vectors=adapt_vectors or asked.adapt_vectors)
    model = unwrap(model)
    norms = batchnorms(model)
    run = flow_of(model, example)
    reached = {name: norms[name] for name in sorted(run.visits, key=lambda name: run.visits[name].order)}
    able = [
        name
        for name, norm in reached.items()
        if _irreplaceable(norm) is None and (asked.adapt_vectors or run.visits[name].positions > 1)
    ]
    if not able and asked.layers not in ("none", 0):
        reasons = {_irreplaceable(norm) or ONE_VALUE for norm in reached.values()} or {
            "the example reaches none"
        }
        raise NoLayerMatchedError(
            f"none of the {len(norms)} BatchNorm layers can adapt: {'; '.join(sorted(reasons))}"
        )
    chosen = set(select(asked.layers, able))
    rows = [_decide(name, norm, run, model, name in chosen, name in able) for name, norm in reached.items()]
    rows += [_unreached(name, norm) for name, norm in norms.items() if name not in reached]
    return Plan(tuple(rows), (*_notes(run), *_note_on_dead(norms)), asked)


def _decide(name: str, norm: BatchNorm, run: Flow, model: nn.Module, chosen: bool, able: bool) -> Row:
    visit = run.visits[name]
    row = Row(visit.order, name, norm.num_features, _describe(visit, model), Action.KEEP, "")
    refusal = _refusal(visit, run, model)
    if chosen:
        times = "" if visit.calls == 1 else f"; runs {visit.calls} times"
        producer = visit.source.producer if visit.source is not None and refusal is None else None
        return replace(row, action=Action.ADAPT, reason=f"selected{times}", producer=producer)
    if (irreplaceable := _irreplaceable(norm)) is not None:
        return replace(row, reason=f"{irreplaceable}; left as it is", untouched=True)
    why = "not selected" if able else ONE_VALUE
    if refusal is not None:
        return replace(row, reason=f"{why}; cannot be fused: {refusal}")
    assert visit.source is not None  # else it would have been refused
    return replace(row, action=Action.FUSE, reason=why, producer=visit.source.producer)


def _irreplaceable(norm: BatchNorm) -> str | None:
    """Return why no other layer may take this one's place, or None when one may."""
    if adaptive_type(norm) is None:
        return f"{type(norm).__name__} is a subclass that may do more than normalise"
    if _has_hooks(norm):
        return "has hooks, which a new layer would lose"
    return None


def _refusal(visit: Visit, run: Flow, model: nn.Module) -> str | None:
    """Return why the layer cannot be folded into what feeds it, or None when it can."""
    output = visit.source
    if visit.calls > 1:
        return f"the layer is shared, it runs {visit.calls} times"
    if output is None:
        return f"no module feeds it but {visit.fed_by}"
    producer = model.get_submodule(output.producer)
    if output.kind not in FUSABLE:
        return f"{output.kind.__name__} feeds it, not a convolution or linear layer"
    if run.calls[output.producer] > 1:
        return f"{output.producer!r} is shared, it runs {run.calls[output.producer]} times"
    if output.users != {visit.call}:
        return f"the output of {output.producer!r} is used elsewhere too"
    if output.producer in run.reused_weights:
        return f"the weights of {output.producer!r} are used elsewhere too"
    if output.dim != _batched_rank(producer):
        return f"the channels of {output.producer!r} are not in the second axis of its output"
    if _has_hooks(producer):
        return f"{output.producer!r} has hooks that may change its weights or output"
    return None


def _batched_rank(producer: nn.Module) -> int:
    """Return the rank at which the producer's channels are the second axis, as BatchNorm takes them."""
    kernel = getattr(producer, "kernel_size", ())
    return 2 + len(kernel)


def _has_hooks(module: nn.Module) -> bool:
    return bool(module._forward_hooks or module._forward_pre_hooks)


def _describe(visit: Visit, model: nn.Module) -> str:
    if visit.source is None:
        return visit.fed_by
    producer = model.get_submodule(visit.source.producer)
    kind = type(producer).__name__
    groups = getattr(producer, "groups", 1)
    depthwise = groups > 1 and groups == getattr(producer, "in_channels", None)
    return f"{visit.source.producer} ({'depthwise ' if depthwise else ''}{kind})"


def _unreached(name: str, norm: BatchNorm) -> Row:
    reason = "the example input never reaches it; left as it is"
    return Row(None, name, norm.num_features, "-", Action.KEEP, reason, untouched=True)


def _notes(run: Flow) -> tuple[str, ...]:
    if not run.functional:
        return ()
    return (
        f"{run.functional} functional batch_norm calls belong to no BatchNorm module and stay as they are",
    )


def _note_on_dead(norms: Mapping[str, BatchNorm]) -> tuple[str, ...]:
    """Return a line that counts dead channels, if there are any."""
    dead = [count for norm in norms.values() if (count := dead_channels(norm))]
    if not dead:
        return ()
    channels = sum(norm.num_features for norm in norms.values())
    return (
        f"{sum(dead)} of {channels} channels, in {len(dead)} of {len(norms)} layers, are dead: they hardly "
        "varied in training, so they keep the source statistics and count in no distance",
    )
