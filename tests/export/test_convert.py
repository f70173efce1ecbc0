"""From a torch model to a file: what comes out, what is refused, and what is never damaged."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from torch import Tensor, nn

import leantta
from export.models import CLASSES, COUNT, MEAN, STD, Files, Small, given, pixels, scores, small, trained
from leantta.errors import DataError, LeanTTAError, SettingError, StorageError, UnsupportedModelError
from leantta.export.convert import FileOptions, convert
from leantta.export.source import state_sha256
from leantta.gates import PaperGate
from leantta.graph.ir import IR_VERSION, OPSET
from leantta.progress import Progress, silent
from leantta.runtime.container import read_container
from leantta.runtime.inputs import prepare
from leantta.runtime.metadata import Info, InputInfo, read_info
from leantta.runtime.verify import verify
from reference import assert_close

FORMS: dict[str, dict[str, Any]] = {
    "int8": {},
    "int8 of images": {"input": "image"},
    "int8 portable of images": {"portable": True, "input": "image"},
    "int8 calibrated": {"gate": "calibrated"},
    "fp32": {"precision": "fp32"},
    "fp32 portable of images": {"precision": "fp32", "portable": True, "input": "image"},
    "int8, nothing adapts": {"layers": "none"},
}
FRESH = {"seed": 9, "shift": 35}  # images that no conversion has seen, lighter than those


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("files"))


def info_of(path: Path) -> Info:
    return read_info(read_container(path))


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


SLOW = pytest.mark.slow


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
    assert kinds["Relu"] == 1  # of the shift
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
    assert info.calibration == {"images": COUNT, "observer": "minmax"}
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
    done = convert(model, images, tmp_path / "x.onnx", **GOOD, layers="all")
    assert done.difference < 0.05
    with leantta.load(tmp_path / "x.onnx") as session:
        assert session.run(images[:3]).logits.shape == (3, 5)
        assert session.info.layers[0] == "bn1"


def test_the_model_given_is_as_it_was_and_every_stage_is_told(tmp_path: Path) -> None:
    model = small().train()
    model.bn2.eval()  # a mixture of modes, as half-frozen models have
    before = {key: value.clone() for key, value in model.state_dict().items()}
    modes = {name: module.training for name, module in model.named_modules()}
    parameters = {name: id(value) for name, value in model.named_parameters()}
    images = pixels(40)
    kept = images.copy()
    seen: dict[str, list[tuple[int, int]]] = {}

    def progress(stage: str) -> Any:
        return lambda *done: seen.setdefault(stage, []).append(done)

    convert(model, images, tmp_path / "x.onnx", **GOOD, layers=1, gate="calibrated", progress=progress)
    after = model.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[key], after[key]) for key in before)
    assert modes == {name: module.training for name, module in model.named_modules()}
    assert parameters == {name: id(value) for name, value in model.named_parameters()}
    assert not any(value.grad is not None for value in model.parameters())
    np.testing.assert_array_equal(images, kept)
    assert list(seen) == ["gate", "ceiling", "trace", "calibrate", "shift"]
    assert all(done[-1][0] == done[-1][1] for done in seen.values())


def test_a_dead_layer_is_safe_and_reported(tmp_path: Path) -> None:
    model = small()
    with torch.no_grad():
        model.bn2.weight.zero_()
        model.bn2.bias.zero_()
    target = tmp_path / "new" / "folder" / "x.onnx"
    done = convert(model, pixels(20), target, **GOOD, layers="all", name="mine")
    assert "bn2" in done.empty
    assert "stayed zero, e.g. bn2" in str(done)
    assert done.difference < 0.05
    with leantta.load(target) as session:
        assert np.isfinite(session.predict(pixels(3, **FRESH))).all()
        assert session.info.model == "mine"
    assert [path.name for path in target.parent.iterdir()] == ["x.onnx"]
    assert target.stat().st_mode & 0o777 == 0o644


def test_the_report_is_a_table(files: Files) -> None:
    made = files()
    text = str(made.done)
    assert f"{made.path} (int8)" in text
    assert "3 adapt, 0 fused, 0 kept" in text
    assert f"same decision on {100 * made.done.agreement:.1f} % of 64 images" in text
    assert "stayed zero" not in text


GOOD: dict[str, Any] = {"mean": MEAN, "std": STD}
BAD: dict[str, tuple[dict[str, Any], type[LeanTTAError], str]] = {
    "no images": ({"calibration": pixels(0)}, DataError, "0 calibration inputs"),
    "one image": ({"calibration": pixels(1)}, DataError, "1 calibration inputs"),
    "mean without std": ({"std": None}, SettingError, "mean and std go together"),
    "std without mean": ({"mean": None}, SettingError, "mean and std go together"),
    "std of zero": ({"std": (0.2, 0.0, 0.2)}, SettingError, "std above 0"),
    "mean of two channels": ({"mean": (0.5, 0.5)}, SettingError, "one each per channel"),
    "two channels": ({"mean": (0.5,) * 2, "std": (0.5,) * 2}, DataError, "2 channels"),
    "pixels as floats": ({"mean": None, "std": None}, DataError, "these are uint8"),
    "unknown gate": ({"gate": "paved"}, SettingError, "no gate is called 'paved'"),
    "three names for five classes": ({"classes": CLASSES[:3]}, SettingError, "3"),
    "unknown layer": ({"layers": ["bn9"]}, LeanTTAError, "matches 'bn9'"),
    "other channels": (
        {"calibration": pixels(20)[..., :1], "mean": (0.5,), "std": (0.5,)},
        UnsupportedModelError,
        "does not run on the example input",
    ),
    "no BatchNorm": ({"model": nn.Conv2d(3, 4, 3)}, LeanTTAError, "no BatchNorm"),
    "no scores": (
        {"model": nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)).eval(), "layers": "none"},
        UnsupportedModelError,
        "must return one tensor of scores",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_requests_are_one_line_and_touch_nothing(name: str, tmp_path: Path) -> None:
    changes, error, message = BAD[name]
    target = tmp_path / "x.onnx"
    target.write_bytes(b"the one before")
    settings = {"model": Small().eval(), "calibration": pixels(20), **GOOD, **changes}
    with pytest.raises(error, match=message) as caught:
        convert(settings.pop("model"), settings.pop("calibration"), target, **settings)
    assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["x.onnx"]
    assert target.read_bytes() == b"the one before"


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"precision": "fp16"}, "int8, fp32, got 'fp16'"), ({"input": "jpeg"}, "image, waveform, got 'jpeg'")],
)
def test_unknown_kinds_of_files_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        FileOptions(**settings)


def test_a_place_that_cannot_be_written_shows_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    begun: list[str] = []

    def progress(label: str) -> Progress:
        begun.append(label)
        return silent

    with pytest.raises(StorageError, match="Choose another place"):
        convert(small(), pixels(), tmp_path / "file" / "x.onnx", progress=progress, **GOOD)
    assert not begun


def test_the_state_hash_is_of_names_and_values() -> None:
    first, second = small(), small()
    assert state_sha256(first) == state_sha256(second)
    with torch.no_grad():
        second.head.bias[0] += 1e-6
    assert state_sha256(first) != state_sha256(second)
    assert len(state_sha256(first)) == 64


KILLED = """
import signal, os, sys
from pathlib import Path
import leantta.files
with leantta.files.replacing(Path(sys.argv[1])) as part:
    with part.open("wb") as file:
        file.write(b"half")
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("before", [None, b"the one before"])
def test_killed_while_writing_leaves_the_file_before(before: bytes | None, tmp_path: Path) -> None:
    target = tmp_path / "x.onnx"
    if before is not None:
        target.write_bytes(before)
    done = subprocess.run([sys.executable, "-c", KILLED, target])
    assert done.returncode == -signal.SIGKILL
    assert (target.read_bytes() if target.exists() else None) == before
    assert all(path.name.endswith(".part") for path in tmp_path.iterdir() if path != target)


