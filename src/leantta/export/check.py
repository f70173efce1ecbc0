"""The last step before a file is written: its heads, its memory, and a comparison with the torch model."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from leantta.errors import ArtifactError
from leantta.evaluate.predictor import decided
from leantta.export.heads import RAW, shift_scale, with_heads, with_raw_distances
from leantta.export.memory import with_memory
from leantta.export.options import FileOptions
from leantta.export.source import Source
from leantta.export.spectrogram import with_spectrogram
from leantta.export.trace import Traced
from leantta.gates.gate import Gate
from leantta.graph.ir import Graph
from leantta.graph.run import run_graph
from leantta.progress import Progresses, silent
from leantta.quantize.qdq import inlined
from leantta.runtime.metadata import MemoryInfo, ShiftInfo
from leantta.runtime.selftest import SelfTest

LIMIT: Mapping[str, float] = {"fp32": 1e-3, "int8": 0.5}
"""Largest difference of scores to the torch model, as a share of the largest score."""

TOLERANCE: Mapping[str, float] = {"fp32": 1e-3, "int8": 0.05}
"""How far the self-test may be off on another machine, as a share of the largest score."""


@dataclass(frozen=True, eq=False)
class Checked:
    """The graph of the file, and how well it reproduces the torch model."""

    graph: Graph
    shift: ShiftInfo | None  # None: nothing adapts
    difference: float
    agreement: float
    selftest: SelfTest
    memory: MemoryInfo | None  # None: it has no stream mode


def check(
    graph: Graph,
    traced: Traced,
    source: Source,
    gate: Gate,
    options: FileOptions,
    progress: Progresses = lambda _: silent,
) -> Checked:
    """Return the graph with all that the file has, and how its scores compare with the torch model's.

    Raises:
        ArtifactError: they differ by more than rounding explains.
    """
    shift = remembered = None
    if traced.layers:
        graph = with_raw_distances(graph)
        scale = shift_scale(run_graph(graph, source.fed(), [RAW], progress=progress("shift"))[0])
        graph = with_heads(graph, gate, scale)
        shift = ShiftInfo(scale.middle, scale.limit, len(source.given))
    if traced.layers and options.memory is not None and gate.remembers:
        graph, size = with_memory(graph, options.memory)
        remembered = MemoryInfo(size, options.memory.length)
    if options.portable:
        graph = inlined(graph)
    wanted = traced.scores
    compared = source.fed()[source.held_out().reporting[: len(wanted)]]
    scores = run_graph(graph, compared, [graph.outputs[0]], progress=progress("compare"))[0]
    peak = float(np.abs(wanted).max())
    difference = float(np.abs(scores - wanted).max() / max(peak, 1e-9))
    limit = LIMIT[options.precision]
    if not difference <= limit:  # also when it is not a number
        raise ArtifactError(
            f"the file would not reproduce the model: scores differ by {difference:.1g} of the "
            f"largest, at most {limit:g} is allowed. Nothing was written. Try another --observer or "
            "--precision fp32, and please report the model."
        )
    if source.info.kind == "waveform":
        graph = with_spectrogram(graph)
    given, fed = source.selftest_input()
    logits = run_graph(graph, fed, [graph.outputs[0]])[0]
    return Checked(
        graph=graph,
        shift=shift,
        difference=difference,
        agreement=float((decided(scores) == decided(wanted)).mean()),
        selftest=SelfTest.of(given, logits, TOLERANCE[options.precision] * max(peak, 1e-3)),
        memory=remembered,
    )
