"""What a model decides, by its scores, and what it expects to lose where it decides otherwise.

With p the probabilities of the unchanged model for one image, `first` its decision and `then` that of the
adapting model, the model itself expects to lose

    p[first] - p[then]

of its accuracy on it, which is zero where the decision stays. It needs no labels, and overstates the loss a
little, as what adapting has seen is not in p.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from leantta.functional import two_scores


def scores_of(output: Any) -> Tensor | None:
    """Return what a model put out if it is scores, (n, classes), two for a yes-no question; else None."""
    if not isinstance(output, Tensor) or output.dim() != 2:
        return None
    return two_scores(output.float()) if output.shape[1] == 1 else output.float()


def joined(scores: Iterable[Tensor | None]) -> Tensor | None:
    """Return the scores of batches as those of all inputs; None if one of them has none."""
    parts = []
    for each in scores:
        if each is None:
            return None
        parts.append(each)
    return torch.cat(parts)


def expected_losses(before: Tensor, after: Tensor) -> Tensor:
    """Return what a model with the first scores expects to lose by the decisions of the others, (n,).

    >>> expected_losses(torch.tensor([[0.0, 2.0]]), torch.tensor([[1.0, 0.0]]))
    tensor([0.7616])
    """
    probabilities = before.softmax(1)
    first, then = (scores.argmax(1, keepdim=True) for scores in (before, after))
    return (probabilities.gather(1, first) - probabilities.gather(1, then))[:, 0]
