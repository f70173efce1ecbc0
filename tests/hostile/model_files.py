"""Attacks on model files: damaged, and changed with seals that fit."""

import json
import random
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

import leantta
from hostile.attack import Attack, Try
from hostile.damage import NUMBERS, changed_json, damaged
from hostile.seals import resealed
from leantta.errors import ArtifactError, LeanTTAError
from leantta.runtime.bodies import changed_functions
from leantta.runtime.container import check_crc, check_digest, read_container
from leantta.runtime.facts import facts_of
from leantta.runtime.metadata import read_info
from leantta.runtime.prediction import Outputs
from leantta.runtime.signing import check_signed, make_keys, sign, signature_of
from runtime.artifacts import Recipe, info_of, model_of, sealed

Array = npt.NDArray[Any]

GOLDEN = sorted((Path(__file__).parents[1] / "runtime" / "golden").glob("*.onnx"))
BLANK = {"leantta.sha256": "0" * 64, "leantta.crc32": "0" * 8}
TOLERANCE = 0.02
"""Of 1 + the largest value, with and without the kernel: more than a step of int8 in the last layer."""
AMPLIFIED = 4
"""Times what the file itself makes of rounding: a weight times a million turns it into much."""


def write(place: Path, data: bytes) -> Path:
    place.write_bytes(data)
    return place


def sealed_files(folder: Path, _: ExitStack) -> Try:
    """Damage without a new seal: any change must be refused."""
    whole = [path.read_bytes() for path in GOLDEN]

    def attempt(random_: random.Random) -> None:
        before = random_.choice(whole)
        data = damaged(random_, before)
        with leantta.load(write(folder / "a.onnx", data)):
            pass
        check_digest(read_container(folder / "a.onnx"))
        assert data == before, "a damaged file was loaded"

    return attempt


def answers(path: Path, engine: str, images: Array) -> Outputs | None:
    """What a file says; None if it is refused."""
    try:
        with leantta.load(path, engine=engine) as session:
            return session.run(images)
    except LeanTTAError:
        return None


def assert_same(path: Path, images: Array) -> None:
    """Fail unless the file answers the same with the kernel and without; raise if it is refused by both."""
    found = answers(path, "onnxruntime", images)
    wanted = answers(path, "onnxruntime-portable", images)
    if found is None and wanted is None:
        raise ArtifactError("refused by both.")
    assert found is not None, "refused with the kernel alone"
    assert wanted is not None, "answered with the kernel alone"
    gaps = differences(found, wanted)
    if max(gaps.values()) <= 1:
        return
    own = rounding(path, images, wanted)
    assert all(gap <= 1 + AMPLIFIED * own[name] for name, gap in gaps.items()), (gaps, own)


def differences(found: Outputs, wanted: Outputs) -> dict[str, float]:
    """The largest difference in each output, as a share of the tolerance; infinite where one is no number."""
    gaps = {}
    for name, value in wanted.named().items():
        other = found.named()[name]
        same = (other == value) | (np.isnan(other) & np.isnan(value))
        with np.errstate(all="ignore"):
            room = TOLERANCE * (1 + np.abs(np.nan_to_num(value, posinf=0, neginf=0)).max())
            gap = np.where(same, 0, np.abs(other - value)) / room
        gaps[name] = float(np.nan_to_num(gap, nan=np.inf).max())
    return gaps


def rounding(path: Path, images: Array, wanted: Outputs) -> dict[str, float]:
    """How far answers without the kernel move if the last four bits of each constant are others."""
    random_ = np.random.default_rng(0)
    worst = dict.fromkeys(wanted.named(), 0.0)
    for _ in range(8):
        model = onnx.load(str(path))
        for tensor in model.graph.initializer:
            if tensor.data_type == onnx.TensorProto.FLOAT:
                values = numpy_helper.to_array(tensor)
                signs = random_.choice((-1, 1), values.shape)
                with np.errstate(all="ignore"):
                    moved = (values * (1 + signs * 2.0**-20)).astype(np.float32)
                tensor.CopyFrom(numpy_helper.from_array(moved, tensor.name))
        other = path.with_name("rounded.onnx")
        moved_answer = answers(
            write(other, resealed(model.SerializeToString())), "onnxruntime-portable", images
        )
        if moved_answer is not None:
            gaps = differences(moved_answer, wanted)
            worst = {name: max(worst[name], gaps[name]) for name in worst}
    return worst


