"""From a traced graph to one in the precision of the file, by calibration inputs that are for that."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from leantta.export.held_out import HeldOut
from leantta.export.options import FileOptions
from leantta.export.preprocessing import with_preprocessing
from leantta.export.source import Source, as_tensors
from leantta.graph.functions import distances
from leantta.graph.ir import Graph
from leantta.pixels import Inputs, joined_inputs
from leantta.progress import Progress, Progresses, silent
from leantta.quantize.calibrate import Ranges
from leantta.quantize.choice import Images, Prepared, prepare
from leantta.quantize.elementwise import WEIGHED
from leantta.quantize.lowering import InFloat, Int8Graph
from leantta.quantize.nhwc import write_nhwc
from leantta.quantize.qdq import write_qdq
from leantta.quantize.work import share_of_work


@dataclass(frozen=True, eq=False)
class Quantized:
    """A graph in the precision of the file, and what it needed to know."""

    graph: Graph
    ranges: Ranges = Ranges({}, (), {})
    in_float: tuple[InFloat, ...] = ()  # what an int8 graph computes in float32, and why
    operators: int = 0  # of how many
    prepared: Prepared | None = None  # how the graph was made ready for int8
    float_share: float = 0.0  # of the multiply-adds, what an int8 graph computes in float32

    def told(self, agreement: float | None, held: HeldOut) -> dict[str, object]:
        """Return what a file keeps of it."""
        if self.prepared is None:
            return {}
        left = {each.name: each.reason for each in self.in_float if each.op in WEIGHED}
        return {
            "observer": self.prepared.observer,
            "int8": list(self.prepared.remedies()),
            "float_share": short(self.float_share),
            **({"in_float": left} if left else {}),
            **({"held_out": len(held.reporting)} if held.is_honest else {}),
            **({"agreement": short(agreement)} if held.is_honest and agreement is not None else {}),
        }


def quantize(
    exact: Graph, source: Source, options: FileOptions, progress: Progresses = lambda _: silent
) -> Quantized:
    """Return a float graph in the precision of the file, with what it does to images in front of it."""
    image = source.info.kind == "image"
    last = image and options.precision == "int8" and not options.portable
    if options.precision == "fp32":
        written = Quantized(replace(exact, outputs=(*exact.outputs, *distances(exact.nodes))))
    else:
        prepared = _prepared(exact, source, options, progress("calibrate"))
        graph, ranges, left = prepared.graph, prepared.ranges, prepared.left
        if options.portable:
            int8 = write_qdq(graph, ranges, left=left)
        else:
            int8 = write_nhwc(graph, ranges, last=last, left=left)
        share = share_of_work(exact, [each.name for each in int8.in_float])
        written = Quantized(int8.graph, ranges, int8.in_float, int8.operators, prepared, share)
    if not image:
        return written
    assert source.info.mean is not None  # images come with both
    assert source.info.std is not None
    return replace(
        written, graph=with_preprocessing(written.graph, source.info.mean, source.info.std, last=last)
    )


def _prepared(exact: Graph, source: Source, options: FileOptions, progress: Progress) -> Prepared:
    """Return a float graph that is ready for int8, by those calibration inputs that are for that."""

    def write(graph: Graph, ranges: Ranges, left: Collection[str]) -> Int8Graph:
        if options.portable:
            return write_qdq(graph, ranges, left=left)
        return write_nhwc(graph, ranges, last=False, left=left)

    held = source.held_out()
    images = Images(source.inputs[held.ranges], _to_choose_by(source), source.input_range())
    return prepare(
        exact,
        images,
        write,
        observer=options.observer,
        float_budget=options.float_budget,
        progress=progress,
    )


def _to_choose_by(source: Source) -> Inputs:
    """Return the inputs that choose among ways to int8: some held out, and disturbed copies of them.

    A range that fits clean inputs closely cuts off what shifts do to them, which is what adapting must see.
    """
    clean = as_tensors(source.inputs[source.held_out().choosing])
    known = source.disturbances()
    if known is None or not len(clean):
        return clean
    return joined_inputs([clean, known.copies(clean, seed=0).inputs])


def short(value: float) -> float:
    """Return a number with the digits that a file keeps of it."""
    return float(f"{value:.5g}")
