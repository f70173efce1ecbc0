"""A trained torch model in, one ONNX file out: plan, separate, calibrate, round, write, check.

model -plan, apply-> adapting model -prepare, trace-> float graph -calibrate, write-> int8 graph -seal-> file
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from leantta.data.logmel import Filling, clip_samples
from leantta.errors import ArtifactError, SettingError, UnsupportedModelError
from leantta.evaluate.decisions import decided
from leantta.export.artifact import gate_settings, plan_rows, sealed, selftest, selftest_input
from leantta.export.heads import RAW, ShiftScale, shift_scale, with_heads, with_raw_distances
from leantta.export.prepare import prepare_
from leantta.export.preprocessing import normalized, standardized, with_preprocessing
from leantta.export.report import Conversion
from leantta.export.sound import check_sound, selftest_wave, sound_input
from leantta.export.source import as_float32, check_calibration, is_signal, pixel_statistics, state_sha256
from leantta.export.spectrogram import with_spectrogram
from leantta.export.trace import INPUT, trace
from leantta.files import replacing
from leantta.gates import CalibratedGate, Gate, GateName, gate_of
from leantta.graph.functions import distances, is_norm
from leantta.graph.ir import Array, Graph
from leantta.graph.run import run_graph
from leantta.progress import Progress, silent
from leantta.quantize.calibrate import Ranges, calibrate
from leantta.quantize.nhwc import write_nhwc
from leantta.quantize.observers import ObserverName, observer_of
from leantta.quantize.params import Range
from leantta.quantize.qdq import inlined, write_qdq
from leantta.surgery.apply import apply, calibrated
from leantta.surgery.layers import unwrap
from leantta.surgery.plan import Action, Plan, plan
from leantta.surgery.select import DEFAULT_LAYERS, Selector

Floats = npt.NDArray[np.float32]
Precision = Literal["int8", "fp32"]
InputKind = Literal["tensor", "image", "waveform"]

CHECKED = 64
"""How many calibration images the file and the torch model are compared on."""

LIMIT: Mapping[str, float] = {"fp32": 1e-3, "int8": 0.5}
"""Largest difference of scores to the torch model, as a share of the largest score."""

TOLERANCE: Mapping[str, float] = {"fp32": 1e-3, "int8": 0.05}
"""How far the self-test may be off on another machine, as a share of the largest score."""


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """How the file is written."""

    precision: Precision = "int8"
    portable: bool = False  # operators of the ONNX standard only
    input: InputKind = "tensor"  # "image": uint8 (n, h, w, c); "waveform": (n, samples); the rest is inside
    observer: ObserverName = "minmax"

    def __post_init__(self) -> None:
        """Refuse what does not exist."""
        for name, value, known in (
            ("precision", self.precision, ("int8", "fp32")),
            ("input", self.input, ("tensor", "image", "waveform")),
        ):
            if value not in known:
                raise SettingError(f"{name} must be one of {', '.join(known)}, got {value!r}")
        observer_of(self.observer)


def convert(
    model: nn.Module,
    calibration: Array,
    output: Path | str,
    *,
    layers: Selector = DEFAULT_LAYERS,
    gate: Gate | GateName = "calibrated",
    options: FileOptions = FileOptions(),  # noqa: B008 - frozen
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    sound: Filling | None = None,
    classes: Sequence[str] | None = None,
    name: str | None = None,
    weights_sha256: str | None = None,
    progress: Callable[[str], Progress] = lambda _: silent,
) -> Conversion:
    """Write the model to `output` as one ONNX file that adapts to each input, and return what was done.

    `calibration` are source inputs: uint8 images (n, h, w, c), with the mean and std per channel that the
    model was trained with; signals, float (n, c, *positions) in their own unit, with theirs; or float32
    (n, ...) exactly as the model takes them, without. Some hundreds are usual. For a model that hears they
    are log-mel features (n, 1, frames, 64), and `sound` says what follows a clip that is too short. The file
    appears whole or not at all.

    Raises:
        LeanTTAError: the model, the images or a setting cannot be used, or the file would not reproduce the
            model; nothing is written then.
    """
    output = Path(output)
    with replacing(output) as part:  # first, so that a bad place shows before the work is done
        pixels = pixel_statistics(mean, std)
        made = _Making(model, calibration, layers, gate_of(gate), options, pixels, sound)
        graph, metadata = made.file(progress)
        if classes is not None and len(classes) != max(metadata["outputs"], 2):
            raise SettingError(
                f"{len(classes)} class names were given, e.g. {classes[:1]}; the model has "
                f"{metadata['outputs']} outputs. Give one name for each, two for a yes-no model."
            )
        metadata |= {
            "model": name or type(unwrap(model)).__name__,
            "weights_sha256": weights_sha256 or state_sha256(model),
            "classes": list(classes) if classes is not None else None,
        }
        raw = sealed(graph, str(metadata["model"]), metadata)
        part.write_bytes(raw)
    return made.report(output, graph, len(raw))


class _Making:
    """One conversion, step by step; each step leaves its result for the next and for the report."""

    def __init__(
        self,
        model: nn.Module,
        calibration: Array,
        layers: Selector,
        gate: Gate,
        options: FileOptions,
        pixels: tuple[tuple[float, ...], tuple[float, ...]] | None,
        sound: Filling | None,
    ) -> None:
        check_calibration(calibration, pixels, options.input)
        check_sound(calibration, sound, options.input)
        self.signal = pixels is not None and is_signal(calibration)
        if pixels is None or self.signal:
            calibration = as_float32(calibration)
        self.options = options
        self.asked = self.gate = gate
        self.pixels = pixels
        self.sound = sound
        self.given = calibration
        self.inputs: Floats = self._as_taken(calibration)
        example = torch.from_numpy(self.inputs[:2].copy())
        self.plan: Plan = plan(model, example, layers)
        self.model = model
        self.layers: list[str] = []
        self.ranges = Ranges({}, (), {})
        self.scale: ShiftScale | None = None
        self.difference = 0.0
        self.agreement = 1.0

    def _as_taken(self, given: Array) -> Floats:
        """Return inputs, such as are given, as the model takes them."""
        if self.pixels is None:
            return given
        return standardized(given, *self.pixels) if self.signal else normalized(given, *self.pixels)

    def file(self, progress: Callable[[str], Progress]) -> tuple[Graph, dict[str, Any]]:
        """Return the graph of the file, and the metadata that follows from it."""
        lean = self._adapted(progress)
        ready = copy.deepcopy(lean)
        prepare_(ready, self.plan)
        tracing = progress("trace")
        tracing(0, 1)
        exact = trace(ready, torch.from_numpy(self.inputs[:2].copy()))
        tracing(1, 1)
        wanted = _torch_scores(lean, self.inputs[:CHECKED])
        self.layers = [node.name for node in exact.nodes if is_norm(node)]  # a shared one has several
        graph = self._written(exact, progress)
        if self.layers:
            graph = with_raw_distances(graph)
            raw = run_graph(graph, self.feed(), [RAW], progress=progress("shift"))[0]
            self.scale = shift_scale(raw)
            graph = with_heads(graph, self.gate, self.scale)
        if self.options.portable:
            graph = inlined(graph)
        self._compare(graph, wanted)
        if self.options.input == "waveform":
            graph = with_spectrogram(graph)
        return graph, self._metadata(graph, float(np.abs(wanted).max()))

    def _adapted(self, progress: Callable[[str], Progress]) -> nn.Module:
        spreads = None
        if isinstance(self.gate, CalibratedGate) and self.plan.named(Action.ADAPT):
            source = torch.from_numpy(self.inputs)
            self.gate, spreads = calibrated(self.model, self.plan, self.gate, source, progress=progress)
        return apply(self.model, self.plan, gate=self.gate, spreads=spreads)

    def _written(self, exact: Graph, progress: Callable[[str], Progress]) -> Graph:
        image = self.options.input == "image"
        if self.options.precision == "fp32":
            graph = replace(exact, outputs=(*exact.outputs, *distances(exact.nodes)))
            last = False
        else:
            seen = calibrate(exact, self.inputs, self.options.observer, progress=progress("calibrate"))
            self.ranges = replace(seen, spans={**seen.spans, **self._input_range()})
            last = image and not self.options.portable
            write = write_qdq if self.options.portable else partial(write_nhwc, last=last)
            graph = write(exact, self.ranges)
        if not image:
            return graph
        assert self.pixels is not None  # `check_calibration` has seen to it
        return with_preprocessing(graph, *self.pixels, last=last)

    def _input_range(self) -> dict[str, Range]:
        """Return the range of the input: of images every value that a pixel can take, else what was seen."""
        if self.pixels is None or self.signal:
            return {}
        mean, std = (np.asarray(values) for values in self.pixels)
        return {INPUT: (float((-mean / std).min()), float(((1 - mean) / std).max()))}

    def feed(self) -> Array:
        """Return the calibration inputs as the file takes them."""
        return self.given if self.options.input == "image" else self.inputs

    def _compare(self, graph: Graph, wanted: Floats) -> None:
        """Compare the file's scores with the torch model's.

        Raises:
            ArtifactError: they differ by more than rounding explains.
        """
        found = run_graph(graph, self.feed()[:CHECKED], [graph.outputs[0]])[0]
        self.difference = float(np.abs(found - wanted).max() / max(np.abs(wanted).max(), 1e-9))
        self.agreement = float((decided(found) == decided(wanted)).mean())
        limit = LIMIT[self.options.precision]
        if not self.difference <= limit:  # also when it is not a number
            raise ArtifactError(
                f"the file would not reproduce the model: scores differ by {self.difference:.1g} of the "
                f"largest, at most {limit:g} is allowed. Nothing was written. Try another --observer or "
                "--precision fp32, and please report the model."
            )

    def _metadata(self, graph: Graph, peak: float) -> dict[str, Any]:
        options = self.options
        waveform = options.input == "waveform"
        test = selftest_wave(clip_samples(self.inputs.shape[2])) if waveform else selftest_input(self.given)
        fed = test if waveform or options.input == "image" else self._as_taken(test)
        logits = run_graph(graph, fed, [graph.outputs[0]])[0]
        mean, std = self.pixels or (None, None)
        kind = "signal" if self.signal else options.input
        taken = {"kind": kind, "shape": list(self.inputs.shape[1:]), "mean": mean, "std": std}
        scale = self.scale
        return {
            "precision": options.precision,
            "portable": options.portable,
            "input": taken if self.sound is None else sound_input(taken, self.sound),
            "outputs": logits.shape[1],
            "gate": gate_settings(self.gate) if self.layers else None,
            "layers": self.layers,
            "plan": plan_rows(self.plan),
            "shift": scale and {"middle": scale.middle, "limit": scale.limit, "images": len(self.given)},
            "calibration": {"images": len(self.given), "observer": options.observer},
            "ranges": {name: [_short(v) for v in span] for name, span in self.ranges.spans.items()},
            "selftest": selftest(test, logits, TOLERANCE[options.precision] * max(peak, 1e-3)),
        }

    def report(self, output: Path, graph: Graph, size_bytes: int) -> Conversion:
        """Return what was done."""
        values = graph.constants.values()
        return Conversion(
            path=output,
            plan=self.plan,
            asked=self.asked,
            gate=self.gate if self.layers else None,
            precision=self.options.precision,
            size_bytes=size_bytes,
            weight_bytes=sum(
                v.nbytes for v in values if v.dtype == np.int8 or self.options.precision == "fp32"
            ),
            difference=self.difference,
            agreement=self.agreement,
            checked=min(CHECKED, len(self.given)),
            empty=self.ranges.empty,
        )


def _torch_scores(model: nn.Module, inputs: Floats) -> Floats:
    with torch.inference_mode():
        found = model(torch.from_numpy(inputs))
    if not isinstance(found, torch.Tensor):
        raise UnsupportedModelError(
            f"a model must return its scores as a tensor; this returns {type(found).__name__}. Wrap it in a "
            "module that picks the scores."
        )
    scores: Floats = found.float().numpy()
    return scores


def _short(value: float) -> float:
    return float(f"{value:.5g}")
