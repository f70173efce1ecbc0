"""What hostile inputs found, each as one small input: a traceback, or what should not have been said."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import soundfile
import torch
from onnx import numpy_helper

import leantta
from hostile.seals import changed, resealed
from leantta.data.audio import read_wave
from leantta.data.collection.opening import open_collection
from leantta.data.npz import read_array
from leantta.data.preprocess import read_preprocessing
from leantta.errors import ArtifactError, CheckpointError, DataError, RecordError, SettingError
from leantta.evaluate.packs import read_pack
from leantta.evaluate.record import parse_record
from leantta.models.weights import load_weights
from leantta.runtime import kernel
from leantta.runtime.bodies import changed_functions
from leantta.runtime.inputs import hear
from runtime.artifacts import Recipe, artifact, info_of, model_of, sealed

CHECKOUT = Path(__file__).resolve().parents[2]
GOLDEN = CHECKOUT / "tests" / "runtime" / "golden" / "format1.onnx"
with_kernel = pytest.mark.skipif(
    not kernel.paths(), reason="this installation has no kernel: there was no compiler"
)

SOUND = {"sample_rate": 32_000, "clip_samples": 320_000, "filling": "silence"}


def with_info(path: Path, **changes: Any) -> Path:
    """A file of format 2 with other metadata, sealed."""
    recipe = Recipe(changes={"format": 2})
    model = model_of(recipe)
    info = {**info_of(recipe, model), **changes}
    path.write_bytes(sealed(model, info))
    return path


def test_a_self_test_with_characters_that_are_none(tmp_path: Path) -> None:
    recipe = Recipe()
    info = info_of(recipe, model_of(recipe))
    info["selftest"]["input"] = "\ud800" + info["selftest"]["input"]
    (tmp_path / "a.onnx").write_bytes(sealed(model_of(recipe), json.dumps(info)))
    with leantta.load(tmp_path / "a.onnx") as session, pytest.raises(ArtifactError, match="is damaged"):
        session.info.selftest.images()


@pytest.mark.parametrize("shape", [[10**12], [2**62, 2**62], [10**30]])
def test_an_output_of_a_shape_that_no_memory_holds(shape: list[int], tmp_path: Path) -> None:
    heads = [{"name": "logits", "shape": shape, "role": "classes" if len(shape) == 1 else "array"}]
    with pytest.raises(ArtifactError, match="wrong metadata"):
        leantta.load(with_info(tmp_path / "a.onnx", heads=heads))


def test_an_array_whose_head_is_no_python(tmp_path: Path) -> None:
    file = io.BytesIO()
    np.save(file, np.zeros((2, 9, 128), np.float32))
    data = file.getvalue().replace(b"'shape': (2, 9, 128)", b"'shape': (2, 9L, (28")
    (tmp_path / "a.npy").write_bytes(data)
    with pytest.raises(DataError, match=r"cannot read .*a\.npy as \.npy"):
        read_array(tmp_path / "a.npy")


@pytest.mark.parametrize("kind", ["U3", "O", "c8", "?", "i2"])
def test_a_wave_of_anything_but_floats(kind: str, tmp_path: Path) -> None:
    changes = {"input.kind": "frames", "input.sound": SOUND}
    path = artifact(tmp_path / "ear.onnx", shape=(1, 240, 64), normalized=False, changes=changes)
    with leantta.load(path) as session, pytest.raises(DataError, match="a wave is float between -1 and 1"):
        hear(np.ones(40_000).astype(kind), session.info)


@with_kernel
def test_dead_channels_in_a_function_that_knows_of_none(tmp_path: Path) -> None:
    """The kernel leaves channels with a ratio of 0 alone; the function of other files does not."""

    def change(model: onnx.ModelProto) -> None:
        name = next(node.input[9] for node in model.graph.node if node.op_type == "QLinearAdaptiveNorm")
        (tensor,) = (each for each in model.graph.initializer if each.name == name)
        values = numpy_helper.to_array(tensor).copy()
        values[:3] = 0
        tensor.CopyFrom(numpy_helper.from_array(values, name))

    path = changed(GOLDEN, tmp_path / "a.onnx", change)
    assert changed_functions(str(GOLDEN)) == ()
    assert changed_functions(str(path)) == ("QLinearAdaptiveNorm",)
    images = np.load(GOLDEN.with_suffix(".npz"))["images"]
    with leantta.load(path) as session, leantta.load(path, engine="onnxruntime-portable") as other:
        assert not session.native
        np.testing.assert_array_equal(session.run(images).distance, other.run(images).distance)


@with_kernel
def test_steps_of_which_the_kernel_would_lose_some(tmp_path: Path) -> None:
    """A scale a million times too large: float32 has no place for what its zero point takes off again."""

    def change(model: onnx.ModelProto) -> None:
        name = next(node.input[1] for node in model.graph.node if node.op_type == "QLinearAdaptiveNorm")
        (tensor,) = (each for each in model.graph.initializer if each.name == name)
        values = numpy_helper.to_array(tensor) * np.float32(1e6)
        tensor.CopyFrom(numpy_helper.from_array(values, name))

    path = changed(GOLDEN, tmp_path / "a.onnx", change)
    images = np.load(GOLDEN.with_suffix(".npz"))["images"]
    with leantta.load(path) as session, leantta.load(path, engine="onnxruntime-portable") as other:
        np.testing.assert_allclose(session.run(images).logits, other.run(images).logits, atol=1e-3)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"path": "\\ud800.png"}', r"line 1: \?\.png\. "),
        ('{"path": "a\\nb.png"}', r"line 1: a\?b\.png\. "),
    ],
)
def test_names_in_a_list_that_cannot_be_printed(line: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "list.jsonl").write_text(line + "\n")
    with pytest.raises(DataError, match=says) as told:
        open_collection(tmp_path / "list.jsonl")
    assert "\n" not in str(told.value)


def test_a_description_with_a_thousand_numbers_is_refused_in_a_line(tmp_path: Path) -> None:
    for key in ("mean", "interpolation", "crop", "resize", "colours"):
        (tmp_path / "a.json").write_text(json.dumps({key: [0.5] * 1000, "std": [0.5] * 3}))
        with pytest.raises(SettingError) as told:
            read_preprocessing(tmp_path / "a.json")
        assert len(str(told.value)) < 500


def test_a_record_whose_recipe_is_not_finite() -> None:
    pack = CHECKOUT / "results" / "reproduce" / "quick" / "table-clean.records.tar.xz"
    raw = next(iter(read_pack(pack).values()))
    assert parse_record(raw, "a.jsonl")
    with pytest.raises(RecordError, match="line 1, is damaged"):
        parse_record(raw.replace(b'"batch_size":', b'"batch_size":1e999,"other":', 1), "a.jsonl")


@pytest.mark.parametrize("old", [True, False])
def test_cut_checkpoints_are_refused_in_words(old: bool, tmp_path: Path) -> None:
    torch.save({"weight": torch.zeros(3, 4)}, tmp_path / "a.pt", _use_new_zipfile_serialization=not old)
    whole = (tmp_path / "a.pt").read_bytes()
    for length in range(0, len(whole), 7):
        (tmp_path / "b.pt").write_bytes(whole[:length])
        with pytest.raises(CheckpointError):
            load_weights(torch.nn.Linear(4, 3, bias=False), tmp_path / "b.pt")


def test_sound_that_is_too_loud_for_its_own_mean(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.full((900, 2), 3e38, np.float32), 16_000, "FLOAT")
    with pytest.raises(DataError, match=r"larger ones than 1e\+12"):
        read_wave(tmp_path / "a.wav")


def test_standard_output_is_ours_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What ONNX Runtime could not say of a file in UTF-8 it tried again, and printed that."""
    model = model_of(Recipe())
    model.graph.node[0].op_type, model.graph.node[0].name = "Cnv", "BADNAME"
    data = sealed(model, info_of(Recipe(), model_of(Recipe()))).replace(b"BADNAME", b"BAD\x8eAME")
    (tmp_path / "a.onnx").write_bytes(resealed(data))
    with pytest.raises(ArtifactError):
        leantta.load(tmp_path / "a.onnx")
    assert capfd.readouterr().out == ""
