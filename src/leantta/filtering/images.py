"""What filters are fitted on: source images with disturbed copies, and images from the field.

Field images are unlabelled inputs from where the model will run. None of them has a clean twin.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from leantta.disturbances.copies import Copies
from leantta.errors import DataError
from leantta.pixels import Inputs, Pixels, floats, joined_inputs

FEWEST = 24
"""Different images that are needed to fit, choose and tell; and of field images."""

AT_ONCE = 32
"""Images that are compared together."""

COPIES = 2
"""Disturbed copies of each image, in pairs: when filters are judged, the second is of an unknown kind."""


class UnfitError(Exception):
    """No filter can be fitted; the text says why."""


class Images(NamedTuple):
    """Images for one purpose, and their copies, copy after copy."""

    inputs: Inputs  # (n, ...)
    copies: Inputs  # (copies * n, ...); bytes if the images are
    kinds: Tensor  # (copies * n, 2): of the disturbances of each, the second -1 for none
    scores: Tensor  # (n, classes) or (n, classes, pixels): what the unchanged model says of them

    @classmethod
    def of(
        cls,
        inputs: Inputs,
        scores: Tensor,
        disturbed: Callable[[Inputs, int], Copies],
        seed: int,
        *,
        pairs: int = 1,
    ) -> Images:
        """Disturb images, so many pairs of copies of each."""
        return cls._of(inputs, scores, disturbed, range(seed, seed + COPIES * pairs))

    @classmethod
    def pair_after_pair(
        cls,
        inputs: Inputs,
        scores: Tensor,
        disturbed: Callable[[Inputs, int], Copies],
        seed: int,
        *,
        pairs: int,
    ) -> Iterator[Images]:
        """Yield the same copies, one pair of each image at a time, so that few are held at once."""
        for pair in range(seed, seed + pairs):
            yield cls._of(inputs, scores, disturbed, range(pair, pair + COPIES * pairs, pairs))

    @classmethod
    def _of(
        cls, inputs: Inputs, scores: Tensor, disturbed: Callable[[Inputs, int], Copies], seeds: Iterable[int]
    ) -> Images:
        made = [disturbed(inputs, seed) for seed in seeds]
        copies = joined_inputs([each.inputs for each in made])
        return cls(inputs, copies, torch.cat([each.kinds for each in made]), scores)

    def changes(self, least: float) -> bool:
        """Tell whether a copy differs from its image by more than a share of the deviation of all values."""
        count = len(self.inputs)
        for start in range(0, count, AT_ONCE):
            clean = floats(self.inputs[start : start + AT_ONCE])
            for copy in range(len(self.copies) // count):
                first = copy * count + start
                change = floats(self.copies[first : first + len(clean)]) - clean
                if float(change.abs().max()) > least * float(clean.std()):
                    return True
        return False


def check_images(inputs: Inputs, field: Inputs | None) -> None:
    """Look whether there is enough to fit, choose and tell by.

    Raises:
        DataError: there are no images, or some are not finite; or field images cannot be used.
        UnfitError: there are too few.
    """
    if not len(inputs):
        raise DataError("no images were given to fit the shift filter on; some hundreds are usual")
    if not _is_finite(inputs):
        raise DataError("one of the images to fit the shift filter on is not finite; repair or remove it")
    if field is not None:
        _check_field(field, inputs)
    different = _different(inputs)
    if different < FEWEST:
        raise UnfitError(
            f"the shift filter needs {FEWEST} different images, some hundreds are usual; {len(inputs)} were "
            f"given, of which {different} differ"
        )


def _check_field(field: Inputs, inputs: Inputs) -> None:
    """Refuse field images that are too few, or that are not such as the source images are."""
    if not len(field):
        raise DataError("no field images were given; some hundreds are usual. Give some, or leave field out.")
    if field.shape[1:] != inputs.shape[1:]:
        raise DataError(
            f"field images have the shape of source images, {tuple(inputs.shape[1:])}; these have "
            f"{tuple(field.shape[1:])}. Bring both to the size that the model takes."
        )
    if not _is_finite(field):
        raise DataError("one of the field images is not finite; repair or remove it")
    different = _different(field)
    if different < FEWEST:
        raise DataError(
            f"{FEWEST} different field images are the fewest, some hundreds are usual; {len(field)} were "
            f"given, of which {different} differ. Give more, or none."
        )


def _is_finite(inputs: Inputs) -> bool:
    return isinstance(inputs, Pixels) or bool(inputs.isfinite().all())


def _different(inputs: Inputs) -> int:
    rows = (inputs[i : i + 1] for i in range(len(inputs)))
    values = (row.bytes() if isinstance(row, Pixels) else row + 0 for row in rows)  # -0 + 0 is 0
    return len({hashlib.sha256(value.cpu().contiguous().numpy().tobytes()).digest() for value in values})
