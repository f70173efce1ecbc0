"""How far the inputs of each domain are from the training data, as the adapting settings see them.

Without labels that is what can be said of a domain: a model file tells its `shift`, of which 1 in 100 source
inputs exceeds 1; a torch model the mean distance of its adapting layers, in the unit of its gate.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from leantta.data.datasets import Inputs, Labels
from leantta.evaluate.predictor import Predictor
from leantta.methods.contenders import Contender
from leantta.progress import Progress, silent
from leantta.runtime.session import Session
from leantta.streams.stream import Stream
from leantta.tables import MISSING, Table

PER_DOMAIN, AT_ONCE = 20, 10
"""Inputs of each domain that are measured, and how many at once."""

Measure = Callable[[Inputs], npt.NDArray[np.float64] | None]
"""Returns how far inputs are, (n,); None if nothing adapts, so that nothing is measured."""


def shifts(
    streams: Sequence[Stream],
    contenders: Sequence[Contender],
    titles: Sequence[str],
    progress: Progress = silent,
) -> Table | None:
    """Return a row per domain and a column per setting that measures shifts; None if none does."""
    measures = [measure_of(each.predictor) for each in contenders]
    places = [(stream, name, some) for stream in streams for name, some in _by_domain(stream)]
    rows = []
    for done, (stream, name, some) in enumerate(places):
        parts = [stream.load(some[i : i + AT_ONCE]) for i in range(0, len(some), AT_ONCE)]
        rows.append([name, str(len(some)), *(_mean(measure, parts) for measure in measures)])
        progress(done + 1, len(places))
    kept = [place for place in range(len(measures)) if any(row[2 + place] != MISSING for row in rows)]
    if not kept:
        return None
    header = ("domain", "measured", *(f"shift, {titles[place]}" for place in kept))
    return Table(
        header,
        tuple((row[0], row[1], *(row[2 + place] for place in kept)) for row in rows),
        (
            "How far inputs are from the training data. Model files: 1 in 100 source inputs exceeds 1. Torch "
            "models: mean distance of the adapting layers; compare the rows of a column.",
        ),
    )


def measure_of(predictor: Predictor) -> Measure:
    """Return what measures the shift of inputs for a predictor."""
    if isinstance(predictor, Session):
        if not predictor.info.layers:
            return lambda _: None
        session = predictor
        return lambda inputs: np.asarray(session.shift(inputs), np.float64)
    return lambda inputs: _watched(predictor, inputs)


def _watched(predictor: Predictor, inputs: Inputs) -> npt.NDArray[np.float64] | None:
    """Return the mean distance of the adapting layers of a torch model."""
    from leantta.methods.method import TorchPredictor
    from leantta.nn import watch

    if not isinstance(predictor, TorchPredictor):
        return None
    with watch(predictor.model) as readings:
        predictor.predict(inputs)
    distances = [reading.distance.double().numpy() for reading in readings.values()]
    return np.mean(distances, axis=0) if distances else None


def _by_domain(stream: Stream) -> Iterator[tuple[str, Labels]]:
    """Give each domain with the places of some of its inputs; severities of a corruption are one domain."""
    names = [domain.corruption for domain in stream.domains]
    for name in sorted(set(names)):
        here = np.flatnonzero(np.isin(stream.domain, [i for i, each in enumerate(names) if each == name]))
        if len(here):
            yield name, here[:: max(1, len(here) // PER_DOMAIN)][:PER_DOMAIN]


def _mean(measure: Measure, parts: Sequence[Inputs]) -> str:
    found = [measure(part) for part in parts]
    known = [each for each in found if each is not None]
    return f"{np.concatenate(known).mean():.2f}" if known else MISSING
