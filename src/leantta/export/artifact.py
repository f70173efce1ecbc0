"""Seal a graph into the bytes of a file: with what it says about itself, and a digest of everything."""

import hashlib
import zlib
from importlib.metadata import version

import onnx

from leantta import __version__
from leantta.errors import UnsupportedModelError
from leantta.graph.functions import called
from leantta.graph.ir import Graph, write_graph
from leantta.runtime.container import CRC_KEY, DIGEST_KEY, INFO_KEY, SEALS
from leantta.runtime.metadata import Info, write_info


def seal(graph: Graph, info: Info) -> bytes:
    """Return the bytes of the file: the graph with its functions, the metadata, and their digest.

    Raises:
        UnsupportedModelError: the graph is not valid ONNX.
    """
    blanks = {key: "0" * digits for key, digits in SEALS.items()}
    model = write_graph(
        graph, info.model, called(graph.nodes, graph.constants), {INFO_KEY: write_info(info), **blanks}
    )
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


def versions() -> dict[str, str]:
    """Return the versions of what makes a file."""
    return {"leantta": __version__, **{name: version(name) for name in ("torch", "onnx", "onnxruntime")}}