def images_of(path: Path) -> Array:
    stored = np.load(path.with_suffix(".npz"))
    return np.asarray(stored["images"][:2])


def resealed_bytes(folder: Path, _: ExitStack) -> Try:
    """Any bytes changed, sealed anew."""
    whole = [(path.read_bytes(), images_of(path)) for path in GOLDEN]

    def attempt(random_: random.Random) -> None:
        data, images = random_.choice(whole)
        assert_same(write(folder / "a.onnx", resealed(damaged(random_, data))), images)

    return attempt


def resealed_graphs(folder: Path, _: ExitStack) -> Try:
    """A graph that was changed as a person would: nodes, names, attributes and constants; sealed anew."""
    whole = [(onnx.load(str(path)), images_of(path)) for path in GOLDEN]

    def attempt(random_: random.Random) -> None:
        original, images = random_.choice(whole)
        model = onnx.ModelProto()
        model.CopyFrom(original)
        for _ in range(random_.choice((1, 1, 1, 2, 3))):
            _change_graph(random_, model)
        assert_same(write(folder / "a.onnx", resealed(model.SerializeToString())), images)

    return attempt


def _change_graph(random_: random.Random, model: onnx.ModelProto) -> None:
    holder = random_.choice((model.graph, model.graph, *model.functions))
    nodes = holder.node
    if not nodes:  # they are all gone
        return
    node = random_.choice(nodes)
    match random_.randrange(8):
        case 0:
            nodes.remove(node)
        case 1:
            nodes.add().CopyFrom(node)
        case 2 if len(node.input) > 1:
            one, other = random_.sample(range(len(node.input)), 2)
            node.input[one], node.input[other] = node.input[other], node.input[one]
        case 3:
            node.op_type = random_.choice(nodes).op_type
        case 4 if node.attribute:
            _change_attribute(random_, random_.choice(node.attribute))
        case 5 if node.input:
            node.input[random_.randrange(len(node.input))] = random_.choice(
                [name for each in nodes for name in (*each.input, *each.output)]
            )
        case _:
            tensor = random_.choice(model.graph.initializer)
            _change_tensor(random_, tensor)


def _change_attribute(random_: random.Random, attribute: onnx.AttributeProto) -> None:
    match random_.randrange(4):
        case 0:
            attribute.f = random_.choice((0.0, -1.0, 1e30, float("nan"), attribute.f * 2 + 1))
        case 1:
            attribute.i = random_.choice((0, -1, 2**62, attribute.i + 1))
        case 2 if attribute.ints:
            attribute.ints[random_.randrange(len(attribute.ints))] = random_.choice((0, -1, 2**40, 3))
        case _:
            attribute.type = random_.randrange(1, 12)  # type: ignore[assignment]  # any number at all


def _change_tensor(random_: random.Random, tensor: onnx.TensorProto) -> None:
    match random_.randrange(5):
        case 0:
            tensor.data_type = random_.randrange(1, 22)
        case 1:
            tensor.dims[:] = random_.choice(
                ([], [0], [2**40, 2**40], [-1], [*tensor.dims, 1], [*tensor.dims[::-1]])
            )
        case 2:
            values = numpy_helper.to_array(tensor)
            factor = np.array(random_.choice((0, 1.01, -1, 1e6)), np.float32)
            changed = (values * factor).astype(values.dtype)
            tensor.CopyFrom(numpy_helper.from_array(changed, tensor.name))
        case 3:
            data = bytearray(tensor.raw_data)
            place = random_.randrange(len(data) + 1)
            number = random_.choice(NUMBERS)
            data[place : place + len(number)] = number[: max(0, len(data) - place)]
            tensor.raw_data = bytes(data)
        case _:
            tensor.raw_data = damaged(random_, tensor.raw_data)


