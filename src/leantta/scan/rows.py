"""The rows of the output: what the model said of each input, or why it could not be read.

| column | what it holds |
|---|---|
| path, member | the file; in a tar the name of the member, in a Parquet file the number of the row |
| window, start_s | which input of the file, from 0; of sound, where it begins |
| modified | when the file, or the member of a tar, was changed, UTC |
| label, index, probability | the class; of a model that decides for each pixel, the commonest, its share |
| probabilities | of each class; of a model that decides for each pixel, their shares of the pixels |
| shift, distances | how far the input was from the training data, and by layer |
| model | the digest of the model file |
| error | why there is nothing else |
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from leantta.runtime.metadata import Info
from leantta.runtime.prediction import Outputs, probabilities
from leantta.scan.items import Item

_FIELDS = (
    *(("path", pa.string()), ("member", pa.string()), ("window", pa.int32()), ("start_s", pa.float64())),
    *(("modified", pa.timestamp("s", "UTC")), ("label", pa.string()), ("index", pa.int32())),
    *(("probability", pa.float32()), ("probabilities", pa.list_(pa.float32()))),
    *(("shift", pa.float32()), ("distances", pa.list_(pa.float32()))),
    *(("model", pa.string()), ("error", pa.string())),
)
_TOLD = 5  # columns that say which input it is


class Where(NamedTuple):
    """Which input a row is of."""

    item: Item
    window: int
    start_s: float | None


class Rows:
    """Makes rows for one model file."""

    def __init__(self, info: Info, digest: str) -> None:
        """Take what the model says of itself, and the digest of its file."""
        self.info, self.digest = info, digest
        names = [info.label(index) for index in range(max(info.outputs, 2))] if info.outputs else []
        about = {"model": info.model, "layers": info.layers, "classes": names}
        self.schema = pa.schema(_FIELDS, metadata={b"leantta": json.dumps(about).encode()})
        self._labels = pa.array(names, pa.string())

    def failed(self, where: Where, error: str) -> Any:
        """Return the row of an input that could not be read, as a table."""
        columns = [*_told([where]), *(pa.nulls(1, kind) for _, kind in _FIELDS[_TOLD:-2])]
        return self._table([*columns, pa.array([self.digest]), pa.array([error])])

    def answered(self, wheres: Sequence[Where], outputs: Outputs) -> Any:
        """Return the rows of a batch, as a table."""
        count = len(wheres)
        wrong = self._wrong(outputs)
        unsaid = pa.array(wrong, mask=[each is None for each in wrong], type=pa.string())
        fine = np.array([each is None for each in wrong])
        label, index, chance = (pa.nulls(count, kind) for _, kind in _FIELDS[5:8])
        chances = shift = distances = None
        if (shares := self._shares(outputs)) is not None:
            with np.errstate(invalid="ignore"):
                best = shares.argmax(1)
            label = self._labels.take(pa.array(best, mask=~fine))
            index = pa.array(best.astype(np.int32), mask=~fine)
            chance = pa.array(shares[np.arange(count), best].astype(np.float32), mask=~fine)
            chances = shares
        if outputs.shift is not None:
            shift, distances = outputs.shift, outputs.distance
        columns = [
            *(label, index, chance, _lists(chances, fine)),
            pa.nulls(count, pa.float32()) if shift is None else pa.array(shift, pa.float32(), mask=~fine),
            _lists(distances, fine),
        ]
        return self._table([*_told(wheres), *columns, pa.repeat(self.digest, count), unsaid])

    def _table(self, columns: Sequence[Any]) -> Any:
        return pa.Table.from_arrays(list(columns), schema=self.schema)

    def _wrong(self, outputs: Outputs) -> list[str | None]:
        """Return of each input why what the model said is worth nothing; None: it is fine."""
        wrong: list[str | None] = [None] * outputs.count
        for name, array in outputs.named().items():
            finite = np.isfinite(array.reshape(len(array), -1)).all(1)
            for place in np.flatnonzero(~finite):
                wrong[place] = f"the model gave {name} that are not finite"
        return wrong

    def _shares(self, outputs: Outputs) -> Any:
        """Return of each class the probability, or the share of pixels, (n, classes); None: no decision."""
        decides = self.info.deciding
        if decides is None:
            return None
        scores = outputs.arrays[decides.name]
        with np.errstate(invalid="ignore", over="ignore"):
            if decides.role == "classes":
                return probabilities(scores)
            classes = scores.argmax(1) if scores.shape[1] > 1 else scores[:, 0] > 0
        known = max(decides.scores, 2)
        return np.stack([np.bincount(each.reshape(-1), minlength=known) / each.size for each in classes])


def _told(wheres: Sequence[Where]) -> list[Any]:
    items = [where.item for where in wheres]
    values = (
        [item.path for item in items],
        [item.member for item in items],
        [where.window for where in wheres],
        [where.start_s for where in wheres],
        [None if item.modified is None else int(item.modified) for item in items],
    )
    return [pa.array(column, kind) for column, (_, kind) in zip(values, _FIELDS[:_TOLD], strict=True)]


def _lists(values: Any, fine: Any) -> Any:
    """Return rows of numbers (n, k) as lists; nothing where it is not fine."""
    if values is None:
        return pa.nulls(len(fine), pa.list_(pa.float32()))
    sizes = np.where(fine, values.shape[1], 0)
    ends = pa.array(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32))
    flat = pa.array(values[fine].astype(np.float32).reshape(-1))
    return pa.ListArray.from_arrays(ends, flat, mask=pa.array(~fine))
