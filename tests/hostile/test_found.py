"""What hostile inputs found, each as one small input: a traceback, or what should not have been said."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leantta
from hostile.seals import resealed
from leantta.data.npz import read_array
from leantta.errors import ArtifactError, DataError
from leantta.runtime.inputs import hear
from runtime.artifacts import Recipe, artifact, info_of, model_of, sealed

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


def test_standard_output_is_ours_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What ONNX Runtime could not say of a file in UTF-8 it tried again, and printed that."""
    model = model_of(Recipe())
    model.graph.node[0].op_type, model.graph.node[0].name = "Cnv", "BADNAME"
    data = sealed(model, info_of(Recipe(), model_of(Recipe()))).replace(b"BADNAME", b"BAD\x8eAME")
    (tmp_path / "a.onnx").write_bytes(resealed(data))
    with pytest.raises(ArtifactError):
        leantta.load(tmp_path / "a.onnx")
    assert capfd.readouterr().out == ""
