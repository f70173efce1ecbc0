"""What computes a model: ONNX Runtime with or without our kernel, or OpenVINO. One protocol, one table."""

import re
from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from leantta.errors import ArtifactError, SettingError
from leantta.extras import missing_extra
from leantta.runtime.bodies import changed_functions
from leantta.runtime.kernel import register, say_once
from leantta.runtime.patience import in_time

INPUT = "input"
"""The name of the one input of a model of ours."""

MEMORY, NEXT_MEMORY = "memory", "memory_next"
"""What the layers of a model with a stream mode remembered, an input that may be left out; and an output."""

OUTPUTS = ("logits", "distance", "shift", NEXT_MEMORY)
"""The names of outputs, where nobody says others."""

Array = NDArray[Any]


class Port(NamedTuple):
    """An input or output of a model; a size of None is free."""

    name: str
    dtype: str
    shape: tuple[int | None, ...]


class Engine(Protocol):
    """A loaded model. `run` may be called from several threads at once."""

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    native: bool  # adaptive layers run in our kernel

    def run(self, images: Array) -> dict[str, Array]:
        """Return each output by its name."""

    def close(self) -> None:
        """Give back what the engine holds."""


class OnnxRuntime:
    """ONNX Runtime with our kernel where that is installed: the default."""

    with_kernel = True

    def __init__(
        self,
        path: str,
        threads: int | None,
        providers: Sequence[str] | None,
        names: Sequence[str] = OUTPUTS,
    ) -> None:
        import onnxruntime

        del names  # it knows them

        wanted = ["CPUExecutionProvider"] if providers is None else list(providers)
        available = onnxruntime.get_available_providers()
        unknown = [name for name in wanted if name not in available]
        if unknown or not wanted:
            asked = f"the provider {unknown[0]!r} is not there" if unknown else "no provider is named"
            raise SettingError(f"{asked}; this ONNX Runtime has {', '.join(available)}.")
        self._path = path
        self._failures = _onnxruntime_failures()
        self.native = False
        session = self._loaded(threads, wanted)
        self._session: Any = session
        self.inputs = tuple(map(_onnxruntime_port, session.get_inputs()))
        self.outputs = tuple(map(_onnxruntime_port, session.get_outputs()))
        self._names = [port.name for port in self.outputs]

    def _loaded(self, threads: int | None, providers: list[str]) -> Any:
        """Return the session, with the kernel if there is one and it fits the file."""
        import onnxruntime

        def load(options: Any) -> Any:
            with in_time(options, self._path):
                return onnxruntime.InferenceSession(
                    self._path,
                    options,
                    providers=providers,
                    enable_fallback=0,  # else it tries the same again, and says so on standard output
                )

        refused = None
        changed = changed_functions(self._path) if self.with_kernel else ()
        if changed:
            refused = f"its function {changed[0]} is not the one that the kernel computes"
        elif self.with_kernel and register(options := _options(threads)):
            try:
                session = load(options)
                self.native = True
                return session
            except ArtifactError:  # it took too long
                raise
            except self._failures as e:
                refused = _one_line(e)
        try:
            session = load(_options(threads))
        except ArtifactError:
            raise
        except self._failures as e:
            raise ArtifactError(f"ONNX Runtime cannot load {self._path}: {_one_line(e)}") from e
        if refused is not None:
            say_once(f"{self._path} does not fit it: {refused}")
        return session

    def run(self, images: Array, memory: Array | None = None) -> dict[str, Array]:
        """Return each output by its name; `memory` (n, k) is what a stream left, of a model that has one."""
        session = _open(self._session, self._path)
        fed = {INPUT: images} if memory is None else {INPUT: images, MEMORY: memory}
        try:
            arrays = session.run(self._names, fed)
        except self._failures as e:
            raise ArtifactError(f"ONNX Runtime cannot run {self._path}: {_one_line(e)}") from e
        return dict(zip(self._names, arrays, strict=True))

    def close(self) -> None:
        """Give back the session."""
        self._session = None


class PortableOnnxRuntime(OnnxRuntime):
    """ONNX Runtime with the standard operators that the file carries."""

    with_kernel = False


