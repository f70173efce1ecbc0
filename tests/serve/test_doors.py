"""Through every door the same answer as `leantta run`, for images, sound and motion windows."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from PIL import Image

import leantta
from leantta.export.convert import convert
from leantta.modalities.datasets import dataset_info
from leantta.models.named import build
from leantta.runtime.verify import verify
from motion_files import made_up
from reference import assert_close
from running import Run
from runtime.artifacts import artifact
from serve.served import GOLDEN, Served, binary_body, json_body, read_binary, read_json, serving

Array = npt.NDArray[Any]

SOUND = {"sample_rate": 32_000, "clip_samples": 320_000, "filling": "silence"}
NAMES = ("format1", "format1_fused", "format1_steps", "format1_stream", "bytes", "ear", "motion")
FILES = {"png": "format1", "jpg": "bytes", "wav": "ear", "csv": "motion"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of all modalities: golden ones, and small ones made here."""
    place = tmp_path_factory.mktemp("doors")
    for golden in GOLDEN.glob("*.onnx"):
        (place / golden.name).write_bytes(golden.read_bytes())
    artifact(place / "bytes.onnx", kind="image")
    changes = {"input.kind": "frames", "input.sound": SOUND, "classes": ["no bird", "bird"]}
    artifact(place / "ear.onnx", shape=(1, 240, 64), normalized=False, outputs=1, changes=changes)
    torch.manual_seed(0)
    info = dataset_info("har")
    windows = made_up(np.arange(20) % 6)
    settings: dict[str, Any] = {"mean": info.mean, "std": info.std, "classes": info.classes}
    convert(build("motion_cnn"), windows, place / "motion.onnx", gate="calibrated", **settings)
    return place


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Served]:
    with serving(folder, *(folder / f"{name}.onnx" for name in NAMES), "--threads", 1) as served:
        yield served


def given(name: str) -> Array:
    """A batch as `predict` takes it."""
    random = np.random.default_rng(5)
    if name == "motion":
        return made_up(np.arange(5) % 6, seed=2)
    if name == "ear":
        return random.normal(size=(3, 1, 240, 64)).astype(np.float32)
    if name == "bytes":
        return random.integers(0, 256, (5, 8, 8, 3), dtype=np.uint8)
    images: Array = np.load(GOLDEN / f"{name}.npz")["images"]
    return images[:8]


def check(found: dict[str, Array], folder: Path, name: str) -> None:
    with leantta.load(folder / f"{name}.onnx", threads=1) as session:
        wanted = session.run(given(name))
        tolerance = session.info.selftest.tolerance
    assert_close(found["logits"], wanted.logits, atol=tolerance)
    assert wanted.distance is not None
    assert wanted.shift is not None
    assert_close(found["distance"], wanted.distance, atol=0.01 * (1 + np.abs(wanted.distance).max()))
    assert_close(found["shift"], wanted.shift, atol=0.01 * (1 + np.abs(wanted.shift).max()))


@pytest.mark.parametrize("name", NAMES)
def test_json_and_binary_values_give_the_answers_of_a_session(
    server: Served, folder: Path, name: str
) -> None:
    check(read_json(server.infer(name, given(name))), folder, name)
    body, headers = binary_body(given(name))
    check(read_binary(server.ask("POST", f"/v2/models/{name}/infer", body, headers)), folder, name)


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_tritons_client_gets_the_answers_of_a_session(
    server: Served, folder: Path, name: str, binary: bool
) -> None:
    from tritonclient import http
    from tritonclient.utils import np_to_triton_dtype

    values = given(name)
    client = http.InferenceServerClient(server.address)
    try:
        tensor = http.InferInput("input", list(values.shape), np_to_triton_dtype(values.dtype))
        tensor.set_data_from_numpy(values, binary_data=binary)
        wanted = [http.InferRequestedOutput(each, binary) for each in ("logits", "distance", "shift")]
        result = client.infer(name, [tensor], outputs=wanted, request_id="seven")
        assert result.get_response()["id"] == "seven"
        found = {each: result.as_numpy(each) for each in ("logits", "distance", "shift")}
        check(found, folder, name)
        plain = client.infer(name, [tensor])
        assert_close(plain.as_numpy("logits"), found["logits"], atol=1e-6)
    finally:
        client.close()


def test_tritons_client_finds_out_what_there_is(server: Served) -> None:
    from tritonclient import http
    from tritonclient.utils import InferenceServerException

    client = http.InferenceServerClient(server.address)
    try:
        assert client.is_server_live()
        assert client.is_server_ready()
        assert client.is_model_ready("motion")
        assert not client.is_model_ready("none")
        assert client.get_server_metadata()["name"] == "leantta"
        told = client.get_model_metadata("motion")
        assert told["inputs"] == [{"name": "input", "datatype": "FP32", "shape": [-1, 9, 128]}]
        assert [each["name"] for each in told["outputs"]] == ["logits", "distance", "shift"]
        assert client.is_model_ready("motion", told["versions"][0])
        assert {each["name"] for each in client.get_model_repository_index()} == set(NAMES)
        with pytest.raises(InferenceServerException, match="no such model"):
            client.get_model_metadata("none")
    finally:
        client.close()


