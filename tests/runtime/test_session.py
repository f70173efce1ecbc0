"""Sessions: what they say, that they have no state, and what they refuse."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import leantta
from leantta.errors import ArtifactError, DataError, SettingError
from leantta.evaluate.predictor import Predictor
from leantta.runtime.engines import ENGINES
from leantta.runtime.session import Session, load
from runtime.artifacts import Recipe, artifact, fed, info_of, model_of, sealed

PIXELS = np.random.default_rng(1).integers(0, 256, (7, 8, 8, 3), dtype=np.uint8)
UNIT = np.ascontiguousarray(PIXELS.transpose(0, 3, 1, 2), dtype=np.float32) / np.float32(255)


def plain(path: Path, images: Any) -> list[Any]:
    """What ONNX Runtime alone says."""
    outputs: list[Any] = onnxruntime.InferenceSession(str(path)).run(None, {"input": images})
    return outputs


@pytest.fixture(scope="module")
def adapting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return artifact(tmp_path_factory.mktemp("session") / "adapting.onnx", inlined=True)


@pytest.fixture(scope="module")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return artifact(tmp_path_factory.mktemp("session") / "fixed.onnx", adapts=False)


@pytest.mark.parametrize("kind", ["tensor", "image"])
@pytest.mark.parametrize("adapts", [True, False])
@pytest.mark.parametrize("outputs", [1, 4])
def test_sessions_say_what_onnxruntime_says(tmp_path: Path, kind: str, adapts: bool, outputs: int) -> None:
    path = artifact(tmp_path / "a.onnx", kind=kind, adapts=adapts, outputs=outputs)
    logits, *measures = plain(path, fed(Recipe(kind=kind), PIXELS))
    with load(path, threads=1) as session:
        for images in (PIXELS, UNIT):
            found = session.run(images)
            np.testing.assert_allclose(found.logits, logits, rtol=0, atol=1e-5)
            np.testing.assert_array_equal(session.predict(images), found.logits)
            assert found.latency_ms > 0
            if adapts:
                assert found.distance is not None
                np.testing.assert_allclose(found.distance, measures[0], rtol=1e-5)
                np.testing.assert_allclose(session.shift(images), measures[1], rtol=1e-5)
                explained = session.explain(images)
                assert list(explained) == ["bn1", "layer1.bn1"]
                np.testing.assert_array_equal(np.stack(list(explained.values()), axis=1), found.distance)
            else:
                assert found.distance is None
                assert found.shift is None


def test_models_that_are_not_for_images(tmp_path: Path) -> None:
    path = artifact(tmp_path / "a.onnx", normalized=False, shape=(2, 6, 5))
    values = np.random.default_rng(0).normal(0, 30, (3, 2, 6, 5)).astype(np.float32)
    with load(path) as session:
        np.testing.assert_allclose(session.predict(values), plain(path, values)[0], rtol=1e-5)
        assert session.predict_one(values[0]).index == session.predict(values)[0].argmax()
        with pytest.raises(DataError, match="takes float32"):
            session.predict(np.zeros((1, 6, 5, 2), np.uint8))


@pytest.mark.parametrize("engine", ENGINES)
def test_one_prediction(engine: str, adapting: Path) -> None:
    with load(adapting, engine=engine) as session:
        found = session.predict_one(PIXELS[3])
        logits = session.predict(PIXELS[3:4])[0].astype(np.float64)
        assert found.index == logits.argmax()
        assert found.label == f"class {found.index}"
        assert found.probability == pytest.approx(np.exp(logits).max() / np.exp(logits).sum(), abs=1e-6)
        assert found.shift == session.shift(PIXELS[3:4])[0]
        assert found.distances == {k: v[0] for k, v in session.explain(PIXELS[3:4]).items()}
        assert found.logits is not None
        assert found.logits.shape == (4,)


def test_yes_or_no(tmp_path: Path) -> None:
    path = artifact(tmp_path / "a.onnx", outputs=1, changes={"classes": ["no", "yes"]})
    with load(path) as session:
        plain_colors = np.broadcast_to(np.eye(3, dtype=np.uint8)[:, None, None] * 255, (3, 8, 8, 3))
        images = np.concatenate([PIXELS, plain_colors])
        logits = session.predict(images)[:, 0]
        found = [session.predict_one(image) for image in images]
    assert {prediction.index for prediction in found} == {0, 1}  # the images are not all alike
    for logit, prediction in zip(logits, found, strict=True):
        yes = 1 / (1 + np.exp(-logit))
        assert (prediction.index, prediction.label) == ((1, "yes") if logit > 0 else (0, "no"))
        assert prediction.probability == pytest.approx(max(yes, 1 - yes), abs=1e-6)


def test_classes_without_names_are_numbers(tmp_path: Path) -> None:
    with load(artifact(tmp_path / "a.onnx", changes={"classes": None})) as session:
        found = session.predict_one(PIXELS[0])
        assert found.label == str(found.index)


@pytest.mark.parametrize("engine", ENGINES)
def test_order_and_company_do_not_matter(engine: str, adapting: Path) -> None:
    with load(adapting, engine=engine) as session:
        together = session.run(PIXELS)
        backwards = session.run(PIXELS[::-1])
        np.testing.assert_allclose(backwards.logits[::-1], together.logits, rtol=0, atol=1e-5)
        session.reset()
        for i, image in enumerate(PIXELS):
            alone = session.run(image[None])
            np.testing.assert_allclose(alone.logits[0], together.logits[i], rtol=0, atol=1e-5)
            assert together.distance is not None
            assert alone.distance is not None
            np.testing.assert_allclose(alone.distance[0], together.distance[i], rtol=1e-4)


@pytest.mark.parametrize("engine", ENGINES)
def test_many_threads_get_what_one_gets(engine: str, adapting: Path) -> None:
    batches = [PIXELS[i % 7 : i % 7 + 1 + i % 3][:1] + np.uint8(i) for i in range(200)]
    with load(adapting, engine=engine, threads=1) as session:
        serial = [session.predict(batch) for batch in batches]
        with ThreadPoolExecutor(8) as pool:
            parallel = list(pool.map(session.predict, batches))
    assert len({batch.tobytes() for batch in batches}) > 100
    for one, other in zip(serial, parallel, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_session_is_a_predictor(adapting: Path) -> None:
    with load(adapting) as session:
        predictor: Predictor = session
        assert predictor.stateless
        assert predictor.predict(UNIT).shape == (7, 4)


def test_a_closed_session_says_so(adapting: Path) -> None:
    with leantta.load(adapting) as session:
        assert isinstance(session, Session)
        assert "2 layers adapt" in repr(session)
    with pytest.raises(SettingError, match=r"adapting\.onnx is closed. Load the model again"):
        session.predict(PIXELS)
    session.close()
    assert "closed" in repr(session)


def test_nothing_adapts_nothing_is_measured(fixed: Path) -> None:
    with load(str(fixed)) as session:
        for ask in (session.shift, session.explain):
            with pytest.raises(SettingError, match=r"fixed\.onnx has no .*: nothing adapts in it"):
                ask(PIXELS)
        found = session.predict_one(PIXELS[0])
        assert (found.shift, found.distances) == (None, None)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"layers": ["only one"]}, r"output distance: float32 \(n, 2\); its metadata promises .*\(n, 1\)"),
        ({"layers": [], "gate": None}, "outputs distance, logits, shift; its metadata promises logits"),
        ({"outputs": 3, "classes": None, "selftest.logits": [1, 2, 3]}, r"logits: float32 \(n, 4\)"),
        (
            {"input.shape": [3, 8, 9], "selftest.shape": [1, 8, 9, 3]},
            r"promises input: float32 \(n, 3, 8, 9\)",
        ),
        ({"input.kind": "image"}, r"promises input: uint8 \(n, 8, 8, 3\)"),
    ],
)
def test_metadata_that_does_not_fit_is_refused(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ArtifactError, match=says):
        load(artifact(tmp_path / "a.onnx", changes=changes))


def test_files_of_others_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.onnx").write_bytes(model_of(Recipe()).SerializeToString())
    with pytest.raises(ArtifactError, match="was not made by leantta convert"):
        load(tmp_path / "a.onnx")


def test_a_file_changed_with_care_is_refused(adapting: Path, tmp_path: Path) -> None:
    data = adapting.read_bytes()
    assert data.count(b'"tiny"') == 1
    (tmp_path / "a.onnx").write_bytes(data.replace(b'"tiny"', b'"tony"'))
    with pytest.raises(ArtifactError, match="is damaged: its crc32"):
        load(tmp_path / "a.onnx")


def test_logits_that_are_not_numbers_are_refused(tmp_path: Path) -> None:
    recipe = Recipe(adapts=False)
    model = model_of(recipe)
    info = info_of(recipe, model)
    matrix = next(weight for weight in model.graph.initializer if weight.name == "matrix")
    matrix.raw_data = np.full(20, np.nan, np.float32).tobytes()
    (tmp_path / "a.onnx").write_bytes(sealed(model, info))
    with load(tmp_path / "a.onnx") as session, pytest.raises(ArtifactError, match="not finite"):
        session.predict_one(PIXELS[0])


def test_loading_is_light(adapting: Path) -> None:
    code = (
        "import sys, json, leantta\n"
        f"leantta.load({str(adapting)!r}).predict_one(__import__('numpy').zeros((8, 8, 3), 'uint8'))\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = set(json.loads(done.stdout))
    assert "onnxruntime" in loaded
    assert not loaded & {"torch", "onnx", "PIL", "click", "scipy", "openvino", "tempfile", "google.protobuf"}
