"""Files seal themselves: metadata, a self-test, and a digest of every byte."""

import base64
import hashlib
import json
import zlib
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from export.models import pixels
from leantta.errors import UnsupportedModelError
from leantta.export.artifact import seal, versions
from leantta.export.source import selftest_input
from leantta.graph.ir import BATCH, Graph, Node, Tensor
from leantta.outputs import Head
from leantta.runtime.container import check_digest, read_container
from leantta.runtime.input_info import InputInfo
from leantta.runtime.metadata import Info, read_info, write_info
from leantta.runtime.selftest import Sample, SelfTest

ROW = Tensor(np.dtype(np.float32), (BATCH, 2))
INFO = Info(
    model="g",
    weights_sha256=None,
    precision="fp32",
    portable=False,
    input=InputInfo("tensor", (2,)),
    classes=None,
    heads=(Head("logits", (2,), "classes"),),
    gate=None,
    layers=(),
    plan=(),
    shift=None,
    calibration=None,
    ranges={},
    selftest=SelfTest.of(np.ones((1, 2), np.float32), {"logits": Sample((1.0, 1.0), 0.1)}),
    versions=versions(),
)


def graph(op: str = "Relu") -> Graph:
    nodes = (Node(op, ("input",), ("logits",), {}, "logits"),)
    return Graph(nodes, {}, {"input": ROW, "logits": ROW}, ("input",), ("logits",))


def test_the_seals_are_of_the_file_with_zeros_in_their_place(tmp_path: Path) -> None:
    raw = seal(graph(), INFO)
    model = onnx.load_from_string(raw)
    props = {p.key: p.value for p in model.metadata_props}
    digest, crc = props["leantta.sha256"], props["leantta.crc32"]
    blank = raw
    for digits in (digest, crc):
        assert raw.count(digits.encode()) == 1
        blank = blank.replace(digits.encode(), b"0" * len(digits))
    assert hashlib.sha256(blank).hexdigest() == digest
    assert f"{zlib.crc32(blank):08x}" == crc
    told = json.loads(props["leantta"])
    own = {field.name for field in fields(Info)} - {"memory", "heads"}  # no stream mode, one row of scores
    assert own | {"format", "outputs"} == set(told)
    assert set(told["versions"]) == {"leantta", "torch", "onnx", "onnxruntime"}
    assert model.graph.name == told["model"] == "g"
    (tmp_path / "a.onnx").write_bytes(raw)
    assert check_digest(read_container(tmp_path / "a.onnx")) == digest
    assert vars(read_info(read_container(tmp_path / "a.onnx"))) == vars(INFO)


def test_the_same_graph_gives_the_same_bytes() -> None:
    assert seal(graph(), INFO) == seal(graph(), INFO)


def test_zeros_and_keys_in_the_metadata_do_not_confuse_the_digest(tmp_path: Path) -> None:
    odd = f"leantta.sha256\x12\x40{'0' * 64}"
    info = replace(INFO, model="leantta.sha256", weights_sha256="0" * 64, classes=(odd, "0" * 64))
    (tmp_path / "a.onnx").write_bytes(seal(graph(), info))
    assert check_digest(read_container(tmp_path / "a.onnx")) is not None


def test_a_graph_that_is_no_onnx_is_refused_in_one_line() -> None:
    with pytest.raises(UnsupportedModelError, match="cannot be written as ONNX") as caught:
        seal(graph("Abracadabra"), INFO)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_the_self_test_is_always_the_same_and_no_image_of_the_users(dtype: str) -> None:
    images = pixels(20).astype(dtype)
    first, second = selftest_input(images), selftest_input(images)
    np.testing.assert_array_equal(first, second)
    assert (first.dtype, first.shape) == (images.dtype, (1, *images.shape[1:]))
    nearest = np.abs(images.astype(float) - first.astype(float)).mean(axis=(1, 2, 3)).min()
    assert nearest > 20  # gray levels
    assert abs(first.mean() - images.mean()) < 2 * images.std()
    assert 0.3 * images.std() < first.std() < 3 * images.std()


def test_the_self_test_does_not_follow_single_images() -> None:
    images = pixels(50)
    mirrored = images[::-1, :, ::-1]  # the same values elsewhere
    np.testing.assert_array_equal(selftest_input(images), selftest_input(mirrored))


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_the_self_test_comes_back_as_it_was(dtype: str) -> None:
    given = selftest_input(pixels(20).astype(dtype))
    stored = SelfTest.of(given, {"logits": Sample.of(np.array([[1.5, -2.0]], np.float32), 0.25)})
    np.testing.assert_array_equal(stored.images(), given)
    assert stored.images().dtype == given.dtype
    told = json.loads(write_info(replace(INFO, selftest=stored)))["selftest"]
    raw = zlib.decompress(base64.b64decode(told["input"]))
    back = np.frombuffer(raw, np.dtype(told["dtype"]).newbyteorder("<")).reshape(told["shape"])
    np.testing.assert_array_equal(back, given)
    assert (told["logits"], told["tolerance"]) == ([1.5, -2.0], 0.25)
    assert stored.samples == {"logits": ((1.5, -2.0), 0.25)}
