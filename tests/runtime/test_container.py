"""The outside of model files: whole ones, damaged ones, foreign ones and hostile ones."""

import hashlib
import time
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from leantta.errors import ArtifactError, MissingFileError
from leantta.runtime.container import check_crc, check_digest, read_container
from runtime.artifacts import Recipe, artifact, info_of, model_of, sealed

RECIPE = Recipe()
WHOLE = sealed(model_of(RECIPE), info_of(RECIPE, model_of(RECIPE)))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("container") / "model.onnx"


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    path = artifact(tmp_path / "a.onnx")
    container = read_container(path)
    loaded = onnx.load(str(path))
    assert container.size == path.stat().st_size
    assert container.ir_version == loaded.ir_version == 9
    assert container.opsets == {"": 18, "leantta": 1}
    assert container.metadata == {entry.key: entry.value for entry in loaded.metadata_props}
    assert check_digest(container) == container.metadata["leantta.sha256"]


def test_the_digest_is_the_one_the_contract_names(tmp_path: Path) -> None:
    path = artifact(tmp_path / "a.onnx")
    notes = read_container(path).metadata
    digest, crc = notes["leantta.sha256"], notes["leantta.crc32"]
    data = path.read_bytes()
    assert [data.count(seal.encode()) for seal in (digest, crc)] == [1, 1]
    blank = data.replace(digest.encode(), b"0" * 64).replace(crc.encode(), b"0" * 8)
    assert (hashlib.sha256(blank).hexdigest(), f"{zlib.crc32(blank):08x}") == (digest, crc)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty"),
        (b"hello, I am text\n", "is not an ONNX file"),
        (b"\x89PNG\r\n\x1a\n", "is not an ONNX file"),
        (b"PK\x03\x04 a zip", "is not an ONNX file"),
        (b"\x80\x04\x95 a pickle", "is not an ONNX file"),
        (b"version https://git-lfs.github.com/spec/v1", "is not an ONNX file"),
        (b"\x08", "is not an ONNX file"),
        (WHOLE[:-1], "is cut off"),
        (WHOLE[: len(WHOLE) // 2], "is cut off"),
        (WHOLE + b"\0", "at byte"),
        (WHOLE + b"\x0b", "at byte"),  # a group, which ONNX never has
    ],
)
def test_other_files_are_told_apart(tmp_path: Path, data: bytes, says: str) -> None:
    path = tmp_path / "a.onnx"
    path.write_bytes(data)
    with pytest.raises(ArtifactError, match=f"a.onnx .*{says}"):
        read_container(path)


def test_places_without_a_file(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"no model file at .*gone\.onnx"):
        read_container(tmp_path / "gone.onnx")
    with pytest.raises(ArtifactError, match=r"cannot read .*: Is a directory"):
        read_container(tmp_path)
    with pytest.raises((ArtifactError, MissingFileError)):
        read_container(tmp_path / ("x" * 5000))
    with pytest.raises((ArtifactError, MissingFileError)):
        read_container(tmp_path / "zero\0byte")


def accepted(path: Path) -> bool:
    """Whether the file passes; whatever else is raised is a fault."""
    try:
        check_crc(read_container(path))
        return check_digest(read_container(path)) is not None
    except ArtifactError as e:
        assert str(path) in str(e)  # noqa: PT017 - either outcome is right, another exception is not
        return False


def test_bits_all_over_the_file_count(file: Path) -> None:
    file.write_bytes(WHOLE)
    assert accepted(file)
    for place in range(0, len(WHOLE), 5):
        damaged = bytearray(WHOLE)
        damaged[place] ^= 1 << place % 8
        file.write_bytes(damaged)
        assert not accepted(file), place


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, len(WHOLE) - 1), bit=st.integers(0, 7))
def test_any_flipped_bit_is_found(file: Path, place: int, bit: int) -> None:
    damaged = bytearray(WHOLE)
    damaged[place] ^= 1 << bit
    file.write_bytes(damaged)
    assert not accepted(file)


@settings(max_examples=200, deadline=None)
@given(length=st.integers(0, len(WHOLE) - 1))
def test_any_cut_is_found(file: Path, length: int) -> None:
    file.write_bytes(WHOLE[:length])
    assert not accepted(file)


@settings(max_examples=300, deadline=None)
@given(data=st.binary(max_size=300), begins_well=st.booleans())
def test_any_bytes_are_refused_in_words(file: Path, data: bytes, begins_well: bool) -> None:
    file.write_bytes(b"\x08\x09" * begins_well + data)
    assert not accepted(file)


@settings(max_examples=200, deadline=None)
@given(place=st.integers(0, len(WHOLE)), data=st.binary(min_size=1, max_size=40), over=st.integers(0, 40))
def test_any_patch_is_found(file: Path, place: int, data: bytes, over: int) -> None:
    patched = WHOLE[:place] + data + WHOLE[place + over :]
    file.write_bytes(patched)
    assert accepted(file) == (patched == WHOLE)


def outside(tensor: TensorProto) -> TensorProto:
    """The tensor with its values in another file."""
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../../etc/passwd")
    return tensor


def a_tensor() -> TensorProto:
    return helper.make_tensor("t", TensorProto.FLOAT, [1], b"\0\0\0\0", raw=True)


def a_sparse() -> onnx.SparseTensorProto:
    indices = helper.make_tensor("i", TensorProto.INT64, [1], [0])
    return helper.make_sparse_tensor(a_tensor(), indices, [4])


