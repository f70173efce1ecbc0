"""The last step before a file is written: its heads, its memory, and a comparison with the torch model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from leantta.errors import ArtifactError
from leantta.evaluate.predictor import decided
from leantta.export.heads import RAW, shift_scale, with_heads, with_raw_distances
from leantta.export.memory import with_memory
from leantta.export.options import FileOptions
from leantta.export.source import Floats, Source
from leantta.export.spectrogram import with_spectrogram
from leantta.export.trace import Traced
from leantta.gates.gate import Gate
from leantta.graph.ir import Graph
from leantta.graph.run import run_graph
from leantta.outputs import Head
from leantta.progress import Progresses, silent
from leantta.quantize.qdq import inlined
from leantta.runtime.kernel import register
from leantta.runtime.metadata import MemoryInfo, ShiftInfo
from leantta.runtime.selftest import Sample, SelfTest

LIMIT: Mapping[str, float] = {"fp32": 1e-3, "int8": 0.5}
"""Largest difference of an output to the torch model, as a share of its largest value.

Of maps and arrays, which have many values, it is the limit of the root mean square difference, as a share of
the root mean square.
"""

TOLERANCE: Mapping[str, float] = {"fp32": 1e-3, "int8": 0.05}
"""How far the self-test may be off on another machine, as a share of the largest value."""


class Compared(NamedTuple):
    """How well one output of the file reproduces the torch model's."""

    head: Head
    difference: float  # the largest, as a share of the largest value
    typical: float  # root mean square of the difference, as a share of that of the values
    agreement: float | None  # share of equal decisions; None: it decides nothing


def compared(head: Head, found: Floats, wanted: Floats) -> Compared:
    """Return how outputs (n, ...) of the file and of the torch model compare."""
    gap = np.abs(found - wanted)
    typical = np.sqrt(np.mean(np.square(gap, dtype=np.float64)))
    usual = np.sqrt(np.mean(np.square(wanted, dtype=np.float64)))
    return Compared(
        head,
        difference=float(gap.max() / max(np.abs(wanted).max(), 1e-9)),
        typical=float(typical / max(usual, 1e-9)),
        agreement=float((decided(found) == decided(wanted)).mean()) if head.scores else None,
    )


def _check_close(each: Compared, precision: str) -> None:
    """Refuse an output that differs by more than rounding explains."""
    measure = each.difference if each.head.role == "classes" else each.typical
    limit = LIMIT[precision]
    if not measure <= limit:  # also when it is not a number
        raise ArtifactError(
            f"the file would not reproduce the model: {each.head.name} differ by {measure:.1g} of their "
            f"{'largest' if each.head.role == 'classes' else 'usual size'}, at most {limit:g} is allowed. "
            "Nothing was written. Try another --observer or --precision fp32, and please report the model."
        )


def agreement_of(outputs: Sequence[Compared]) -> float | None:
    """Return the share of like decisions of the first output that decides something; None if none does."""
    return next((each.agreement for each in outputs if each.agreement is not None), None)


@dataclass(frozen=True, eq=False)
class Checked:
    """The graph of the file, and how well it reproduces the torch model."""

    graph: Graph
    shift: ShiftInfo | None  # None: nothing adapts
    compared: tuple[Compared, ...]
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
    """Return the graph with all that the file has, and how its outputs compare with the torch model's.

    Raises:
        ArtifactError: they differ by more than rounding explains.
    """
    shift = remembered = None
    heads, wanted = traced.returned.heads, traced.returned.outputs
    names = [head.name for head in heads]
    if traced.layers:
        graph = with_raw_distances(graph, len(heads))
        told = progress("shift")
        scale = shift_scale(run_graph(graph, source.fed(), [RAW], kernel=register, progress=told)[0])
        graph = with_heads(graph, gate, scale)
        shift = ShiftInfo(scale.middle, scale.limit, len(source.given))
    if traced.layers and options.memory is not None and gate.remembers:
        graph, size = with_memory(graph, options.memory)
        remembered = MemoryInfo(size, options.memory.length)
    if options.portable:
        graph = inlined(graph)
    given = source.fed()[source.held_out().reporting[: traced.returned.count]]
    found = run_graph(graph, given, names, progress=progress("compare"))
    results = [compared(head, each, wanted[head.name]) for head, each in zip(heads, found, strict=True)]
    for result in results:
        _check_close(result, options.precision)
    if source.info.kind == "waveform":
        graph = with_spectrogram(graph)
    given, fed = source.selftest_input()
    samples = {}
    for name, output in zip(names, run_graph(graph, fed, names), strict=True):
        peak = max(float(np.abs(wanted[name]).max()), 1e-3)
        samples[name] = Sample.of(output, TOLERANCE[options.precision] * peak)
    return Checked(
        graph=graph,
        shift=shift,
        compared=tuple(results),
        selftest=SelfTest.of(given, samples),
        memory=remembered,
    )