CONVERTING = """
import sys
import time
sys.path.insert(0, sys.argv[2])
from export.models import MEAN, STD, pixels, small
from leantta.export.convert import convert
def progress(stage):
    print(stage, flush=True)
    return lambda done, total: None
model, images = small(), pixels()
print("ready", flush=True)
convert(model, images, sys.argv[1], mean=MEAN, std=STD, layers="all", progress=progress)
print("done", flush=True)
"""
MOMENTS = [
    ("ready", 0.0),
    ("trace", 0.0),
    ("trace", 0.5),
    ("calibrate", 0.0),
    ("shift", 0.0),
    ("shift", 0.05),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "moment", [*MOMENTS, ("shift", 0.1), ("shift", 0.15), ("shift", 0.2), ("done", 0.0)], ids=str
)
def test_killed_at_any_moment_leaves_a_whole_file_or_the_one_before(
    moment: tuple[str, float], tmp_path: Path, files: Files
) -> None:
    target = tmp_path / "x.onnx"
    old = files(precision="fp32").path.read_bytes()
    target.write_bytes(old)
    stage, delay = moment
    tests = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-c", CONVERTING, str(target), str(tests)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip() == stage:
                break
        time.sleep(delay)
        os.kill(process.pid, signal.SIGKILL)
    left = target.read_bytes()
    if left != old:
        assert all(check.ok for check in verify(target))
    others = [path.name for path in tmp_path.iterdir() if path != target]
    assert all(name.startswith(".x.onnx.") and name.endswith(".part") for name in others)
    if stage in ("ready", "trace", "calibrate"):
        assert left == old


def test_metadata_is_json_without_surprises(files: Files) -> None:
    props = {p.key: p.value for p in onnx.load(str(files().path)).metadata_props}
    assert set(props) == {"leantta", "leantta.sha256", "leantta.crc32"}
    told = json.loads(props["leantta"], parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))
    assert told["format"] == 1
