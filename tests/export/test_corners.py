"""Corners of the conversion where it once went wrong."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import leantta
from export.models import MEAN, STD, Small, given, pixels, small, trained
from leantta.errors import DataError, SettingError, UnsupportedModelError
from leantta.export.convert import convert
from leantta.export.options import FileOptions
from leantta.graph.run import run_graph
from leantta.quantize.calibrate import calibrate
from leantta.quantize.nhwc import write_nhwc
from leantta.quantize.params import affine_of
from leantta.quantize.qdq import write_qdq
from quantize.graphs import Case, built, inputs_of, node, weight
from reference import assert_close

GOOD: Any = {"mean": MEAN, "std": STD}
INPUTS = given(pixels(40)).numpy()


def check(case: Case) -> None:
    graph, inputs = built(case), inputs_of(case)
    ranges = calibrate(graph, inputs)
    wanted = run_graph(graph, inputs, ["logits"])[0]
    found = run_graph(write_nhwc(graph, ranges, last=False).graph, inputs, ["logits"])[0]
    assert_close(found, wanted, atol=case.steps * affine_of(ranges.spans["logits"]).scale)


@pytest.mark.parametrize("write", [lambda g, s: write_nhwc(g, s, last=False), write_qdq], ids=["nhwc", "qdq"])
@pytest.mark.parametrize(("channels", "out", "group"), [(1, 8, 1), (4, 8, 4)])
def test_one_input_channel_per_group_that_is_not_depthwise_does_not_overflow(channels, out, group, write):
    case = Case(
        nodes=[node("Abs", "x", out="a"), node("Conv", "a", "w", group=group)],
        constants={"w": np.ones((out, 1, 3, 3), np.float32)},
        shape=(channels, 6, 6),
        steps=3,
    )
    graph, inputs = built(case), np.abs(inputs_of(case))
    inputs[0] = 2.0  # all at the top
    ranges = calibrate(graph, inputs)
    wanted = run_graph(graph, inputs, ["logits"])[0]
    assert_close(
        run_graph(write(graph, ranges).graph, inputs, ["logits"])[0],
        wanted,
        atol=3 * affine_of(ranges.spans["logits"]).scale,
    )


@pytest.mark.parametrize("size", [1e-8, 1e-12, 1e-16])
def test_the_bias_of_a_channel_with_tiny_weights_is_kept(size):
    w = weight(6, 4, 3, 3)
    w[2] *= size  # what a BatchNorm with a vanishing gamma leaves
    check(
        Case(
            nodes=[node("Conv", "x", "w", "b")],
            constants={"w": w, "b": np.linspace(0.5, 1, 6, dtype=np.float32)},
            steps=2.5,
        )
    )


def test_the_bias_of_a_channel_of_zeros_keeps_its_digits():
    w = weight(6, 4, 3, 3)
    w[2] = 0
    b = np.linspace(-1, 1, 6, dtype=np.float32)
    b[2] = 0.5 / 64  # half a step of the input
    case = Case(nodes=[node("Conv", "x", "w", "b")], constants={"w": 0.1 * w, "b": 0.1 * b}, steps=1.7)
    check(case)


@pytest.mark.parametrize("observer", ["percentile", "mse"])
def test_a_dead_tensor_is_reported_by_every_observer(observer):
    case = Case(nodes=[node("Mul", "x", "zero")], constants={"zero": np.asarray(0, np.float32)})
    graph = built(case)
    found = calibrate(graph, inputs_of(case), observer)
    assert "out" in found.empty
    affine = affine_of(found.spans["out"])
    assert affine.high >= 0.99  # EMPTY, so that later values fit


def test_an_average_pool_that_rounds_up_and_counts_padding():
    check(
        Case(
            nodes=[
                node(
                    "AveragePool",
                    "x",
                    kernel_shape=[3, 3],
                    strides=[2, 2],
                    pads=[1, 1, 1, 1],
                    ceil_mode=1,
                    count_include_pad=1,
                )
            ]
        )
    )


class Twice(Small):
    """One BatchNorm used at two places."""

    def forward(self, x):
        x = torch.relu(self.bn1(self.stem(x)))
        return self.head(self.bn1(self.mix(x)).mean((2, 3)))


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_shared_norm_gives_a_file_that_loads(tmp_path: Path, precision):
    convert(
        trained(Twice()),
        pixels(40),
        tmp_path / "x.onnx",
        **GOOD,
        layers="all",
        gate="calibrated",
        options=FileOptions(precision=precision),
    )
    with leantta.load(tmp_path / "x.onnx") as session:
        session.predict(pixels(2))


class Alias(nn.Module):
    """The convolution has two names; the path that runs is the other one."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3)
        self.features = nn.Sequential(self.stem, nn.BatchNorm2d(8), nn.ReLU())
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        return self.head(self.features(x).mean((2, 3)))


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_module_with_two_names(tmp_path: Path, precision):
    model = trained(Alias())
    done = convert(
        model,
        pixels(40),
        tmp_path / "x.onnx",
        **GOOD,
        layers="all",
        gate="calibrated",
        options=FileOptions(precision=precision),
    )
    assert done.difference < 0.05


