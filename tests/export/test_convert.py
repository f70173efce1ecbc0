"""From a torch model to a file: what comes out."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from torch import Tensor, nn

import leantta
from export.models import FORMS, FRESH, GOOD, Files, Small, info_of, pixels, scores, small, trained
from leantta.export.convert import convert
from leantta.graph.ir import IR_VERSION, OPSET
from leantta.runtime.input_info import InputInfo
from leantta.runtime.inputs import prepare
from leantta.runtime.verify import verify
from reference import assert_close

SLOW = pytest.mark.slow


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("files"))


@pytest.mark.parametrize("form", FORMS)
def test_files_say_what_the_torch_model_says(form: str, files: Files) -> None:
    made, images = files(**FORMS[form]), pixels(7, **FRESH)
    wanted = scores(made.lean, images)
    with leantta.load(made.path, threads=1) as session:
        for batch in (1, 2, 7):
            error = session.predict(images[:batch]) - wanted[:batch]
            if "fp32" in form:
                assert np.abs(error).max() <= 1e-4
            else:
                assert np.sqrt((error**2).mean()) <= 0.08 * wanted.std()
    assert made.done.difference <= (1e-5 if "fp32" in form else 0.05)
    assert made.done.agreement is not None
    assert made.done.agreement == 1.0 if "fp32" in form else made.done.agreement > 0.95


@pytest.mark.parametrize("form", FORMS)
def test_files_pass_their_own_verification(form: str, files: Files) -> None:
    checks = verify(files(**FORMS[form]).path)
    assert all(check.ok for check in checks), checks
    assert {"structure", "digest", "metadata", "engine", "self-test", "batch"} <= {c.name for c in checks}


@pytest.mark.parametrize("form", FORMS)
def test_files_are_standard_onnx(form: str, files: Files) -> None:
    model = onnx.load(str(files(**FORMS[form]).path))
    onnx.checker.check_model(model, full_check=True)
    assert model.ir_version <= IR_VERSION
    domains = {opset.domain: opset.version for opset in model.opset_import}
    assert domains[""] == OPSET
    assert set(domains) <= ({""} if "portable" in form else {"", "com.microsoft", "leantta"})
    assert {f.domain for f in model.functions} <= {"leantta"}
    assert all(opset.domain == "" for f in model.functions for opset in f.opset_import)
    assert bool(model.functions) == ("portable" not in form and "nothing" not in form)
    assert not any(i.external_data for i in model.graph.initializer)
    batch = [
        tensor.type.tensor_type.shape.dim[0].dim_param for tensor in (*model.graph.input, *model.graph.output)
    ]
    assert set(batch) == {"batch"}
    names = [tensor.name for tensor in (*model.graph.input, *model.graph.output)]
    assert names == ["input", "logits"] + (["distance", "shift"] if "nothing" not in form else [])
    made = [name for node in model.graph.node for name in node.output]
    read = {name for node in model.graph.node for name in node.input}
    assert {i.name for i in model.graph.initializer} <= read  # no weight for nothing
    if "nothing" not in form:
        assert any(name.startswith("bn1") for name in made)  # readable in Netron


@pytest.mark.parametrize(
    ("precision", "portable"),
    [
        ("int8", False),
        pytest.param("int8", True, marks=SLOW),
        pytest.param("fp32", False, marks=SLOW),
        ("fp32", True),
    ],
)
def test_pixels_in_is_the_same_as_normalising_outside(precision: str, portable: bool, files: Files) -> None:
    images = pixels(5, **FRESH)
    inside = files(precision=precision, portable=portable, input="image")
    outside = files(precision=precision, portable=portable and precision == "int8")
    with leantta.load(inside.path) as one, leantta.load(outside.path) as other:
        assert (one.info.input.kind, other.info.input.kind) == ("image", "tensor")
        found, wanted = one.predict(images), other.predict(images)
        # In int8 a pixel between two steps may fall on either side.
        assert_close(found, wanted, atol=1e-5 if precision == "fp32" else 0.02 * float(np.abs(wanted).max()))
        unit = images.transpose(0, 3, 1, 2).astype(np.float32) / np.float32(255)
        assert_close(one.predict(unit), found, atol=0)


def test_int8_files_hold_int8_weights_and_channels_last(files: Files) -> None:
    made = files()
    model = onnx.load(str(made.path))
    kinds = Counter(node.op_type for node in model.graph.node)
    assert kinds["QLinearConv"] == 3
    assert kinds["QLinearAdaptiveNorm"] == 2
    assert kinds["QLinearAdaptiveNormAdd"] == 1  # the sum, in the same pass
    assert kinds["Conv"] == kinds["Clip"] == kinds["Gemm"] == 0
    assert kinds["ShiftOfDistances"] == 1  # the end of the file
    assert kinds["Relu"] == 0
    assert kinds["Transpose"] == 1  # the input
    types = {i.name: i.data_type for i in model.graph.initializer}
    weights = [node.input[3] for node in model.graph.node if node.op_type == "QLinearConv"]
    assert {types[name] for name in weights} == {onnx.TensorProto.INT8}
    assert made.done.weight_bytes == 8 * 3 * 9 + 8 * 9 + 8 * 8 + 8 * 5 + len(_int8_zeros(model))
    assert made.path.stat().st_size == made.done.size_bytes


def _int8_zeros(model: onnx.ModelProto) -> bytes:
    """Zero points are int8 as well."""
    zeros = [i for i in model.graph.initializer if i.data_type == onnx.TensorProto.INT8 and "zero" in i.name]
    return b"".join(onnx.numpy_helper.to_array(i).tobytes() for i in zeros)


@pytest.mark.parametrize("form", ["int8 portable of images", "fp32 portable of images"])
def test_portable_files_run_in_openvino(form: str, files: Files) -> None:
    pytest.importorskip("openvino")
    made, images = files(**FORMS[form]), pixels(7, **FRESH)
    with leantta.load(made.path) as one, leantta.load(made.path, engine="openvino") as other:
        wanted, found = one.run(images), other.run(images)
    scale = float(np.abs(wanted.logits).max())
    tolerance = 1e-4 if "fp32" in form else 0.03
    assert_close(found.logits, wanted.logits, atol=tolerance * scale)
    assert wanted.shift is not None
    assert found.shift is not None
    assert_close(found.shift, wanted.shift, atol=tolerance * (1 + float(wanted.shift.max())))


PLAIN = """
import sys
import time
sys.modules["leantta"] = sys.modules["torch"] = sys.modules["onnx"] = None
import numpy, onnxruntime
batch = numpy.load(sys.argv[1])
for path in sys.argv[2:]:
    session = onnxruntime.InferenceSession(path)
    numpy.save(path + ".npy", session.run(["logits"], {"input": batch})[0])
