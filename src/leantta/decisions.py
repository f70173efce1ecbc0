"""What a model decides, by its scores, and what it expects to lose where it decides otherwise.

With p the probabilities of the unchanged model for one image, `first` its decision and `then` that of the
adapting model, the model itself expects to lose

    p[first] - p[then]

of its accuracy on it, which is zero where the decision stays. It needs no labels, and overstates the loss a
little, as what adapting has seen is not in p.

A model that decides for each pixel is judged by an even sample of them, and an image by their mean: pixels of
an image are alike, so only images count as independent. Of several outputs the first that decides is judged.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from leantta.functional import two_scores
from leantta.outputs import named, role_of, sampled


def scores_of(output: Any, inputs: Tensor) -> Tensor | None:
    """Return the scores of what a model put out for inputs: (n, classes), or (n, classes, pixels) of maps.

    Those of a yes-no question are two. None if it decides nothing.
    """
    try:
        tensors = named(output)
    except TypeError:
        return None
    for each in tensors.values():
        if not isinstance(each, Tensor) or len(each) != len(inputs) or not each.is_floating_point():
            continue
        role = role_of(each.shape[1:], inputs.shape[1:])
        if role == "array":
            continue
        scores = each.float()
        if role == "map":
            rows, columns = sampled(*each.shape[2:])
            scores = scores[:, :, rows, columns].flatten(2)
        return two_scores(scores) if scores.shape[1] == 1 else scores
    return None


def joined(scores: Iterable[Tensor | None]) -> Tensor | None:
    """Return the scores of batches as those of all inputs; None if one of them has none."""
    parts = []
    for each in scores:
        if each is None:
            return None
        parts.append(each)
    return torch.cat(parts)


def by_image(values: Tensor) -> Tensor:
    """Return values (n,) as they are, and of values for pixels (n, pixels) the mean of each image."""
    mean: Tensor = values if values.dim() == 1 else values.mean(1)
    return mean


def expected_losses(before: Tensor, after: Tensor) -> Tensor:
    """Return what a model with the first scores expects to lose by the decisions of the others, (n,).

    >>> expected_losses(torch.tensor([[0.0, 2.0]]), torch.tensor([[1.0, 0.0]]))
    tensor([0.7616])
    """
    probabilities = before.softmax(1)
    first, then = (scores.argmax(1, keepdim=True) for scores in (before, after))
    return by_image((probabilities.gather(1, first) - probabilities.gather(1, then))[:, 0])
