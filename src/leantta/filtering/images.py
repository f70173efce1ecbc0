"""What filters are fitted on: source images with disturbed copies, and images from the field.

Field images are unlabelled inputs from where the model will run. None of them has a clean twin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from leantta.disturbances.copies import Copies
from leantta.errors import DataError

FEWEST = 24
"""Different images that are needed to fit, choose and tell; and of field images."""

COPIES = 2
"""Disturbed copies of each image, in pairs: when filters are judged, the second is of an unknown kind."""


class UnfitError(Exception):
    """No filter can be fitted; the text says why."""


class Images(NamedTuple):
    """Images for one purpose, and their copies, copy after copy."""

    inputs: Tensor  # (n, ...)
    copies: Tensor  # (copies * n, ...)
    kinds: Tensor  # (copies * n, 2): of the disturbances of each, the second -1 for none
    scores: Tensor  # (n, classes) or (n, classes, pixels): what the unchanged model says of them

    @classmethod
    def of(
        cls,
        inputs: Tensor,
        scores: Tensor,
        disturbed: Callable[[Tensor, int], Copies],
        seed: int,
        *,
        pairs: int = 1,
    ) -> Images:
        """Disturb images, so many pairs of copies of each."""
        made = [disturbed(inputs, seed + copy) for copy in range(COPIES * pairs)]
        copies, kinds = (torch.cat(parts) for parts in zip(*made, strict=True))
        return cls(inputs, copies, kinds, scores)


def check_images(inputs: Tensor, field: Tensor | None) -> None:
    """Look whether there is enough to fit, choose and tell by.

    Raises:
        DataError: there are no images, or some are not finite; or field images cannot be used.
        UnfitError: there are too few.
    """
    if not len(inputs):
        raise DataError("no images were given to fit the shift filter on; some hundreds are usual")
    if not bool(inputs.isfinite().all()):
        raise DataError("one of the images to fit the shift filter on is not finite; repair or remove it")
    if field is not None:
        _check_field(field, inputs)
    different = _different(inputs)
    if different < FEWEST:
        raise UnfitError(
            f"the shift filter needs {FEWEST} different images, some hundreds are usual; {len(inputs)} were "
            f"given, of which {different} differ"
        )


def _check_field(field: Tensor, inputs: Tensor) -> None:
    """Refuse field images that are too few, or that are not such as the source images are."""
    if not len(field):
        raise DataError("no field images were given; some hundreds are usual. Give some, or leave field out.")
    if field.shape[1:] != inputs.shape[1:]:
        raise DataError(
            f"field images have the shape of source images, {tuple(inputs.shape[1:])}; these have "
            f"{tuple(field.shape[1:])}. Bring both to the size that the model takes."
        )
    if not bool(field.isfinite().all()):
        raise DataError("one of the field images is not finite; repair or remove it")
    different = _different(field)
    if different < FEWEST:
        raise DataError(
            f"{FEWEST} different field images are the fewest, some hundreds are usual; {len(field)} were "
            f"given, of which {different} differ. Give more, or none."
        )


def _different(inputs: Tensor) -> int:
    return len(torch.unique(inputs.flatten(1), dim=0))
