"""Small model files as the contract in docs/artifact.md has them, made with the onnx package alone."""

import base64
import hashlib
import json
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, inliner, numpy_helper

from leantta.runtime.container import Container

MEAN, STD = (0.5, 0.4, 0.3, 0.2), (0.2, 0.25, 0.3, 0.35)
Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What kind of model file is wanted."""

    kind: str = "tensor"
    shape: tuple[int, int, int] = (3, 8, 8)
    normalized: bool = True  # mean and std are given: a model for images
    outputs: int = 4
    adapts: bool = True
    mixes: bool = False  # a fault: the statistics are those of the batch
    inlined: bool = False  # without local functions
    ballast_bytes: int = 0  # weights that nothing uses
    changes: dict[str, Any] = field(default_factory=dict)  # of the metadata, by dotted name; ... removes


def model_of(recipe: Recipe) -> onnx.ModelProto:
    """A convolution, two normalizations that adapt or not, a mean and a linear layer."""
    random = np.random.default_rng(7)
    channels, *sizes = recipe.shape
    nodes, weights = [], []

    def weight(name: str, array: Array) -> str:
        weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    current = "input"
    shape: list[str | int | None]
    if recipe.kind == "image":
        dtype, shape = TensorProto.UINT8, ["batch", *sizes, channels]
        statistics = zip(("mean", "std"), (MEAN, STD), strict=True)
        mean, std = (weight(name, np.array(values[:channels], np.float32)) for name, values in statistics)
        nodes += [
            helper.make_node("Cast", ["input"], ["float"], to=TensorProto.FLOAT),
            helper.make_node("Div", ["float", weight("255", np.array([255], np.float32))], ["unit"]),
            helper.make_node("Sub", ["unit", mean], ["centred"]),
            helper.make_node("Div", ["centred", std], ["normal"]),
            helper.make_node("Transpose", ["normal"], ["first"], perm=[0, 3, 1, 2]),
        ]
        current = "first"
    else:
        dtype, shape = TensorProto.FLOAT, ["batch", channels, *sizes]
    kernel = weight("kernel", random.normal(size=(5, channels, 3, 3)).astype(np.float32))
    nodes.append(helper.make_node("Conv", [current, kernel], ["conv"], pads=[1, 1, 1, 1]))
    current, distances = "conv", []
    if recipe.adapts:
        for i in range(2):
            source = weight(f"source{i}", random.normal(size=(5, 1, 1)).astype(np.float32))
            made = [f"norm{i}", f"d{i}"]
            nodes.append(helper.make_node("ToyNorm", [current, source], made, domain="leantta"))
            nodes.append(helper.make_node("Relu", [f"norm{i}"], [f"relu{i}"], name=f"relu{i}"))
            current = f"relu{i}"
            distances.append(f"d{i}")
    matrix = weight("matrix", random.normal(size=(5, recipe.outputs)).astype(np.float32))
    nodes += [
        helper.make_node("GlobalAveragePool", [current], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("Gemm", ["flat", matrix], ["logits"]),
    ]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", recipe.outputs])]
    if recipe.adapts:
        axes = weight("axes", np.array([1]))
        nodes += [
            helper.make_node("Concat", distances, ["distance"], axis=1),
            helper.make_node("ReduceMax", ["distance", axes], ["shift"], keepdims=0),
        ]
        outputs.append(helper.make_tensor_value_info("distance", TensorProto.FLOAT, ["batch", 2]))
        outputs.append(helper.make_tensor_value_info("shift", TensorProto.FLOAT, ["batch"]))
    if recipe.ballast_bytes:
        weight("ballast", random.integers(0, 256, recipe.ballast_bytes, dtype=np.uint8))
    graph = helper.make_graph(
        nodes, "tiny", [helper.make_tensor_value_info("input", dtype, shape)], outputs, weights
    )
    model = helper.make_model(
        graph,
        ir_version=9,
        functions=[_adaptive_norm(recipe.mixes)] if recipe.adapts else [],
        opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("leantta", 1)],
    )
    return inliner.inline_local_functions(model) if recipe.inlined else model


def _adaptive_norm(mixes: bool) -> onnx.FunctionProto:
    """Move a tenth of the way to the sample's mean; the distance is how far that lies."""
    axes = [0, 2, 3] if mixes else [2, 3]
    nodes = [
        helper.make_node("Constant", [], ["axes"], value_ints=axes),
        helper.make_node("Constant", [], ["channels"], value_ints=[1, 2, 3]),
        helper.make_node("Constant", [], ["tenth"], value_float=0.1),
        helper.make_node("Constant", [], ["ones"], value_ints=[1]),
        helper.make_node("ReduceMean", ["x", "axes"], ["mean"], keepdims=1),
        helper.make_node("Sub", ["mean", "source"], ["off"]),
        helper.make_node("Mul", ["off", "tenth"], ["part"]),
        helper.make_node("Add", ["part", "source"], ["blend"]),
        helper.make_node("Sub", ["x", "blend"], ["y"]),
        helper.make_node("Sub", ["x", "source"], ["all"]),
        helper.make_node("ReduceMean", ["all", "channels"], ["rest"], keepdims=0),
        helper.make_node("Abs", ["rest"], ["size"]),
        helper.make_node("Unsqueeze", ["size", "ones"], ["d"]),
    ]
    opsets = [helper.make_opsetid("", 18)]
    return helper.make_function("leantta", "ToyNorm", ["x", "source"], ["y", "d"], nodes, opsets)