def metadata(folder: Path, _: ExitStack) -> Try:
    """The note about a model with other values, sealed: what is read must hold together."""
    recipes: Sequence[Recipe] = (
        Recipe(),
        Recipe(kind="image"),
        Recipe(normalized=False, adapts=False),
        Recipe(changes={"format": 2}),
    )
    whole = [(model_of(recipe), json.dumps(info_of(recipe, model_of(recipe)))) for recipe in recipes]
    for path in GOLDEN:
        model = onnx.load(str(path))
        notes = {note.key: note.value for note in model.metadata_props}
        del model.metadata_props[:]
        whole.append((model, notes["leantta"]))

    def attempt(random_: random.Random) -> None:
        original, text = random_.choice(whole)
        model = onnx.ModelProto()
        model.CopyFrom(original)
        for key, value in {"leantta": changed_json(random_, text), **BLANK}.items():
            model.metadata_props.add(key=key, value=value)
        path = write(folder / "a.onnx", resealed(model.SerializeToString()))
        container = read_container(path)
        check_crc(container)
        info = read_info(container)
        assert facts_of(path)
        assert all(isinstance(size, int) and size > 0 for size in info.input.shape)
        assert info.heads
        info.selftest.images()

    return attempt


def any_bytes(folder: Path, _: ExitStack) -> Try:
    """Bytes that are no file of ours, and what looks like one: the walk over the wire format ends."""
    small = sealed(model_of(Recipe()), "{}")

    def attempt(random_: random.Random) -> None:
        if random_.random() < 0.3:
            data = b"\x08\x09" * random_.randrange(2) + random_.randbytes(random_.randrange(400))
        else:
            data = damaged(random_, small)
        path = write(folder / "a.onnx", resealed(data) if random_.random() < 0.5 else data)
        read_container(path)
        changed_functions(str(path))

    return attempt


def signed_files(folder: Path, _: ExitStack) -> Try:
    """A file, its signature or its key damaged: only the very bytes that were signed pass."""
    model = write(folder / "a.onnx", GOLDEN[0].read_bytes())
    secret, public = make_keys(folder / "k")
    signature = sign(model, secret)
    other = make_keys(folder / "other")[1]
    whole = {path: path.read_bytes() for path in (model, signature, public)}

    def attempt(random_: random.Random) -> None:
        for path, data in whole.items():
            path.write_bytes(data)
        touched = random_.choice((model, signature, public, None))
        if touched:
            touched.write_bytes(damaged(random_, whole[touched]))
        key = public if touched else other
        check_signed(model, key)
        assert key == public, "the key of somebody else fits"
        assert model.read_bytes() == whole[model], "a file that was not signed passed"
        assert signature_of(model) == signature

    return attempt


ATTACKS = (
    Attack(
        name="sealed files",
        reader="leantta.load",
        inputs="model files with changed bytes",
        begin=sealed_files,
        recorded=12_000,
    ),
    Attack(
        name="resealed files",
        reader="leantta.load, predict with and without the kernel",
        inputs="model files with changed bytes, sealed anew",
        begin=resealed_bytes,
        recorded=1_500,
    ),
    Attack(
        name="resealed graphs",
        reader="leantta.load, predict with and without the kernel",
        inputs="model files whose nodes, names, attributes or constants were changed, sealed anew",
        begin=resealed_graphs,
        recorded=1_200,
    ),
    Attack(
        name="metadata",
        reader="metadata, inspect",
        inputs="notes of model files with other values, sealed",
        begin=metadata,
        recorded=10_000,
    ),
    Attack(
        name="wire",
        reader="the reader of the wire format",
        inputs="random and damaged bytes",
        begin=any_bytes,
        recorded=25_000,
    ),
    Attack(
        name="signatures",
        reader="load with a key",
        inputs="damaged files, signatures and keys",
        begin=signed_files,
        recorded=6_000,
    ),
)
