"""Bytes stand for what they should, integer sums never overflow, and errors of weights cancel."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from leantta.graph.ir import CONTRIB, Graph, Node, Tensor
from leantta.graph.run import run_graph
from leantta.quantize.params import (
    LEVELS,
    Weights,
    affine_of,
    balanced,
    quantize_bias,
    quantize_weights,
)

Integers = NDArray[np.int64]

FINITE = st.floats(-1e6, 1e6, allow_nan=False, width=32)
SIXTEEN_BITS = np.iinfo(np.int16)


@given(st.tuples(FINITE, FINITE).map(sorted))
def test_bytes_cover_the_range_and_hold_zero_exactly(span: list[float]) -> None:
    low, high = span
    affine = affine_of((low, high))
    assert 0 <= affine.zero <= LEVELS
    assert affine.scale > 0
    slack = 0.5001 * affine.scale  # the zero point is rounded
    assert affine.low <= 0 <= affine.high
    assert affine.low <= low + slack
    assert affine.high >= high - slack


@given(st.tuples(FINITE, FINITE).map(sorted), st.floats(0, 1))
def test_every_value_in_the_range_comes_back_within_a_step(span: list[float], share: float) -> None:
    affine = affine_of((span[0], span[1]))
    value = span[0] + share * (span[1] - span[0])
    held = np.clip(round(value / affine.scale) + affine.zero, 0, LEVELS)
    back = affine.scale * (held - affine.zero)
    inside = affine.low <= value <= affine.high
    assert abs(back - value) <= (0.5001 if inside else 1.0) * affine.scale + 1e-30


@pytest.mark.parametrize("span", [(0.0, 0.0), (0.0, 1e-30), (-1e-25, 0.0)])
def test_an_empty_range_gets_a_step_that_later_values_can_use(span: tuple[float, float]) -> None:
    affine = affine_of(span)
    assert (affine.low, affine.high) == (0, pytest.approx(1))


@pytest.mark.parametrize(
    ("span", "zero"), [((0.0, 6.0), 0), ((2.0, 6.0), 0), ((-6.0, 0.0), 255), ((-6.0, -2.0), 255)]
)
def test_one_sided_ranges_use_all_bytes(span: tuple[float, float], zero: int) -> None:
    affine = affine_of(span)
    assert affine.zero == zero
    assert affine.high - affine.low == pytest.approx(6)


KERNELS = st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(1, 3), st.integers(1, 3))


def weights(shapes: st.SearchStrategy[tuple[int, ...]]) -> st.SearchStrategy[NDArray[np.float32]]:
    few = st.sampled_from([0.0, 1.0, -1.0, 0.5, -0.49, 0.01, 1e-3])  # ties and extremes are the hard ones
    values = st.one_of(few, st.floats(-100, 100, width=32))
    return shapes.flatmap(lambda shape: arrays(np.float32, shape, elements=values))


@settings(max_examples=150)
@given(weights(KERNELS))
def test_no_pair_of_neighbours_overflows_in_either_order(weight: NDArray[np.float32]) -> None:
    found = quantize_weights(weight, summed_in_pairs=True).values.astype(np.int64)
    rows = found.reshape(len(found), -1)
    last = np.moveaxis(found, 1, -1).reshape(len(found), -1)
    for order in (rows, last):
        for byte in [(255, 255), (255, 0), (0, 255)]:
            sums = byte[0] * order[:, :-1] + byte[1] * order[:, 1:]
            assert sums.max(initial=0) <= SIXTEEN_BITS.max
            assert sums.min(initial=0) >= SIXTEEN_BITS.min


@pytest.mark.parametrize("pairs", [True, False])
@given(weight=weights(KERNELS))
def test_weights_come_back_within_a_step_of_their_channel(pairs: bool, weight: NDArray[np.float32]) -> None:
    found = quantize_weights(weight, summed_in_pairs=pairs)
    along = (-1, 1, 1, 1)
    error = np.abs(found.values * found.scale.astype(np.float64).reshape(along) - weight)
    peak = np.abs(weight).max(axis=(1, 2, 3))
    assert (error <= 1.0001 * found.scale.reshape(along) + 1e-18).all()
    live = peak > 1e-15
    assert (found.scale[live] >= peak[live] / 127 * 0.9999).all()
    assert (found.scale[live] <= peak[live] / 127 * (2.0001 if pairs else 1.0001)).all()


def test_lonely_peaks_keep_the_fine_step() -> None:
    weight = np.array([[1.0, 0.0, 0.9, -0.9], [1.0, 1.0, 0.0, 0.0]], np.float32)
    found = quantize_weights(weight, summed_in_pairs=True)
    np.testing.assert_allclose(found.scale, [1 / 127, 2 / 127], rtol=1e-6)


def test_a_channel_of_zeros_stays_zero() -> None:
    found = quantize_weights(np.zeros((2, 3, 1, 1), np.float32), summed_in_pairs=True)
    assert not found.values.any()
    assert np.isfinite(found.scale).all()
    assert (found.scale > 0).all()


@given(st.floats(-100, 100, width=32), st.floats(2**-13, 1, width=32))
def test_a_bias_comes_back_within_half_a_unit(bias: float, scale: float) -> None:
    held = Weights(np.ones((1, 1), np.int8), np.array([0.01], np.float32))
    found = quantize_bias(np.array([bias]), scale, held)
    assert found.dtype == np.int32
    unit = scale * float(held.scale[0])
    assert abs(int(found[0]) * unit - bias) <= 0.5001 * unit


def test_a_bias_out_of_reach_is_clipped_and_does_not_wrap_round() -> None:
    held = Weights(np.ones((2, 1), np.int8), np.full(2, 1e-9, np.float32))
    limits = np.iinfo(np.int32)
    assert quantize_bias(np.array([50.0, -50.0]), 1e-3, held).tolist() == [limits.max, limits.min]


CONVOLUTIONS: dict[str, dict[str, Any]] = {
    "3x3": {"shape": (8, 6, 3, 3)},
    "1x1": {"shape": (8, 32, 1, 1)},
    "odd fan-in": {"shape": (5, 7, 1, 1)},
    "strided, padded": {"shape": (8, 6, 3, 3), "strides": [2, 2], "pads": [1, 1, 1, 1]},
    "dilated": {"shape": (4, 4, 3, 3), "dilations": [2, 2]},
    "grouped": {"shape": (8, 4, 3, 3), "group": 2},
    "depthwise": {"shape": (16, 1, 3, 3), "group": 16},
    "1d": {"shape": (8, 6, 5)},
    "1d depthwise": {"shape": (8, 1, 5), "group": 8},
}
SIGNS = {"all largest": (1.0,), "all least": (-1.0,), "mixed": (1.0, -1.0, 1.0, 1.0, -0.6)}


@pytest.mark.parametrize("signs", SIGNS)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_of_extremes_are_exact_integers(name: str, signs: str) -> None:
    """On processors without VNNI a pair of products is added in 16 bits: here is where that would show."""
    settings_ = dict(CONVOLUTIONS[name])
    shape = settings_.pop("shape")
    weight = np.resize(np.array(SIGNS[signs], np.float32), shape)
    held = quantize_weights(weight, summed_in_pairs=shape[1] > 1).values
    zero = 3
    channels = shape[1] * settings_.get("group", 1)
    inputs = np.full((2, channels, *(9,) * (len(shape) - 2)), 255, np.uint8)
    inputs[1] = np.random.default_rng(0).integers(200, 256, inputs[1].shape)
    wanted = convolved(inputs.astype(np.int64) - zero, held.astype(np.int64), settings_)
    scale = float(np.abs(wanted).max()) / 127  # so that the output shows the sums
    found = qlinear_conv(inputs, held, zero, scale, settings_)
    expected = np.clip(np.rint(wanted / scale) + 128, 0, 255)
    assert np.abs(np.moveaxis(found, -1, 1) - expected).max() <= 1  # a tie may round either way


def convolved(x: Integers, w: Integers, attributes: dict[str, Any]) -> Integers:
    """A convolution by its definition, (n, in, *positions) and (out, in / group, *kernel)."""
    rank = x.ndim - 2
    strides, dilations = (attributes.get(key, [1] * rank) for key in ("strides", "dilations"))
    pads, group = attributes.get("pads", [0] * 2 * rank), attributes.get("group", 1)
    x = np.pad(x, [(0, 0), (0, 0), *((pads[i], pads[rank + i]) for i in range(rank))])
    kernel = w.shape[2:]
    sizes = [(x.shape[2 + i] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(rank)]
    out = np.zeros((len(x), len(w), *sizes), np.int64)
    inner, outer = w.shape[1], len(w) // group
    for g in range(group):
        part = x[:, g * inner : (g + 1) * inner]
        for place in np.ndindex(*kernel):
            cut = tuple(
                slice(
                    place[i] * dilations[i],
                    place[i] * dilations[i] + (sizes[i] - 1) * strides[i] + 1,
                    strides[i],
                )
                for i in range(rank)
            )
            taps = w[(slice(g * outer, (g + 1) * outer), slice(None), *place)]  # (outer, inner)
            out[:, g * outer : (g + 1) * outer] += np.einsum(
                "oc,nc...->no...", taps, part[(slice(None), slice(None), *cut)]
            )
    return out


def qlinear_conv(
    x: NDArray[np.uint8], w: NDArray[np.int8], zero: int, scale: float, attributes: dict[str, Any]
) -> Integers:
    """The same by ONNX Runtime, channels last, all scales 1 but the output's."""
    constants: dict[str, NDArray[Any]] = {
        "x_scale": np.asarray(1, np.float32),
        "x_zero": np.asarray(zero, np.uint8),
        "w": w,
        "w_scale": np.ones(len(w), np.float32),
        "w_zero": np.asarray(0, np.int8),
        "y_scale": np.asarray(scale, np.float32),
        "y_zero": np.asarray(128, np.uint8),
    }
    given_ = {"kernel_shape": list(w.shape[2:]), **attributes, "channels_last": 1}
    node = Node("QLinearConv", ("x", *constants), ("y",), given_, "conv", CONTRIB)
    whole = Tensor(np.dtype(np.uint8), ("n", *(f"d{i}" for i in range(x.ndim - 1))))
    graph = Graph((node,), constants, {"x": whole, "y": Tensor(whole.dtype, None)}, ("x",), ("y",))
    return run_graph(graph, np.moveaxis(x, 1, -1), ["y"])[0].astype(np.int64)


def test_the_comparison_would_show_an_overflow() -> None:
    """All weights at 127 and no VNNI: whatever this processor does, numpy's sums are the right ones."""
    x = np.full((1, 2, 1, 1), 255, np.int64)
    w = np.full((1, 2, 1, 1), 127, np.int64)
    assert convolved(x, w, {}).item() == 2 * 255 * 127 > SIXTEEN_BITS.max


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
