"""Whatever a model returns, its file gives the same, one by one, in every form."""

import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import leantta
from export.models import GOOD, info_of, pixels
from export.models import given as normal
from export.shapes import SHAPES, heads_of, network
from leantta.errors import ArtifactError, SettingError
from leantta.export.convert import convert
from leantta.export.options import FileOptions
from leantta.graph.ir import read_graph
from leantta.outputs import named
from leantta.runtime.container import CRC_KEY, DIGEST_KEY, INFO_KEY, SEALS
from leantta.runtime.metadata import FORMAT, Info, read_info, write_info
from leantta.runtime.session import load
from leantta.runtime.verify import verify
from reference import assert_close
from runtime.artifacts import said

FORMS: dict[str, dict[str, Any]] = {
    "fp32": {"precision": "fp32"},
    "int8": {"input": "image"},
    "portable": {"portable": True},
}
IMAGES = pixels(40)


class Made:
    """Files by what their model returns and by their form, each made once."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.files = folder, dict[tuple[str, str], Path]()

    def __call__(self, name: str, form: str) -> Path:
        key = (name, form)
        if key not in self.files:
            path = self.folder / f"{len(self.files)}.onnx"
            options = FileOptions(**FORMS[form])
            self.done = convert(
                network(name), IMAGES, path, layers="all", gate="paper", options=options, **GOOD
            )
            self.files[key] = path
        return self.files[key]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("outputs"))


CASES = [
    *((name, "int8") for name in SHAPES),
    *((name, form) for name in ("map", "nested") for form in ("fp32", "portable")),
]


@pytest.mark.parametrize(("name", "form"), CASES)
def test_a_file_gives_what_the_model_returns(name: str, form: str, made: Made) -> None:
    path = made(name, form)
    model = network(name)
    lean = leantta.adapt(model, normal(IMAGES[:2]), "all", gate="paper")
    with torch.inference_mode():
        wanted = named(lean(normal(IMAGES[:9])))
    heads = heads_of(name)
    assert list(wanted) == [head.name for head in heads]
    with load(path) as session:
        assert session.info.heads == heads
        found = session.run(IMAGES[:9])
        assert list(found.arrays) == list(wanted)
        for head in heads:
            exact = wanted[head.name].numpy()
            assert found.arrays[head.name].shape == (9, *head.shape)
            gap = np.abs(found.arrays[head.name] - exact)
            if form == "fp32":
                assert gap.max() < 1e-4 * np.abs(exact).max()
            else:  # rounding to bytes, in each of ten steps
                assert np.sqrt((gap**2).mean()) < 0.08 * np.sqrt((exact**2).mean()), head.name
        assert found.shift is not None
        prediction = session.predict_one(IMAGES[0])
        for key, array in prediction.outputs.items():
            assert_close(array, found.arrays[key][0], atol=1e-4 * np.abs(array).max())
        decides = session.info.deciding
        if decides is not None and decides.role == "classes":
            assert prediction.index == found.arrays[decides.name][0].argmax()
        else:
            assert (prediction.index, prediction.label, prediction.probability) == (None, None, None)
    assert all(check.ok for check in verify(path)), verify(path)
    assert info_of(path).format == (1 if name == "scores" else FORMAT)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 39), min_size=1, max_size=7))
def test_a_batch_gives_what_each_input_gives_alone(made: Made, chosen: list[int]) -> None:
    with load(made("dict", "int8"), threads=1) as session:
        together = session.run(IMAGES[chosen]).arrays
        for place, index in enumerate(chosen):
            for name, alone in session.run(IMAGES[index : index + 1]).arrays.items():
                assert_close(together[name][place], alone[0], atol=1e-4 * np.abs(alone).max())


def test_openvino_names_outputs_as_the_file_does(made: Made) -> None:
    pytest.importorskip("openvino")
    path = made("nested", "portable")
    with load(path) as plain, load(path, engine="openvino", threads=1) as other:
        wanted, found = plain.run(IMAGES[:2]).arrays, other.run(IMAGES[:2]).arrays
        assert list(found) == list(wanted)
        for name, array in wanted.items():
            assert np.sqrt(((found[name] - array) ** 2).mean()) < 0.05 * np.sqrt((array**2).mean())


def test_the_report_compares_outputs_one_by_one(tmp_path: Path) -> None:
    done = convert(network("dict"), IMAGES, tmp_path / "a.onnx", layers="none", **GOOD)
    out, aux = done.compared
    assert (out.head.role, aux.head.role) == ("map", "classes")
    assert done.agreement == out.agreement
    assert done.difference == max(out.difference, aux.difference)
    rows = [line for line in str(done).splitlines() if "against torch" in line]
    assert [row.split(",")[0] for row in rows] == ["out", "aux"]
    assert "pixels of 40 images" in rows[0]
    assert "pixels" not in rows[1]


def test_another_answer_fails_the_self_test_of_each_output(made: Made, tmp_path: Path) -> None:
    path = made("nested", "fp32")
    info = info_of(path)
    graph = read_graph(onnx.load(path))
    for name, sample in info.selftest.samples.items():
        wrong = sample._replace(values=tuple(value + 3 * sample.tolerance for value in sample.values))
        samples = {**info.selftest.samples, name: wrong}
        told = type(info)(**{**vars(info), "selftest": info.selftest._replace(samples=samples)})
        (tmp_path / "other.onnx").write_bytes(_resealed(path, told))
        checks = {check.name: check for check in verify(tmp_path / "other.onnx")}
        assert not checks["self-test"].ok
        assert "off by" in checks["self-test"].detail
        assert checks["batch"].ok
    assert len(graph.outputs) == 5


def _resealed(path: Path, info: Info) -> bytes:
    """The file with other metadata, sealed again as an attacker would."""
    model = onnx.load(path)
    blanks = {key: "0" * digits for key, digits in SEALS.items()}
    onnx.helper.set_model_props(model, {INFO_KEY: write_info(info), **blanks})
    raw: bytes = model.SerializeToString(deterministic=True)
    seals = {DIGEST_KEY: hashlib.sha256(raw).hexdigest(), CRC_KEY: f"{zlib.crc32(raw):08x}"}
    for key, digits in seals.items():
        head = key.encode() + bytes([0x12, len(digits)])
        place = raw.rindex(head) + len(head)
        raw = raw[:place] + digits.encode() + raw[place + len(digits) :]
    return raw


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"heads": []}, "'heads' must be outputs with names of their own"),
        ({"heads.0.role": "map"}, "'heads.0..role' must be one of array"),
        ({"heads.0.name": "shift"}, "outputs with names of their own"),
        ({"heads.0.shape": []}, "shape"),
        ({"classes": ["a"]}, "'classes' must be null or 5 names"),
        ({"selftest.outputs": {}}, "no 'selftest.outputs.coarse.boxes'"),
    ],
)
def test_wrong_metadata_of_outputs_is_named(changes: dict[str, Any], says: str, made: Made) -> None:
    path = made("nested", "fp32")
    told = json.loads(onnx.load(path).metadata_props[0].value)
    for key, value in changes.items():
        *inner, last = key.split(".")
        part = told
        for step in inner:
            part = part[int(step)] if step.isdigit() else part[step]
        part[last] = value
    with pytest.raises(ArtifactError, match=says):
        read_info(said(json.dumps(told)))


def test_predicting_without_a_decision_says_what_to_do(made: Made) -> None:
    with (
        load(made("array", "int8")) as session,
        pytest.raises(SettingError, match="decides nothing; its outputs are output"),
    ):
        session.predict(IMAGES[:2])


def test_class_names_belong_to_the_scores_that_decide(tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(5)]
    path = tmp_path / "a.onnx"
    convert(network("tuple"), IMAGES, path, layers="none", classes=names, **GOOD)
    with load(path) as session:
        assert session.predict_one(IMAGES[0]).label in names
    with pytest.raises(SettingError, match="3 class names were given"):
        convert(network("map"), IMAGES, tmp_path / "b.onnx", layers="none", classes=names[:3], **GOOD)


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "a.onnx", tmp_path / "b.onnx"
    for path in (first, second):
        convert(network("nested"), IMAGES, path, layers="all", gate="paper", **GOOD)
    assert first.read_bytes() == second.read_bytes()
