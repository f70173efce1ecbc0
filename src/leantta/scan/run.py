"""`leantta scan`: list what there is, and do each chunk that is not done.

Who does the chunks is a function: `in_process` here, `on_ray` in `leantta.scan.cluster`. Both get the numbers
of chunks one by one and give back what became of each, in any order.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from leantta.modalities.kinds import modality_for
from leantta.runtime.container import DIGEST_KEY, read_container
from leantta.runtime.session import load
from leantta.scan.folder import Output, Settings
from leantta.scan.listing import Listed, read_costs, write_listing
from leantta.scan.places import Asked
from leantta.scan.scoring import LISTING, Done, Scorer, Work


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a scan is asked to do."""

    model: Path
    inputs: tuple[str, ...]
    output: Path
    column: str | None = None
    engine: str = "onnxruntime"
    chunk: int = 1024
    batch: int = 8
    threads: int | None = None
    restart: bool = False


class Summary:
    """What this run did, and what an earlier one had done."""

    def __init__(self, listed: Listed, before: int) -> None:
        self.listed, self.before = listed, before
        self.chunks = self.inputs = self.errors = 0


class Executor(Protocol):
    """Does chunks of a scan."""

    def __call__(self, model: Path, work: Work, chunks: Iterator[int]) -> Iterable[Done]:
        """Give what became of each chunk, in any order; raises LeanTTAError where the scan must end."""


Told = Callable[[int, int, int], None]
"""Called with (inputs done in this run, inputs that are left at a guess, errors)."""


def in_process(model: Path, work: Work, chunks: Iterator[int]) -> Iterator[Done]:
    """Do chunks one after the other."""
    with closing(Scorer(model, work)) as scorer:
        for chunk in chunks:
            yield scorer.do(chunk)


def scan(
    request: Request,
    execute: Executor = in_process,
    *,
    listing: Callable[[int], None] = lambda _: None,
    progress: Told = lambda *_: None,
) -> Summary:
    """Run a model file over all inputs that are not in the output yet.

    Raises:
        MissingFileError: an input or the model is not there.
        ArtifactError, SettingError: the model cannot be loaded, or takes no files.
        RecordError: the output folder holds something else, or a scan with other settings.
        DataError: there is nothing to scan.
        StorageError: the disk is full; what is done stays, and a second start does the rest.
    """
    output = Output(request.output)
    output.check_free()
    with load(request.model, engine=request.engine, threads=1) as session:
        info = session.info
        endings = modality_for(info.input.kind).reader(info).endings
    asked = [Asked(text) for text in request.inputs]
    settings = Settings(
        model=request.model.name,
        artifact_sha256=read_container(request.model).metadata[DIGEST_KEY],
        inputs=tuple(each.text for each in asked),
        column=request.column,
        engine=request.engine,
        chunk=request.chunk,
    )
    with output.held():
        if request.restart:
            output.clear()
        listed = output.agree(settings)
        if listed is None:
            about = {"network": info.model, "layers": list(info.layers), "classes": list(info.classes or ())}
            output.write(settings, about, None)
            listed = write_listing(
                output.path / LISTING,
                asked,
                endings,
                chunk=request.chunk,
                without=request.output,
                told=listing,
            )
            output.write(settings, about, listed)
        work = Work(request.output.absolute(), request.engine, request.column, request.batch, request.threads)
        return _do(request.model, work, listed, output, execute, progress)


def _do(
    model: Path, work: Work, listed: Listed, output: Output, execute: Executor, progress: Told
) -> Summary:
    done = output.finished(listed.chunks)
    summary = Summary(listed, sum(done))
    if summary.before == listed.chunks:
        return summary
    costs = array("q", read_costs(work.folder / LISTING, listed.chunks))
    spent, left = 0, sum(cost for cost, is_done in zip(costs, done, strict=True) if not is_done)
    for each in execute(model, work, (chunk for chunk in range(listed.chunks) if not done[chunk])):
        summary.chunks += 1
        summary.inputs += each.inputs
        summary.errors += each.errors
        spent += costs[each.chunk]
        progress(summary.inputs, round((left - spent) * summary.inputs / spent), summary.errors)
    return summary