"""


def test_plain_onnxruntime_gives_the_same_scores(files: Files, tmp_path: Path) -> None:
    made, images = [files(), files(precision="fp32")], pixels(5, **FRESH)
    np.save(tmp_path / "batch.npy", prepare(images, info_of(made[0].path).input))
    places = []
    for i, each in enumerate(made):
        place = tmp_path / f"{i}.onnx"
        place.write_bytes(each.path.read_bytes())
        places.append(place)
    subprocess.run([sys.executable, "-c", PLAIN, tmp_path / "batch.npy", *places], check=True)
    for each, place in zip(made, places, strict=True):
        with leantta.load(each.path) as session:
            found = np.load(f"{place}.npy")
            assert_close(found, session.predict(images), atol=1e-6)


class Channels(nn.Module):
    """Scores of a sequence, by a one-dimensional network that takes floats."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv1d(4, 8, 5, stride=2), nn.BatchNorm1d(8)
        self.conv2, self.bn2 = nn.Conv1d(8, 8, 3, padding=1), nn.BatchNorm1d(8)
        self.head = nn.Linear(8, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x))))))
        scores: Tensor = self.head(x.mean(2))
        return scores


def test_models_of_other_data_take_floats_and_may_have_one_score(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Channels().eval()
    source = np.random.default_rng(0).normal(size=(40, 4, 60)).astype(np.float32)
    done = convert(model, source, tmp_path / "x.onnx", layers="all", classes=["no", "yes"])
    assert done.difference < 0.05
    with leantta.load(tmp_path / "x.onnx") as session:
        assert session.info.input == InputInfo("tensor", (4, 60))
        assert session.predict(source[:3]).shape == (3, 1)
        assert session.predict_one(source[0]).label in ("no", "yes")


class Twice(Small):
    """One BatchNorm at two places."""

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.bn1(self.stem(x)))
        scores: Tensor = self.head(self.bn1(self.mix(x)).mean((2, 3)))
        return scores


def test_a_layer_that_runs_twice_is_told_as_the_file_has_it(tmp_path: Path) -> None:
    model, images = trained(Twice()), pixels(40)
    done = convert(model, images, tmp_path / "x.onnx", **GOOD, layers="all", gate="calibrated")
    assert done.difference < 0.05
    with leantta.load(tmp_path / "x.onnx") as session:
        assert session.run(images[:3]).logits.shape == (3, 5)
        assert session.info.layers[0] == "bn1"


def test_a_dead_layer_is_safe_and_reported(tmp_path: Path) -> None:
    model = small()
    with torch.no_grad():
        model.bn2.weight.zero_()
        model.bn2.bias.zero_()
    target = tmp_path / "new" / "folder" / "x.onnx"
    done = convert(model, pixels(20), target, **GOOD, layers="all", gate="calibrated", name="mine")
    assert "bn2" in done.empty
    assert "stayed zero, e.g. bn2" in str(done)
    assert done.difference < 0.05
    with leantta.load(target) as session:
        assert np.isfinite(session.predict(pixels(3, **FRESH))).all()
        assert session.info.model == "mine"
    assert [path.name for path in target.parent.iterdir()] == ["x.onnx"]
    assert target.stat().st_mode & 0o777 == 0o644
