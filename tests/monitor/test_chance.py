"""The exact test against scipy's beta-binomial, and against draws."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantta.export.heads import shift_scale
from leantta.monitor.chance import chance, least_unusual


def independent(shifted: int, inputs: int, images: int) -> float:
    """The beta-binomial as a ratio of whole numbers: of which of all orders of the images and inputs."""
    rank = math.ceil(0.99 * (images - 1)) + 1
    whole = math.comb(images + inputs, images)
    fitting = sum(
        math.comb(inputs - count + rank - 1, rank - 1) * math.comb(count + images - rank, count)
        for count in range(shifted, inputs + 1)
    )
    return fitting / whole


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 60), st.integers(1, 1500), st.data())
def test_it_is_the_share_of_all_orders_in_which_so_many_inputs_lie_above(
    inputs: int, images: int, data: st.DataObject
) -> None:
    shifted = data.draw(st.integers(0, inputs))
    assert chance(shifted, inputs, images) == pytest.approx(independent(shifted, inputs, images), rel=1e-6)


@pytest.mark.parametrize("images", [48, 512])
def test_draws_exceed_the_limit_of_a_file_as_often_as_it_says(images: int) -> None:
    random = np.random.default_rng(0)
    inputs, runs, hits = 20, 2000, 0
    for _ in range(runs):
        scale = shift_scale(random.normal(size=(images, 1)).astype(np.float32) + 9)
        seen = random.normal(size=inputs).astype(np.float32) + 9
        hits += (seen / scale.usual[0] > scale.limit).sum() >= 2
    wanted = chance(2, inputs, images)
    assert abs(hits / runs - wanted) < 4 * math.sqrt(wanted * (1 - wanted) / runs)


def test_the_least_unusual_number_is_the_first_that_is_rare_enough() -> None:
    for inputs, least in enumerate(least_unusual(120, 1000, 1e-4)):
        assert chance(least - 1, inputs, 1000) > 1e-4
        assert least > inputs or chance(least, inputs, 1000) <= 1e-4


def test_with_few_images_nothing_may_be_rare_enough() -> None:
    assert least_unusual(3, 10, 1e-6) == [1, 2, 3, 4]