def in_initializer(model: onnx.ModelProto) -> None:
    outside(model.graph.initializer[0])


def in_attribute(model: onnx.ModelProto) -> None:
    node = helper.make_node("Constant", [], ["c"], value=a_tensor())
    outside(node.attribute[0].t)
    model.graph.node.append(node)


def in_list_of_tensors(model: onnx.ModelProto) -> None:
    outside(model.graph.node[0].attribute.add(name="many").tensors.add())


def in_function(model: onnx.ModelProto) -> None:
    node = helper.make_node("Constant", [], ["c"], value=a_tensor())
    outside(node.attribute[0].t)
    model.functions[0].node.append(node)


def in_function_default(model: onnx.ModelProto) -> None:
    outside(model.functions[0].attribute_proto.add(name="default").t)


def in_sparse_initializer(model: onnx.ModelProto) -> None:
    sparse = a_sparse()
    outside(sparse.values)
    model.graph.sparse_initializer.append(sparse)


def in_sparse_attribute(model: onnx.ModelProto) -> None:
    sparse = a_sparse()
    outside(sparse.indices)
    model.graph.node[0].attribute.add(name="sparse").sparse_tensor.CopyFrom(sparse)


def in_training(model: onnx.ModelProto) -> None:
    model.training_info.add().algorithm.initializer.append(outside(a_tensor()))


def only_by_name(model: onnx.ModelProto) -> None:
    model.graph.initializer[0].external_data.add(key="location", value="weights.bin")


@pytest.mark.parametrize(
    "hide",
    [
        in_initializer,
        in_attribute,
        in_list_of_tensors,
        in_function,
        in_function_default,
        in_sparse_initializer,
        in_sparse_attribute,
        in_training,
        only_by_name,
    ],
)
def test_weights_in_other_files_are_refused(tmp_path: Path, hide: Callable[[onnx.ModelProto], None]) -> None:
    model = model_of(RECIPE)
    hide(model)
    (tmp_path / "a.onnx").write_bytes(sealed(model, "{}"))
    with pytest.raises(ArtifactError, match="keeps weights in another file"):
        read_container(tmp_path / "a.onnx")


def test_a_location_hidden_from_32_bits_is_refused(tmp_path: Path) -> None:
    # 2**32 + 1 is 1, "external", to a reader that keeps 32 bits
    tensor = b"\x70\x81\x80\x80\x80\x10"
    graph = b"\x2a" + bytes([len(tensor)]) + tensor
    (tmp_path / "a.onnx").write_bytes(b"\x08\x09" + b"\x3a" + bytes([len(graph)]) + graph)
    with pytest.raises(ArtifactError, match="keeps weights in another file"):
        read_container(tmp_path / "a.onnx")


@pytest.mark.parametrize("where", ["graph", "function"])
@pytest.mark.parametrize(
    ("operator", "domain", "says"),
    [("Run", "evil.custom", "'Run' of 'evil.custom'"), ("Missing", "leantta", "'Missing'")],
)
def test_operators_of_unknown_origin_are_refused(
    tmp_path: Path, where: str, operator: str, domain: str, says: str
) -> None:
    model = model_of(RECIPE)
    nodes = model.graph.node if where == "graph" else model.functions[0].node
    nodes.append(helper.make_node(operator, ["x"], ["y"], domain=domain))
    (tmp_path / "a.onnx").write_bytes(sealed(model, "{}"))
    with pytest.raises(ArtifactError, match=says):
        read_container(tmp_path / "a.onnx")


def test_contrib_operators_are_welcome(tmp_path: Path) -> None:
    model = model_of(RECIPE)
    model.graph.node.append(helper.make_node("QLinearAdd", ["x"], ["y"], domain="com.microsoft"))
    (tmp_path / "a.onnx").write_bytes(sealed(model, "{}"))
    assert accepted(tmp_path / "a.onnx")


def test_bottomless_files_are_refused(tmp_path: Path) -> None:
    def varint(number: int) -> bytes:
        return bytes([number & 127 | 128]) + varint(number >> 7) if number > 127 else bytes([number])

    def inside(tag: int, data: bytes) -> bytes:
        return bytes([tag]) + varint(len(data)) + data

    graph = b""
    for _ in range(2_000):  # graph > node > attribute > graph ...
        graph = inside(0x0A, inside(0x2A, inside(0x32, graph)))
    (tmp_path / "a.onnx").write_bytes(b"\x08\x09" + inside(0x3A, graph))
    with pytest.raises(ArtifactError, match="graph of its own"):
        read_container(tmp_path / "a.onnx")


def test_a_note_may_be_there_only_once(tmp_path: Path) -> None:
    model = model_of(RECIPE)
    model.metadata_props.add(key="leantta", value="{}")
    (tmp_path / "a.onnx").write_bytes(sealed(model, "{}"))
    with pytest.raises(ArtifactError, match="the note 'leantta' twice"):
        read_container(tmp_path / "a.onnx")


def test_a_large_file_is_not_held_in_memory(tmp_path: Path) -> None:
    path = artifact(tmp_path / "a.onnx", ballast_bytes=11_000_000)
    tracemalloc.start()
    check_digest(read_container(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
    started = time.process_time()
    read_container(path)
    assert time.process_time() - started < 0.1  # a few milliseconds, with room for a busy machine
