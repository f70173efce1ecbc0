"""A trained torch model in, one ONNX file out: a line of values.

model -adapt_source-> Adapted -trace_adapted-> Traced -quantize-> Quantized -check-> Checked -seal-> bytes
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from torch import nn

from leantta.data.logmel import Filling
from leantta.data.preprocess import Preprocessing
from leantta.disturbances.copies import Disturbances
from leantta.errors import LeanTTAError, SettingError, StorageError
from leantta.export.artifact import seal, versions
from leantta.export.check import agreement_of, check
from leantta.export.options import FileOptions, Precision
from leantta.export.quantizing import quantize, short
from leantta.export.report import Conversion
from leantta.export.source import as_tensors, read_source, state_sha256, statistics_of
from leantta.export.trace import trace_adapted
from leantta.files import replacing
from leantta.gates.gate import Gate
from leantta.gates.table import DEFAULT_GATE, gate_of
from leantta.graph.ir import Array, Graph
from leantta.models.layout import channels_first
from leantta.outputs import Head, deciding
from leantta.pixels import Inputs, floats
from leantta.progress import Progresses, silent
from leantta.runtime.metadata import Info, PlannedLayer
from leantta.surgery.adaptation import DEFAULT_LAYERS, Adaptation, Selector
from leantta.surgery.apply import apply, fit
from leantta.surgery.layers import unwrap
from leantta.surgery.plan import Plan, plan

CHECKED = 300
"""How many calibration images the file and the torch model are compared on, at most."""


def convert(
    model: nn.Module,
    calibration: Array,
    output: Path | str,
    *,
    field: Array | None = None,
    layers: Selector = DEFAULT_LAYERS,
    gate: Gate | str = DEFAULT_GATE,
    options: FileOptions = FileOptions(),  # noqa: B008 - frozen
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    preprocessing: Preprocessing | None = None,
    sound: Filling | None = None,
    classes: Sequence[str] | None = None,
    name: str | None = None,
    weights_sha256: str | None = None,
    progress: Progresses = lambda _: silent,
) -> Conversion:
    """Write the model to `output` as one ONNX file that adapts to each input, and return what was done.

    `calibration` are source inputs: uint8 images (n, h, w, c), with the mean and std per channel that the
    model was trained with; signals, float (n, c, *positions) in their own unit, with theirs; or float32
    (n, ...) exactly as the model takes them, without. Some hundreds are usual. A `preprocessing` says how
    images of any size become such ones (`fitted` does it); the file carries it. For a model that hears they
    are log-mel features (n, 1, frames, 64), and `sound` says what follows a clip that is too short. `field`
    are unlabelled inputs from where the file will run, given as `calibration` is: the shift filter is fitted
    on them, too. The file appears whole or not at all. What fitting has found so far is kept beside it, in
    OUTPUT.fitting, until the file is there: the same call goes on from there if it was stopped.

    Raises:
        LeanTTAError: the model, the images or a setting cannot be used, or the file would not reproduce the
            model; nothing is written then.
    """
    output, asked = Path(output), gate_of(gate)
    fitting = output.with_name(f"{output.name}.fitting")
    with (
        _kept_until_done(fitting),
        replacing(output) as part,
    ):  # first, so that a bad place shows before the work is done
        if options.memory is not None and not asked.remembers:
            raise SettingError(f"the {asked.name} gate remembers nothing, so its file has no stream mode")
        if preprocessing is not None and mean is None and std is None:
            mean, std = preprocessing.mean, preprocessing.std
        if preprocessing is not None and preprocessing.layout == "channels_last":
            model = channels_first(model)
        source = read_source(calibration, statistics_of(mean, std), sound, options.input, preprocessing)
        adapted = adapt_source(
            model,
            source.tensors(),
            layers,
            asked,
            progress,
            disturbances=source.disturbances(),
            field=None if field is None else as_tensors(source.field(field)),
            resume=fitting,
        )
        reporting = source.held_out().reporting[:CHECKED]
        compared = as_tensors(source.inputs[reporting])
        traced = trace_adapted(adapted.model, adapted.plan, compared, progress("trace"))
        _check_classes(classes, traced.returned.heads)
        quantized = quantize(traced.graph, source, options, progress)
        checked = check(quantized.graph, traced, source, adapted.gate, options, progress)
        info = Info(
            model=name or type(unwrap(model)).__name__,
            weights_sha256=weights_sha256 or state_sha256(model),
            precision=options.precision,
            portable=options.portable,
            input=source.info,
            classes=None if classes is None else tuple(classes),
            heads=traced.returned.heads,
            gate=adapted.gate if traced.layers else None,
            layers=traced.layers,
            plan=_planned(adapted.plan),
            shift=checked.shift,
            calibration={
                "images": len(source.given),
                **quantized.told(agreement_of(checked.compared), source.held_out()),
                **({} if adapted.plan.report is None else adapted.plan.report.numbers()),
            },
            ranges={key: (short(low), short(high)) for key, (low, high) in quantized.ranges.spans.items()},
            selftest=checked.selftest,
            versions=versions(),
            memory=checked.memory,
        )
        raw = seal(checked.graph, info)
        part.write_bytes(raw)
    return Conversion(
        path=output,
        adapted=adapted.model,
        plan=adapted.plan,
        asked=asked,
        gate=info.gate,
        precision=options.precision,
        size_bytes=len(raw),
        weight_bytes=_weight_bytes(checked.graph, options.precision),
        compared=checked.compared,
        checked=traced.returned.count,
        held_out=source.held_out().is_honest,
        prepared=quantized.prepared,
        float_share=quantized.float_share,
        empty=quantized.ranges.empty,
        in_float=quantized.in_float,
        operators=quantized.operators,
    )


@contextmanager
def _kept_until_done(fitting: Path) -> Iterator[None]:
    """Remove the state of a fit when the file is there or was refused; a stop or a full disk leaves it."""
    try:
        yield
    except StorageError:
        raise
    except LeanTTAError:
        fitting.unlink(missing_ok=True)
        raise
    fitting.unlink(missing_ok=True)


@dataclass(frozen=True, eq=False)
class Adapted:
    """The torch model that adapts, and what made it."""

    model: nn.Module
    plan: Plan

    @property
    def gate(self) -> Gate:
        """The gate as it was fitted to the model."""
        return self.plan.adaptation.gate


def adapt_source(
    model: nn.Module,
    inputs: Inputs,
    layers: Selector,
    gate: Gate,
    progress: Progresses = lambda _: silent,
    *,
    disturbances: Disturbances | None = None,
    field: Inputs | None = None,
    resume: Path | None = None,
) -> Adapted:
    """Return a copy of the model that adapts, its gate fitted to source inputs as the model takes them.

    See `leantta.surgery.apply.fit` for `resume`.
    """
    example = floats(inputs[:2]).clone()
    asked = plan(model, example, Adaptation(layers=layers, gate=gate))
    fitted = fit(
        model,
        asked,
        inputs,
        field=field,
        disturbances=disturbances,
        resume=resume,
        progress=progress,
    )
    return Adapted(apply(model, fitted), fitted)


def _check_classes(classes: Sequence[str] | None, heads: Sequence[Head]) -> None:
    if classes is None:
        return
    decides = deciding(heads)
    if decides is None:
        names = ", ".join(head.name for head in heads)
        raise SettingError(
            f"{len(classes)} class names were given; the model's outputs ({names}) decide nothing. "
            "Leave them out."
        )
    if len(classes) != max(decides.scores, 2):
        raise SettingError(
            f"{len(classes)} class names were given, e.g. {classes[:1]}; the model has {decides.scores} "
            "scores. Give one name for each, two for a yes-no model."
        )


def _planned(decisions: Plan) -> tuple[PlannedLayer, ...]:
    return tuple(PlannedLayer(row.name, row.action.value, row.channels, row.reason) for row in decisions.rows)


def _weight_bytes(graph: Graph, precision: Precision) -> int:
    values = graph.constants.values()
    return sum(value.nbytes for value in values if value.dtype == np.int8 or precision == "fp32")
