"""What a converted file tells of itself and of its inputs."""

import json
from typing import Any

import numpy as np
import onnx
import pytest
import torch

import leantta
from export.models import (
    CLASSES,
    COUNT,
    FORMS,
    FRESH,
    MEAN,
    STD,
    Files,
    given,
    info_of,
    pixels,
    scores,
    small,
)
from leantta.export.held_out import HeldOut
from leantta.export.source import state_sha256
from leantta.gates.paper import PaperGate
from leantta.runtime.input_info import InputInfo
from reference import assert_close


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("files"))


@pytest.mark.parametrize(
    "form", ["int8", "fp32 portable of images", "int8 calibrated", "int8, nothing adapts"]
)
def test_files_tell_how_they_were_made(form: str, files: Files) -> None:
    settings = FORMS[form]
    made = files(**settings)
    info = info_of(made.path)
    nothing = "nothing" in form
    assert (info.model, info.outputs, info.classes) == ("Small", 5, CLASSES)
    assert info.weights_sha256 == state_sha256(small())
    assert info.precision == settings.get("precision", "int8")
    assert info.portable == settings.get("portable", False)
    assert info.input == InputInfo(settings.get("input", "tensor"), (3, 12, 12), MEAN, STD)
    assert info.layers == (() if nothing else ("bn1", "bn2", "bn3"))
    assert [(row.layer, row.action) for row in info.plan] == [
        (name, "fuse" if nothing else "adapt") for name in ("bn1", "bn2", "bn3")
    ]
    assert (info.gate is None) == nothing
    assert (info.shift is None) == nothing
    assert info.calibration is not None
    assert info.calibration["images"] == COUNT
    assert ("observer" in info.calibration) == (info.precision == "int8")
    if info.precision == "int8":
        assert info.calibration["held_out"] == len(HeldOut.of(COUNT).reporting)
    assert bool(info.ranges) == (info.precision == "int8")
    assert all(low <= high for low, high in info.ranges.values())


def test_the_stored_input_is_none_of_the_images(files: Files) -> None:
    stored = info_of(files().path).selftest.images()
    assert (stored.dtype, stored.shape) == (np.uint8, (1, 12, 12, 3))
    assert np.abs(pixels().astype(int) - stored.astype(int)).mean(axis=(1, 2, 3)).min() > 10
    np.testing.assert_array_equal(stored, info_of(files(precision="fp32").path).selftest.images())


@pytest.mark.parametrize("form", ["fp32", "int8", "int8 calibrated"])
def test_distances_are_those_of_the_torch_layers(form: str, files: Files) -> None:
    made, images = files(**FORMS[form]), pixels(9, **FRESH)
    with leantta.watch(made.lean) as readings, torch.inference_mode():
        made.lean(given(images))
    with leantta.load(made.path) as session:
        found = session.explain(images)
    assert list(found) == ["bn1", "bn2", "bn3"]
    for layer, values in found.items():
        wanted = readings[layer].distance.numpy()
        assert wanted.std() > 0
        assert_close(values / wanted, np.ones(9), atol=1e-3 if form == "fp32" else 0.15)


@pytest.mark.parametrize("form", ["int8", "int8 calibrated", "fp32", "int8 portable of images"])
def test_one_source_image_in_a_hundred_exceeds_a_shift_of_one(form: str, files: Files) -> None:
    with leantta.load(files(**FORMS[form]).path) as session:
        usual, red = session.shift(pixels()), session.shift(reddened(pixels(40, seed=9)))
    assert 1 <= (usual > 1 + 1e-4).sum() <= COUNT / 100
    assert (usual == 0).sum() >= COUNT // 2 - 1  # the median itself may be off by a rounding
    assert (red > 1).all()


def reddened(images: Any) -> Any:
    """Images through a red filter: nothing of the kind was among the source images."""
    return np.where(np.arange(3) == 0, 255, images // 8).astype(np.uint8)


def test_settings_of_the_gate_reach_the_file(files: Files) -> None:
    bold, images = files(precision="fp32", gate=PaperGate(tau=0.5, lam=0.1)), pixels(5, **FRESH)
    with leantta.load(bold.path) as session:
        found = session.predict(images)
        assert session.info.gate == PaperGate(tau=0.5, lam=0.1)
    assert_close(found, scores(bold.lean, images), atol=1e-4)
    assert np.abs(found - scores(files().lean, images)).max() > 0.05


def test_metadata_is_json_without_surprises(files: Files) -> None:
    props = {p.key: p.value for p in onnx.load(str(files().path)).metadata_props}
    assert set(props) == {"leantta", "leantta.sha256", "leantta.crc32"}
    told = json.loads(props["leantta"], parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))
    assert told["format"] == 1