def plain_file(kind: str, folder: Path) -> Path:
    """A file as people have it."""
    random = np.random.default_rng(3)
    path = folder / f"given.{kind}"
    if kind == "csv":
        np.savetxt(path, made_up(np.array([4]))[0].T, delimiter=",")
    elif kind == "wav":
        soundfile = pytest.importorskip("soundfile", exc_type=ImportError)
        soundfile.write(path, random.uniform(-0.4, 0.4, 23 * 16_000), 16_000)
    else:
        Image.fromarray(random.integers(0, 256, (40, 56, 3), dtype=np.uint8)).save(path)
    return path


@pytest.mark.parametrize("kind", FILES)
def test_a_plain_file_gives_what_leantta_run_says(run: Run, server: Served, folder: Path, kind: str) -> None:
    name, path = FILES[kind], plain_file(kind, folder)
    done = run("run", folder / f"{name}.onnx", path, "--json", "--top", 3, "--explain", "--threads", 1)
    wanted = [json.loads(line) for line in done.stdout.splitlines()]
    answer = server.ask("POST", f"/predict?model={name}&top=3", path.read_bytes())
    assert answer.status == 200, answer.body
    found = answer.json()["predictions"]
    assert len(found) == len(wanted) == (3 if kind == "wav" else 1)
    for one, other in zip(found, wanted, strict=True):
        assert one["label"] == other["label"]
        assert one.get("start_s") == other.get("start_s")
        assert [each["label"] for each in one["top"]] == [each["label"] for each in other["top"]]
        assert one["probability"] == pytest.approx(other["probability"], abs=2e-4)
        assert one["shift"] == pytest.approx(other["shift"], abs=0.01 * (1 + abs(other["shift"])))
        assert one["distances"].keys() == other["distances"].keys()
        assert list(one["distances"].values()) == pytest.approx(list(other["distances"].values()), abs=0.02)


def test_all_files_are_whole(folder: Path) -> None:
    assert all(each.ok for name in NAMES for each in verify(folder / f"{name}.onnx"))


def test_many_clients_at_once_get_their_own_answers(server: Served, folder: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    images = np.random.default_rng(8).random((40, 3, 12, 12), dtype=np.float32)
    with leantta.load(folder / "format1.onnx", threads=1) as session:
        wanted, tolerance = session.predict(images), session.info.selftest.tolerance
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda image: server.infer("format1", image[None]), images))
    found = np.concatenate([read_json(answer)["logits"] for answer in answers])
    assert_close(found, wanted, atol=tolerance)
    numbers = server.metrics()
    batches = numbers["leantta_batch_inputs_count|model=format1"]
    assert batches < numbers["leantta_inputs_total|model=format1"]  # some ran together


def test_streams_are_kept_apart(server: Served, folder: Path) -> None:
    images = np.load(GOLDEN / "format1_stream.npz")["images"]
    streams = {"a": images, "b": images[::-1].copy()}
    found: dict[str, list[Array]] = {"a": [], "b": []}
    for start in range(0, len(images), 2):
        for stream, ours in streams.items():
            answer = server.infer("format1_stream", ours[start : start + 2], stream=stream)
            found[stream].append(read_json(answer)["logits"])
    path = folder / "format1_stream.onnx"
    with leantta.load(path, threads=1, memory=True) as session:
        tolerance = session.info.selftest.tolerance
        for stream, ours in streams.items():
            followed = np.concatenate(found[stream])
            assert_close(followed, session.predict(ours, stream=stream), atol=tolerance)
            alone = read_json(server.infer("format1_stream", ours))["logits"]
            assert np.abs(alone - followed).max() > 2 * tolerance  # the memory makes a difference
    again = server.infer("format1_stream", images[:1], sequence_id="a", sequence_start=True)
    assert_close(read_json(again)["logits"], found["a"][0][:1], atol=tolerance)  # and can be begun anew


def test_a_header_names_the_stream_of_a_plain_file(server: Served) -> None:
    pictures = []
    for image in np.load(GOLDEN / "format1_stream.npz")["images"]:
        file = io.BytesIO()
        Image.fromarray(image).save(file, "PNG")
        pictures.append(file.getvalue())

    def chances(picture: bytes, stream: str | None) -> dict[str, float]:
        headers = {} if stream is None else {"X-Stream-Id": stream}
        answer = server.ask("POST", "/predict?model=format1_stream&top=4", picture, headers)
        return {each["label"]: each["probability"] for each in answer.json()["predictions"][0]["top"]}

    alone = [chances(picture, None) for picture in pictures]
    assert chances(pictures[0], "gate") == pytest.approx(alone[0], abs=1e-3)
    followed = [chances(picture, "gate") for picture in pictures]
    assert (
        max(abs(one[key] - other[key]) for one, other in zip(alone, followed, strict=True) for key in one)
        > 0.01
    )
    assert chances(pictures[0], "yard") == pytest.approx(alone[0], abs=1e-3)


def test_a_model_without_a_stream_mode_says_so(server: Served) -> None:
    answer = server.ask(
        "POST", "/v2/models/format1/infer", json_body(given("format1")[:1]), {"X-Stream-Id": "a"}
    )
    assert answer.status == 400
    assert "--stream" in answer.json()["error"]
