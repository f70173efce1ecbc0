"""Whether filters help: how a model decides on disturbed copies with them, and what that gains."""

from typing import NamedTuple

import torch
from torch import Tensor

from leantta.decisions import by_image
from leantta.filtering.report import Interval

WORTH_IT = 0.001
"""Gain in the probability of the clean decision that a layer is worth its time for."""

SURER = 2.0
"""Standard errors that a gain in decisions must be above 0, where probabilities show none."""


class Judged(NamedTuple):
    """How a model decides on images that it was not fitted on, and on a copy of each kind."""

    trust: Tensor  # (pairs * n, 2): the probability of the decision on the clean image; known kind, unknown
    hit: Tensor  # (pairs * n, 2): whether the decision is that one; of pixels, the share of them

    @classmethod
    def of(cls, clean: Tensor, known: Tensor, unknown: Tensor) -> "Judged":
        """Judge scores of copies (pairs * n, classes, ...) by those of the clean images (n, classes, ...)."""
        first = clean.argmax(1, keepdim=True)
        first = first.repeat(len(known) // len(first), *(1,) * (first.dim() - 1))  # (pairs * n, 1, ...)
        both = [
            (
                by_image(scores.softmax(1).gather(1, first)[:, 0]),
                by_image((scores.argmax(1) == first[:, 0]).float()),
            )
            for scores in (known, unknown)
        ]
        trust, hit = (torch.stack(each, 1) for each in zip(*both, strict=True))
        return cls(trust, hit)


class Gain(NamedTuple):
    """What some filters gain over others, over both kinds of copies and over those of unknown kinds alone."""

    trust: Interval  # in the probability of the clean decision
    hits: Interval  # in the share of clean decisions
    unknown_trust: Interval
    unknown_hits: Interval


def gained(before: Judged, after: Judged, images: int) -> Gain:
    """Return what was gained, from two judgements of the copies of so many images."""
    trust, hits = (over_pairs(then - first, images) for first, then in zip(before, after, strict=True))
    return Gain(
        *(interval(each.mean(1)) for each in (trust, hits)), *(interval(e[:, 1]) for e in (trust, hits))
    )


def over_pairs(values: Tensor, images: int) -> Tensor:
    """Return the mean over the pairs of each image, (n, 2), of values (pairs * n, 2)."""
    mean: Tensor = values.unflatten(0, (-1, images)).mean(0)
    return mean


def helps(gain: Gain) -> bool:
    """Tell whether a layer helps, by probabilities or by decisions.

    Probabilities tell small gains from chance. But adapting may leave a model less sure of everything and
    right more often. So a layer that brings more clean decisions than chance does may stay, too. Kinds that
    it does not know may not lose by it, nor may decisions.
    """
    surer = gain.trust.mean > WORTH_IT and gain.unknown_trust.mean > -gain.unknown_trust.error
    oftener = gain.hits.mean > SURER * gain.hits.error and gain.unknown_hits.mean > -gain.unknown_hits.error
    return (surer and gain.hits.mean > -SURER * gain.hits.error) or oftener


def interval(values: Tensor) -> Interval:
    """Return the mean of the values of independent images, and how sure it is.

    >>> interval(torch.tensor([0.0, 1.0, 0.0, 1.0])).mean
    0.5
    """
    if len(values) < 2:
        return Interval(float(values.mean()), torch.inf)
    return Interval(float(values.mean()), 1.96 * float(values.std()) / len(values) ** 0.5)