class Named(Small):
    def __init__(self, name):
        super().__init__()
        self.add_module(name, nn.Conv2d(8, 8, 1))
        self.extra = name

    def forward(self, x):
        x = self.get_submodule(self.extra)(self.bn1(self.stem(x)))
        return self.head(x.mean((2, 3)))


@pytest.mark.parametrize("name", ["distance", "shift", "mahalanobis"])
def test_modules_may_be_called_like_our_outputs(tmp_path: Path, name):
    convert(
        trained(Named(name)),
        pixels(40),
        tmp_path / "x.onnx",
        **GOOD,
        layers="all",
        gate="calibrated",
        options=FileOptions(precision="fp32"),
    )


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Named("distance")

    def forward(self, x):
        return self.block(x)


def test_a_module_path_that_ends_in_distance_is_calibrated(tmp_path: Path):
    convert(trained(Nested()), pixels(40), tmp_path / "x.onnx", **GOOD, layers="all", gate="calibrated")


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_floats_of_other_width_for_calibration(tmp_path: Path, dtype):
    convert(small(), INPUTS.astype(dtype), tmp_path / "x.onnx", layers="all", gate="calibrated")


@pytest.mark.parametrize(
    "calibration",
    [np.zeros((), np.float32), INPUTS.tolist(), torch.from_numpy(INPUTS)],
    ids=["0-d", "list", "tensor"],
)
def test_other_calibrations_are_explained(tmp_path: Path, calibration):
    with pytest.raises(DataError, match="numpy array"):
        convert(small(), calibration, tmp_path / "x.onnx")


class Fixed(Small):
    def forward(self, x):
        return super().forward(x.reshape(2, 3, 12, 12))


def test_a_model_that_takes_one_batch_size_alone_is_refused(tmp_path: Path):
    with pytest.raises(UnsupportedModelError):
        convert(trained(Fixed()), pixels(40), tmp_path / "x.onnx", **GOOD)


class Peculiar(Small):
    """Runs on any batch, but does something else for two."""

    def forward(self, x):
        y = super().forward(x)
        return y + 1 if x.shape[0] == 2 else y


def test_a_model_that_looks_at_the_batch_size(tmp_path: Path):
    with pytest.raises(UnsupportedModelError):
        convert(trained(Peculiar()), pixels(40), tmp_path / "x.onnx", **GOOD)


def test_an_empty_mean(tmp_path: Path):
    with pytest.raises(SettingError):
        convert(small(), pixels(40), tmp_path / "x.onnx", mean=(), std=())


@pytest.mark.parametrize("std", [(0.2, 0.2, float("nan")), (0.2, 0.2, float("inf"))])
def test_a_std_that_is_no_number(tmp_path: Path, std):
    with pytest.raises(SettingError):
        convert(small(), pixels(40), tmp_path / "x.onnx", mean=MEAN, std=std)


def test_an_unknown_observer_is_refused_at_once():
    with pytest.raises(SettingError):
        FileOptions(precision="fp32", observer="median")  # type: ignore[arg-type]


def test_a_huge_float64_is_explained(tmp_path: Path):
    with pytest.raises(DataError):
        convert(
            small(),
            INPUTS.astype(np.float64) * 1e300,
            tmp_path / "x.onnx",
            options=FileOptions(precision="fp32"),
        )
