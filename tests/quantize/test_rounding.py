"""Weights are rounded so that their errors cancel, and none goes further than to its other neighbour."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from leantta.quantize.rounding import balanced

Doubles = NDArray[np.float64]

SHAPES = st.tuples(st.integers(1, 4), st.integers(1, 6), st.integers(1, 9))
NUMBERS = st.one_of(st.floats(-127, 127), st.sampled_from([0.0, 0.5, -0.5, 1.5, 0.49, 100.0]))
WEIGHTS = SHAPES.flatmap(lambda shape: arrays(np.float64, shape, elements=NUMBERS))
SLACK = 1e-9  # sums of doubles


@given(WEIGHTS)
def test_each_weight_goes_to_one_of_its_neighbours(exact: Doubles) -> None:
    whole = balanced(exact)
    np.testing.assert_array_equal(whole, np.rint(whole))
    assert (np.abs(whole - exact) < 1).all()


@given(WEIGHTS)
def test_the_sum_of_each_channel_is_right_within_half_a_step(exact: Doubles) -> None:
    errors = (balanced(exact) - exact).sum(axis=(1, 2))
    assert (np.abs(errors) <= 0.5 + SLACK).all()


@given(WEIGHTS)
def test_the_sum_of_each_kernel_is_right_within_a_step_and_a_half(exact: Doubles) -> None:
    """Half a step, but for kernels that gave one to the sum of their channel."""
    errors = (balanced(exact) - exact).sum(axis=2)
    assert (np.abs(errors) <= 1 + SLACK).all()
    given_up = (np.abs(errors) > 0.5 + SLACK).sum(axis=1)
    assert (given_up <= exact.shape[1] / 2 + 1).all()


@given(arrays(np.float64, (2, 3, 4), elements=st.integers(-127, 127).map(float)))
def test_whole_numbers_stay(exact: Doubles) -> None:
    np.testing.assert_array_equal(balanced(exact), exact)


def test_even_inputs_are_summed_better_than_by_the_nearest() -> None:
    """What it is for: maps without much detail, positive in every channel."""
    random = np.random.default_rng(0)
    exact = random.normal(0, 20, (64, 16, 9))
    maps = 1 + 0.2 * random.normal(size=(16, 9, 50))
    errors = {
        name: np.einsum("oit,itn->on", whole - exact, maps).std()
        for name, whole in (("nearest", np.rint(exact)), ("balanced", balanced(exact)))
    }
    assert errors["balanced"] < 0.4 * errors["nearest"]