def info_of(recipe: Recipe, model: onnx.ModelProto) -> dict[str, Any]:
    """The metadata of such a model, its self-test computed."""
    channels, *sizes = recipe.shape
    is_image = recipe.kind == "image" or recipe.normalized
    random = np.random.default_rng(3)
    stored: Array
    if is_image:
        stored = random.integers(0, 256, (1, *sizes, channels), dtype=np.uint8)
    else:
        stored = random.normal(size=(1, *recipe.shape)).astype(np.float32)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    logits = session.run(["logits"], {"input": fed(recipe, stored)})[0]
    layers = ["bn1", "layer1.bn1"] if recipe.adapts else []
    info: dict[str, Any] = {
        "format": 1,
        "model": "tiny",
        "weights_sha256": None,
        "precision": "fp32",
        "portable": recipe.inlined,
        "input": {
            "kind": recipe.kind,
            "shape": list(recipe.shape),
            "mean": list(MEAN[:channels]) if is_image else None,
            "std": list(STD[:channels]) if is_image else None,
        },
        "classes": [f"class {i}" for i in range(max(recipe.outputs, 2))],
        "outputs": recipe.outputs,
        "gate": {"name": "paper", "tau": 0.9, "lambda": 0.9} if recipe.adapts else None,
        "layers": layers,
        "plan": [{"layer": name, "action": "adapt", "channels": 5, "reason": "chosen"} for name in layers],
        "shift": {"middle": 0.1, "limit": 0.4, "images": 512} if recipe.adapts else None,
        "calibration": {"images": 512, "observer": "minmax"},
        "ranges": {"conv": [-3.5, 4.25]},
        "selftest": {
            "dtype": str(stored.dtype),
            "shape": list(stored.shape),
            "input": base64.b64encode(zlib.compress(stored.tobytes())).decode(),
            "logits": logits[0].tolist(),
            "tolerance": 1e-4,
        },
        "versions": {"leantta": "0.1.0", "onnx": onnx.__version__},
        "something newer": [1, 2],
    }
    for name, value in recipe.changes.items():
        *path, last = name.split(".")
        place = info
        for step in path:
            place = place[step]
        if value is ...:
            del place[last]
        else:
            place[last] = value
    return with_heads(info) if recipe.changes.get("format") == 2 and "heads" not in info else info


def with_heads(info: dict[str, Any]) -> dict[str, Any]:
    """The metadata as format 2 has them: outputs and their self-test by name."""
    test = dict(info["selftest"])
    kept = {"logits": {"values": test.pop("logits"), "tolerance": test.pop("tolerance")}}
    head = {"name": "logits", "shape": [info["outputs"]], "role": "classes"}
    rest = {key: value for key, value in info.items() if key != "outputs"}
    return {**rest, "heads": [head], "selftest": {**test, "outputs": kept}}


def fed(recipe: Recipe, pixels: Array) -> Array:
    """What the graph itself takes, by a formula of the tests' own: uint8 (n, h, w, c) or float (n, ...)."""
    if recipe.kind == "image" or pixels.dtype != np.uint8:
        return pixels
    count = recipe.shape[0]
    mean, std = (np.array(values[:count], np.float32) for values in (MEAN, STD))
    unit = pixels.astype(np.float32) / np.float32(255)
    return np.ascontiguousarray(((unit - mean) / std).transpose(0, 3, 1, 2))


def sealed(model: onnx.ModelProto, info: dict[str, Any] | str | None) -> bytes:
    """The bytes of the file, with its metadata and its digest."""
    text = info if isinstance(info, str) or info is None else json.dumps(info, sort_keys=True)
    marks = {"leantta.sha256": "f" * 64, "leantta.crc32": "e" * 8}  # found again by what they hold
    for key, value in {"leantta": text, **marks}.items():
        if value is not None:
            model.metadata_props.add(key=key, value=value)
    data = model.SerializeToString()
    places = [mark.encode() for mark in marks.values()]
    assert [data.count(place) for place in places] == [1, 1]
    blank = data.replace(places[0], b"0" * 64).replace(places[1], b"0" * 8)
    data = data.replace(places[0], hashlib.sha256(blank).hexdigest().encode())
    return data.replace(places[1], f"{zlib.crc32(blank):08x}".encode())


def artifact(path: Path, **settings: Any) -> Path:
    """Write a model file of that recipe and return its path."""
    recipe = Recipe(**settings)
    model = model_of(recipe)
    path.write_bytes(sealed(model, info_of(recipe, model)))
    return path


def said(text: str) -> Container:
    """The outside of a file with that metadata."""
    return Container(
        path="a.onnx",
        size=1,
        ir_version=9,
        opsets={},
        metadata={"leantta": text},
        seals_at={"leantta.sha256": 0, "leantta.crc32": 0},
    )
