"""Seal a model into the bytes of a file: metadata, a self-test, and a digest of everything."""

import base64
import hashlib
import zlib
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from leantta import __version__
from leantta.errors import UnsupportedModelError
from leantta.evaluate.settings import canonical
from leantta.gates import Gate, PaperGate
from leantta.graph.functions import called
from leantta.graph.ir import Array, Graph, write_graph
from leantta.runtime.container import CRC_KEY, DIGEST_KEY, INFO_KEY, SEALS
from leantta.runtime.metadata import FORMAT
from leantta.surgery.plan import Plan

SELFTEST_SEED = 20250


def sealed(graph: Graph, name: str, metadata: Mapping[str, Any]) -> bytes:
    """Return the bytes of the file: the graph with its functions, the metadata, and their digest.

    Raises:
        UnsupportedModelError: the graph is not valid ONNX.
    """
    told = {
        **metadata,
        "format": FORMAT,
        "versions": {"leantta": __version__, **{k: version(k) for k in ("torch", "onnx", "onnxruntime")}},
    }
    blanks = {key: "0" * digits for key, digits in SEALS.items()}
    model = write_graph(graph, name, called(graph.nodes), {INFO_KEY: canonical(told), **blanks})
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as e:
        first = str(e).strip().splitlines()[0]
        raise UnsupportedModelError(f"the model cannot be written as ONNX: {first}") from e
    raw: bytes = model.SerializeToString(deterministic=True)
    seals = {DIGEST_KEY: hashlib.sha256(raw).hexdigest(), CRC_KEY: f"{zlib.crc32(raw):08x}"}
    for key, digits in seals.items():
        head = key.encode() + bytes([0x12, len(digits)])  # the value is field 2 of the note, behind its key
        place = raw.rindex(head) + len(head)
        raw = raw[:place] + digits.encode() + raw[place + len(digits) :]
    return raw


def plan_rows(plan: Plan) -> list[dict[str, Any]]:
    """Return a plan as plain values."""
    return [
        {"layer": row.name, "action": row.action.value, "channels": row.channels, "reason": row.reason}
        for row in plan.rows
    ]


def gate_settings(gate: Gate) -> dict[str, Any]:
    """Return a gate as plain values."""
    if isinstance(gate, PaperGate):
        return {"name": "paper", "tau": gate.tau, "lambda": gate.lam}
    told: dict[str, Any] = {"name": "calibrated", "floor": gate.floor, "ceiling": gate.ceiling}
    return told if gate.budget is None else {**told, "budget": gate.budget}


def selftest_input(like: Array) -> Array:
    """Return one made-up input (1, ...) with the type and the usual values of the given ones (n, ...).

    It is smooth noise, not one of the images: a file should not give away what a model was calibrated with.
    """
    draw = np.random.default_rng(SELFTEST_SEED)
    shape = like.shape[1:]
    coarse = draw.standard_normal([-(-size // 4) for size in shape])
    for axis, size in enumerate(shape):
        coarse = np.repeat(coarse, 4, axis=axis).take(range(size), axis=axis)
    values = like.mean(dtype=np.float64) + like.std(dtype=np.float64) * coarse[None]
    if like.dtype == np.uint8:
        values = np.clip(np.rint(values), 0, 255)
    return np.asarray(values, like.dtype)


def selftest(given: Array, logits: npt.NDArray[np.float32], tolerance: float) -> dict[str, Any]:
    """Return an input and the scores that the file gave for it, as plain values."""
    little = given.astype(given.dtype.newbyteorder("<"))
    return {
        "dtype": given.dtype.name,
        "shape": list(given.shape),
        "input": base64.b64encode(zlib.compress(little.tobytes(), 9)).decode(),
        "logits": [float(value) for value in logits.reshape(-1)],
        "tolerance": tolerance,
    }
