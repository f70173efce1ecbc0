"""Ranges are those of the real tensors."""

import numpy as np
import pytest
from numpy.typing import NDArray

from leantta.errors import DataError, SettingError
from leantta.graph.functions import float_constants
from leantta.graph.ir import BATCH, LOCAL, Graph, Node, Tensor
from leantta.graph.run import run_graph
from leantta.quantize import calibrate as module
from leantta.quantize.calibrate import calibrate
from leantta.quantize.observers import OBSERVERS

Floats = NDArray[np.float32]

MAP = Tensor(np.dtype(np.float32), (BATCH, 4, 6, 6))
NAMES = ("positions", "gamma", "beta", "ratio", "mean_weight")
UNIT = dict(zip(NAMES, float_constants(4, [np.ones(4, np.float32)] * 4), strict=True))


def graph(*, dead: bool = False, logarithm: bool = False) -> Graph:
    """Convolution, normalization, activation, a question about the batch, and scores."""
    weight = np.random.default_rng(0).normal(size=(4, 3, 3, 3)).astype(np.float32)
    nodes = (
        Node("Conv", ("input", "weight"), ("conv",), {"pads": [1, 1, 1, 1]}, "conv"),
        Node("AdaptiveNorm", ("conv", *UNIT), ("bn", "bn.distance"), SETTINGS, "bn", LOCAL),
        Node("Log" if logarithm else "Relu", ("bn",), ("act",), {}, "act"),
        Node("Shape", ("act",), ("size",), {"start": 0, "end": 1}, "size"),
        Node("ReduceMean", ("act", "axes"), ("logits",), {"keepdims": 0}, "logits"),
    )
    constants = {"weight": weight * (0 if dead else 1), **UNIT, "axes": np.array([2, 3])}
    if dead:
        constants["beta"] = np.zeros((4, 1, 1), np.float32)
    tensors = {
        "input": Tensor(MAP.dtype, (BATCH, 3, 6, 6)),
        **dict.fromkeys(("conv", "bn", "act"), MAP),
        "bn.distance": Tensor(MAP.dtype, (BATCH, 1)),
        "size": Tensor(np.dtype(np.int64), (1,)),
        "logits": Tensor(MAP.dtype, (BATCH, 4)),
    }
    return Graph(nodes, constants, tensors, ("input",), ("logits",))


SETTINGS = {"low": 0.01, "room": 0.09, "rate": -0.01, "layer": "bn"}


@pytest.fixture(scope="module")
def inputs() -> Floats:
    return np.random.default_rng(1).normal(size=(70, 3, 6, 6)).astype(np.float32)


def tensors_of(this: Graph, inputs: Floats) -> dict[str, Floats]:
    names = ["conv", "bn", "act", "logits"]
    shown = Graph(this.nodes, this.constants, this.tensors, this.inputs, tuple(names))
    return {"input": inputs, **dict(zip(names, run_graph(shown, inputs, names), strict=True))}


def test_minmax_is_the_range_of_every_float_tensor(inputs: Floats) -> None:
    this = graph()
    found = calibrate(this, inputs)
    real = tensors_of(this, inputs)
    assert found.spans.keys() == real.keys()  # neither distances nor sizes
    for name, (low, high) in found.spans.items():
        assert (low, high) == pytest.approx((real[name].min(), real[name].max()), rel=1e-5), name
    assert found.empty == ()


@pytest.mark.parametrize("observer", OBSERVERS)
def test_batches_of_any_size_give_the_same_ranges(
    observer: str, inputs: Floats, monkeypatch: pytest.MonkeyPatch
) -> None:
    this = graph()
    whole = calibrate(this, inputs, observer)  # type: ignore[arg-type] # of the table
    monkeypatch.setattr(module, "AT_ONCE", 1)
    single = calibrate(this, inputs, observer)  # type: ignore[arg-type]
    for name, span in whole.spans.items():
        assert single.spans[name] == pytest.approx(span, rel=1e-4, abs=1e-4), name


def test_percentile_leaves_out_an_outlier(inputs: Floats) -> None:
    wild = np.concatenate([inputs] * 3)
    wild[3, 0, 0, 0] = 60.0  # one of 22,680 values
    assert calibrate(graph(), wild).spans["input"][1] == 60.0
    assert 2.5 < calibrate(graph(), wild, "percentile").spans["input"][1] < 5


@pytest.mark.parametrize("observer", OBSERVERS)
def test_ranges_hold_nothing_that_was_not_seen_but_zero(observer: str, inputs: Floats) -> None:
    seen, found = calibrate(graph(), inputs), calibrate(graph(), inputs, observer)  # type: ignore[arg-type]
    for name, (low, high) in found.spans.items():
        assert min(seen.spans[name][0], 0) - 1e-6 <= low < high <= max(seen.spans[name][1], 0) + 1e-6, name
        assert high - low >= 0.25 * (seen.spans[name][1] - seen.spans[name][0]), name


def test_tensors_that_never_leave_zero_are_reported(inputs: Floats) -> None:
    found = calibrate(graph(dead=True), inputs)
    assert set(found.empty) == {"conv", "bn", "act", "logits"}


def test_values_that_are_not_finite_are_refused(inputs: Floats) -> None:
    bad = inputs.copy()
    bad[40, 0, 0, 0] = np.nan
    with pytest.raises(DataError, match=r"not finite for one of the calibration images 40 to 47"):
        calibrate(graph(), bad)
    with pytest.raises(DataError, match="'act' is not finite"):
        calibrate(graph(logarithm=True), inputs)


def test_an_unknown_observer_is_refused_before_anything_runs(inputs: Floats) -> None:
    with pytest.raises(SettingError, match="no observer"):
        calibrate(graph(), inputs, "nearest")  # type: ignore[arg-type]


@pytest.mark.parametrize(("observer", "passes"), [("minmax", 1), ("mse", 2)])
def test_progress_counts_every_pass(observer: str, passes: int, inputs: Floats) -> None:
    seen: list[tuple[int, int]] = []
    calibrate(graph(), inputs, observer, progress=lambda *done: seen.append(done))  # type: ignore[arg-type]
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (passes * len(inputs), passes * len(inputs))
