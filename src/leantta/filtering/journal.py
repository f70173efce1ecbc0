"""What a fit has found so far, in a file: a fit that was stopped goes on after its last finished layer.

The file holds a hash, of the key of the fit and of what follows, and what was found, as `torch.save` has it.
So a file of another fit, or one that is damaged, is never read: the fit starts anew.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from leantta.digests import tensors_sha256
from leantta.files import replacing
from leantta.filtering.judging import Judged
from leantta.filtering.layer import Candidate
from leantta.filtering.probe import scores
from leantta.filtering.report import FilterReport, Interval, LayerReport
from leantta.filtering.subject import Filters, Subject
from leantta.pixels import Inputs, Pixels

EDITION = 1
"""Of fitting and of the file; raised when either changes, so that no fit goes on with what another began."""

PROBED = 32
"""Images that show how the model decides and what disturbs them; its code and theirs have no hash."""

HASH_BYTES = hashlib.sha256().digest_size


class SoFar(NamedTuple):
    """What a fit has found in the layers that it has finished."""

    kept: dict[str, Candidate]  # the filters that help
    rows: tuple[LayerReport, ...]  # of the layers that were tried
    best: Judged  # how the model decides with those filters
    finished: int = 0  # layers, in execution order
    failed: int = 0  # of the last layers, how many in a row did not help


KINDS: tuple[Callable[..., Any], ...] = (
    Candidate,
    Filters,
    FilterReport,
    Interval,
    Judged,
    LayerReport,
    SoFar,
)
"""Of values in the file; `torch.load` builds no other."""


class Journal:
    """What was found of one fit, and where to keep what is found next."""

    def __init__(self, subject: Subject) -> None:
        """Read what a fit of the same subject has kept; without a path, nothing."""
        self.path: Path | None = subject.resume
        self.found: SoFar | Filters | None = None
        self.label = "filter"
        if self.path is None:
            return
        self._key = _key(subject)
        if self.path.is_file():
            raw = self.path.read_bytes()
            if raw[:HASH_BYTES] == self._hash(raw[HASH_BYTES:]):
                with torch.serialization.safe_globals([*KINDS]):
                    self.found = torch.load(io.BytesIO(raw[HASH_BYTES:]), weights_only=True)
                self.label = "filter (goes on)"
            else:
                self.label = f"filter (anew: {self.path.name} is damaged or of another fit)"

    def keep(self, found: SoFar | Filters) -> None:
        """Write down what was found, in the place of what was before."""
        if self.path is None:
            return
        held = io.BytesIO()
        torch.save(found, held)
        with replacing(self.path) as part:
            part.write_bytes(self._hash(held.getvalue()) + held.getvalue())

    def _hash(self, content: bytes) -> bytes:
        return hashlib.sha256(self._key + content).digest()


def _key(subject: Subject) -> bytes:
    """Return a hash of all that decides what a fit finds."""
    model = subject.filtered({})
    some = subject.images[:PROBED]
    disturbed = subject.copies(some, 0)
    found = [scores(model, inputs) for inputs in (some, disturbed.inputs)]
    parts = {
        "weights": model.state_dict(),
        "images": _tensors(subject.images),
        "field": {} if subject.field is None else _tensors(subject.field),
        "disturbed": {**_tensors(disturbed.inputs), "kinds": disturbed.kinds},
        "decided": {str(place): each.argmax(1) for place, each in enumerate(found) if each is not None},
    }
    hashes = {name: tensors_sha256(tensors) for name, tensors in parts.items()}
    asked = (subject.gate, list(subject.layers), subject.last, tuple(subject.images.shape))
    all_of_it = (EDITION, torch.__version__, asked, hashes)
    return hashlib.sha256(repr(all_of_it).encode()).digest()


def _tensors(inputs: Inputs) -> dict[str, Tensor]:
    if isinstance(inputs, Pixels):
        return {"pixels": inputs.bytes(), "scale": inputs.scale, "offset": inputs.offset}
    return {"values": inputs}
