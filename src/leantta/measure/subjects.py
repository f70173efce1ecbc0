"""What is measured: a file and the engine that runs it, numpy in and numpy out.

Engines are those of `leantta.runtime.engines`, which take files of ours, and those of `OTHERS`: plain ONNX
Runtime for anybody's file, and torch for modules that were saved for it.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leantta.errors import ArtifactError, LeanTTAError, SettingError
from leantta.runtime.container import INFO_KEY, read_container
from leantta.runtime.engines import Port, open_engine

Array = NDArray[Any]

PLAIN = "plain"
"""ONNX Runtime without anything of ours: for files that are not ours, and to compare with."""

TORCH_INT8: Mapping[str, str] = {"torch-x86": "x86", "torch-qnnpack": "qnnpack"}
"""Engines that run modules in int8, with torch's name of what computes them."""


@dataclass(frozen=True)
class Subject:
    """A file, and what runs it."""

    path: Path
    engine: str

    @property
    def is_torch(self) -> bool:
        """Whether torch runs it, which is slow to start and keeps no plan of its memory."""
        return self.engine.startswith("torch")


class Opened(NamedTuple):
    """A subject that is ready to run."""

    run: Callable[[Array], Array]  # inputs in, scores out
    close: Callable[[], None]
    port: Port | None  # what goes in; None if it does not say


def open_subject(subject: Subject, threads: int) -> Opened:
    """Return the subject, loaded.

    Raises:
        LeanTTAError: it cannot be opened or the engine is not here; the message says why.
    """
    opener = OTHERS.get(subject.engine)
    if opener is not None:
        return opener(subject, threads)
    engine = open_engine(subject.engine, subject.path, threads=threads)
    first = engine.outputs[0].name
    return Opened(lambda inputs: engine.run(inputs)[first], engine.close, engine.inputs[0])


def inputs_for(port: Port, batch: int, seed: int, shape: tuple[int, ...] | None = None) -> Array:
    """Return a random batch that the port takes: bytes or normal floats; `shape` is without the batch.

    Raises:
        SettingError: the port leaves a size open and no shape is given, or it takes something else.
    """
    sizes = port.shape[1:] if shape is None else shape
    fixed = [size for size in sizes if size is not None]
    if len(fixed) < len(sizes) or not sizes:
        raise SettingError(f"its input {port.name!r} leaves sizes open: say them with --shape C,H,W.")
    random = np.random.default_rng(seed)
    if port.dtype == "uint8":
        return random.integers(0, 256, (batch, *fixed), dtype=np.uint8)
    if port.dtype != "float32":
        raise SettingError(f"its input {port.name!r} is {port.dtype}; float32 and uint8 can be measured.")
    return random.standard_normal((batch, *fixed), np.float32)


def is_ours(path: Path) -> bool:
    """Tell whether `leantta convert` made the file.

    Raises:
        MissingFileError: there is nothing at `path`.
    """
    try:
        return INFO_KEY in read_container(path).metadata
    except ArtifactError:  # such as weights in another file, which plain ONNX Runtime may run
        return False


def _open_plain(subject: Subject, threads: int) -> Opened:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(subject.path, options, providers=["CPUExecutionProvider"])
    except Exception as e:
        reason = " ".join(str(e).split())[:300]
        raise ArtifactError(f"ONNX Runtime cannot load {subject.path}: {reason}") from e
    ports = session.get_inputs()
    if len(ports) != 1:
        raise SettingError(f"{subject.path} has {len(ports)} inputs; files with one can be measured.")
    kinds = {"tensor(float)": "float32", "tensor(uint8)": "uint8"}
    sizes = tuple(size if isinstance(size, int) else None for size in ports[0].shape)
    port = Port(ports[0].name, kinds.get(ports[0].type, ports[0].type), sizes)
    names = [output.name for output in session.get_outputs()]

    def run(inputs: Array) -> Array:
        found: Array = session.run(names, {port.name: inputs})[0]
        return found

    return Opened(run, _nothing, port)


def _open_torch(subject: Subject, threads: int) -> Opened:
    import torch

    int8 = TORCH_INT8.get(subject.engine)
    if int8 is not None:
        torch.backends.quantized.engine = int8  # what the packed weights are unpacked for
    torch.set_num_threads(threads)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch of its own quantized modules
        model = torch.load(subject.path, weights_only=False)  # ours, written a moment ago
    if subject.engine == "torch-compiled":
        model = torch.compile(model, dynamic=False)  # made anew for each batch size

    def run(inputs: Array) -> Array:
        if int8 is not None:
            torch.backends.quantized.engine = int8  # rows of both kinds take turns, and it is global
        with torch.inference_mode():
            found: Array = model(torch.from_numpy(inputs)).numpy()
        return found

    return Opened(run, _nothing, None)


def _open_method(subject: Subject, threads: int) -> Opened:
    import torch

    torch.set_num_threads(threads)
    predictor = torch.load(subject.path, weights_only=False)  # ours, written a moment ago
    predictor.reset()  # a file keeps no gradients, and those of some methods are windows on one vector
    return Opened(predictor.predict, _nothing, None)


def _nothing() -> None:
    pass


OTHERS: Mapping[str, Callable[[Subject, int], Opened]] = {
    PLAIN: _open_plain,
    "torch": _open_torch,
    "torch-compiled": _open_torch,
    "torch-method": _open_method,
    **dict.fromkeys(TORCH_INT8, _open_torch),
}


def reason_of(error: Exception) -> str:
    """Return why something cannot be done, in a line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, LeanTTAError) else f"{type(error).__name__}: {text[:300]}"