class OpenVino:
    """OpenVINO, on the CPU and in float32 where the model is: fast on Intel's processors."""

    native = False

    def __init__(
        self,
        path: str,
        threads: int | None,
        providers: Sequence[str] | None,
        names: Sequence[str] = OUTPUTS,
    ) -> None:
        try:
            import openvino
        except ModuleNotFoundError as e:
            raise missing_extra(e) from e
        from threading import Lock

        if providers is not None:
            raise SettingError("providers are a setting of the engine onnxruntime; OpenVINO takes none.")
        settings: dict[str, str | int] = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
        if threads is not None:
            settings["INFERENCE_NUM_THREADS"] = threads
        try:
            model = openvino.Core().compile_model(path, "CPU", settings)
            self.inputs = tuple(_openvino_port(port, (INPUT,)) for port in model.inputs)
            self.outputs = tuple(_openvino_port(port, names) for port in model.outputs)
        except (RuntimeError, ValueError) as e:
            raise ArtifactError(
                f"OpenVINO cannot load {path}: {_one_line(e)} For OpenVINO, convert with --portable."
            ) from e
        self._model: Any = model
        self._path = path
        self._idle: list[Any] = []  # requests that no thread is using: each serves one call at a time
        self._lock = Lock()

    def run(self, images: Array) -> dict[str, Array]:
        """Return each output by its name."""
        model = _open(self._model, self._path)
        with self._lock:
            request = self._idle.pop() if self._idle else None
        try:
            request = request or model.create_infer_request()
            request.infer({0: images})
            arrays = [np.array(request.get_output_tensor(i).data) for i in range(len(self.outputs))]
        except (RuntimeError, ValueError) as e:
            raise ArtifactError(f"OpenVINO cannot run {self._path}: {_one_line(e)}") from e
        with self._lock:
            self._idle.append(request)
        return {port.name: array for port, array in zip(self.outputs, arrays, strict=True)}

    def close(self) -> None:
        """Give back the compiled model."""
        self._model = None
        with self._lock:
            self._idle.clear()


ENGINES: Mapping[str, Callable[[str, int | None, Sequence[str] | None, Sequence[str]], Engine]] = {
    "onnxruntime": OnnxRuntime,
    "onnxruntime-portable": PortableOnnxRuntime,
    "openvino": OpenVino,
}


def open_engine(
    name: str,
    path: str | PathLike[str],
    *,
    threads: int | None = None,
    providers: Sequence[str] | None = None,
    names: Sequence[str] = OUTPUTS,
) -> Engine:
    """Return the engine of that name with the model at `path` loaded; `names` are those of its outputs.

    Raises:
        SettingError: there is no such engine or provider, or `threads` is below 1.
        MissingExtraError: the engine is not installed.
        ArtifactError: the engine cannot load the model.
    """
    if name not in ENGINES:
        raise SettingError(f"no engine is called {name!r}; the engines are {', '.join(ENGINES)}.")
    if threads is not None and threads < 1:
        raise SettingError(f"threads must be 1 or more, got {threads}.")
    if isinstance(providers, str):
        raise SettingError(f"providers is a list of names, got the text {providers!r}.")
    return ENGINES[name](fspath(path), threads, providers, names)


def _options(threads: int | None) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # errors are raised, so they need not be printed too
    if threads is not None:
        options.intra_op_num_threads = threads
    return options


def _open(held: Any, path: str) -> Any:
    """Return what an engine holds, unless it was closed."""
    if held is None:
        raise SettingError(f"the engine of {path} is closed. Load the model again.")
    return held


def _onnxruntime_failures() -> tuple[type[Exception], ...]:
    """Return what ONNX Runtime raises: its own errors, which have no common base, and two builtins."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    own = [kind for kind in vars(state).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    return (*own, RuntimeError, ValueError)


def _onnxruntime_port(argument: Any) -> Port:
    kinds = {"tensor(float)": "float32", "tensor(uint8)": "uint8"}
    sizes = tuple(size if isinstance(size, int) else None for size in argument.shape)
    return Port(argument.name, kinds.get(argument.type, argument.type), sizes)


def _openvino_port(port: Any, known: Sequence[str]) -> Port:
    sizes = tuple(None if size.is_dynamic else size.get_length() for size in port.partial_shape)
    name = next((each for each in known if each in port.names), port.any_name)  # it may have several
    return Port(name, port.element_type.to_dtype().name, sizes)


def _one_line(error: Exception) -> str:
    """Return the start of what an engine says, as one line that ends with a full stop."""
    places = r"Exception from \S+:\d+:|Check '.*?' failed at \S+:\d+:"  # lines of the engine's own source
    text = " ".join(re.sub(places, " ", str(error)).split()) or type(error).__name__
    return f"{text[:300].rstrip('.')}{'...' if len(text) > 300 else '.'}"
