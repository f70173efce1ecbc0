"""By what a layer may keep its filter: probabilities, or decisions."""

import pytest
import torch

from leantta.filtering.judging import Gain, Judged, gained, helps
from leantta.filtering.report import Interval

GOOD, LITTLE, BAD, NOTHING = (
    Interval(0.02, 0.0098),
    Interval(0.0005, 0.0001),
    Interval(-0.03, 0.0098),
    Interval(0, 0),
)
# the half width 0.0098 is a standard error of 0.005


@pytest.mark.parametrize(
    ("trust", "hits", "unknown_trust", "unknown_hits", "wanted"),
    [
        (GOOD, NOTHING, NOTHING, NOTHING, False),  # what unknown kinds gain must exceed what chance takes
        (GOOD, GOOD, GOOD, GOOD, True),
        (GOOD, NOTHING, GOOD, NOTHING, False),
        (GOOD, LITTLE, GOOD, BAD, True),  # probabilities alone will do
        (LITTLE, LITTLE, GOOD, GOOD, True),
        (GOOD, BAD, GOOD, GOOD, False),  # but not where decisions are lost
        (GOOD, GOOD, BAD, BAD, False),
        (BAD, GOOD, BAD, GOOD, True),  # less sure of everything, and right more often
        (BAD, Interval(0.009, 0.0098), BAD, GOOD, False),  # by less than two standard errors
        (BAD, GOOD, BAD, BAD, False),
    ],
)
def test_a_layer_helps_by_probabilities_or_by_decisions(
    trust: Interval, hits: Interval, unknown_trust: Interval, unknown_hits: Interval, wanted: bool
) -> None:
    assert helps(Gain(trust, hits, unknown_trust, unknown_hits)) is wanted


def test_copies_of_one_image_count_as_one() -> None:
    draw = torch.Generator().manual_seed(0)
    before = Judged(torch.rand(30, 2, generator=draw), torch.zeros(30, 2))
    more = torch.rand(30, 2, generator=draw)
    after = Judged(before.trust + more, before.hit + 1)
    found = gained(before, after, 10)
    by_image = more.view(3, 10, 2).mean(0)  # copies come copy after copy
    assert found.trust.mean == pytest.approx(float(more.mean()))
    assert found.trust.error == pytest.approx(float(by_image.mean(1).std()) / 10**0.5)
    assert found.unknown_trust.mean == pytest.approx(float(more[:, 1].mean()))
    assert found.hits == (1.0, 0.0)
    assert found.unknown_hits == (1.0, 0.0)
