"""A model file, loaded: numpy in, numpy out.

    with leantta.load("model.onnx") as session:
        print(session.predict_one(image).label)

Every input adapts the model for itself alone, so a session has no state: it may be used from several threads
at once, and the same input gives the same answer in any order and any company. The exception is asked for:
`load(..., memory=True)` remembers the inputs before, of one stream or of several by name.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from threading import Lock
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from leantta.errors import ArtifactError, DataError, SettingError
from leantta.runtime.container import check_crc, read_container
from leantta.runtime.engines import NEXT_MEMORY, Engine, OnnxRuntime, open_engine
from leantta.runtime.inputs import at_once, prepare_in_slices, single
from leantta.runtime.metadata import Info, read_info
from leantta.runtime.prediction import Floats, Outputs, Prediction, probabilities
from leantta.runtime.signature import check_signature, output_names

Results = dict[str, npt.NDArray[Any]]


class Session:
    """A loaded model. Made by `load`; a `Predictor` of the evaluation."""

    def __init__(self, engine: Engine, info: Info, name: str, *, memory: bool = False) -> None:
        """Take a loaded engine whose inputs and outputs are those of `info`; `name` is for messages.

        Raises:
            SettingError: a `memory` is asked for, and the file has no stream mode or the engine none.
        """
        if memory and info.memory is None:
            raise SettingError(f"{name} has no stream mode. Convert the model with --stream.")
        if memory and not isinstance(engine, OnnxRuntime):
            raise SettingError(f"only ONNX Runtime runs the stream mode of {name}; leave engine= out.")
        self.info = info
        self.name = name
        self.stateless = not memory
        self._engine: Engine | None = engine
        self._streams: dict[str, Floats] = {}  # what the layers remember of each
        self._following = Lock()  # inputs of a stream come one after the other

    def __repr__(self) -> str:
        """Return what it is, in one line."""
        adapts = f"{len(self.info.layers)} layers adapt" if self.info.layers else "nothing adapts"
        how = ", closed" if self._engine is None else "" if self.native else ", without the kernel"
        return f"<Session {self.name}: {self.info.model} {self.info.precision}, {adapts}{how}>"

    @property
    def native(self) -> bool:
        """Whether adaptive layers run in our kernel, and not in the standard operators of the file."""
        return self._engine is not None and self._engine.native

    def run(self, images: npt.ArrayLike, *, stream: str = "") -> Outputs:
        """Return all that the model says of a batch.

        Images are uint8 (n, h, w, c), or float (n, c, h, w) between 0 and 1; a model that is not for images
        takes float32 (n, *shape), a signal such as that of a motion sensor in its own unit. With a memory
        they follow each other, and those that came before in the `stream` of that name. A batch of any size
        is computed in parts that fit into memory.

        Raises:
            DataError: the model does not take them, or memory is short; the message says why.
            SettingError: the session is closed.
        """
        return self._run(prepare_in_slices(images, self.info.input), stream)

    def run_prepared(self, inputs: npt.NDArray[Any], *, stream: str = "") -> Outputs:
        """Return all that the model says of a batch that `runtime.inputs.prepare` made: a part of `run`.

        Raises:
            DataError: the answers do not fit into memory.
            SettingError: the session is closed.
        """
        size = at_once(self.info.input)
        return self._run((inputs[i : i + size] for i in range(0, max(len(inputs), 1), size)), stream)

    def _run(self, parts: Iterable[npt.NDArray[Any]], stream: str) -> Outputs:
        """Return all that the model says of the parts of a batch, each prepared when it is its turn."""
        engine = self._engine
        if engine is None:
            raise SettingError(f"the session of {self.name} is closed. Load the model again.")
        try:
            if isinstance(engine, OnnxRuntime) and not self.stateless:
                results, count, latency_ms = self._follow(engine, parts, stream)
            else:
                results, count, latency_ms = _computed(engine.run, parts)
        except MemoryError as e:
            raise DataError(
                f"{self.name} has not enough memory for this batch: {e}. Give fewer at a time."
            ) from e
        adapts = bool(self.info.layers)
        outputs = Outputs(
            arrays={head.name: results[head.name] for head in self.info.heads},
            distance=results["distance"] if adapts else None,
            shift=results["shift"] if adapts else None,
            latency_ms=latency_ms,
        )
        shapes = {head.name: (count, *head.shape) for head in self.info.heads}
        if adapts:
            shapes |= {"distance": (count, len(self.info.layers)), "shift": (count,)}
        for output, shape in shapes.items():
            if (given := results[output].shape) != shape:
                raise ArtifactError(f"{self.name} gave {output} of shape {given}, not {shape}.")
        return outputs

    def _follow(
        self, engine: OnnxRuntime, parts: Iterable[npt.NDArray[Any]], stream: str
    ) -> tuple[Results, int, float]:
        """Run inputs one after the other, each with what the one before left; an error leaves the stream."""
        with self._following:
            memory = self._streams.get(stream)

            def step(inputs: npt.NDArray[Any]) -> Results:
                nonlocal memory
                answer = engine.run(inputs, memory)
                memory = answer[NEXT_MEMORY]
                return answer

            done = _computed(step, (part[i : i + 1] for part in parts for i in range(len(part))))
            assert memory is not None  # a batch has inputs
            self._streams[stream] = memory
        return done

    def predict(self, images: npt.ArrayLike, *, stream: str = "") -> Floats:
        """Return the scores of a batch, (n, k), or (n, k, h, w) for each pixel; `run` says what is taken.

        Raises:
            SettingError: the model decides nothing.
        """
        decides = self.info.deciding
        if decides is None:
            names = ", ".join(head.name for head in self.info.heads)
            raise SettingError(f"{self.name} decides nothing; its outputs are {names}. Use run().")
        return self.run(images, stream=stream).arrays[decides.name]

    def predict_one(self, image: npt.ArrayLike, *, stream: str = "") -> Prediction:
        """Return what the model says of one image: uint8 (h, w, c), or float (c, h, w) between 0 and 1.

        Raises:
            DataError: the model does not take it; the message says why.
            ArtifactError: an output of the model is not finite.
        """
        return self.prediction(self.run(single(image, self.info.input), stream=stream), 0)

    def prediction(self, outputs: Outputs, place: int) -> Prediction:
        """Return what the model says of the input at a place of a batch.

        Raises:
            ArtifactError: an output of the model is not finite.
        """
        arrays = {name: array[place] for name, array in outputs.arrays.items()}
        for name, array in arrays.items():
            if not np.isfinite(array).all():
                raise ArtifactError(
                    f"{self.name} gave {name} that are not finite. `leantta verify` looks closer."
                )
        decides = self.info.deciding
        logits = chances = index = None
        if decides is not None and decides.role == "classes":
            logits = arrays[decides.name]
            chances = probabilities(logits)
            index = int(chances.argmax())
        distances = None if outputs.distance is None else outputs.distance[place].tolist()
        return Prediction(
            index=index,
            label=None if index is None else self.info.label(index),
            probability=None if chances is None else float(chances[index]),
            shift=None if outputs.shift is None else float(outputs.shift[place]),
            distances=None if distances is None else dict(zip(self.info.layers, distances, strict=True)),
            outputs=arrays,
            latency_ms=outputs.latency_ms,
            logits=logits,
        )

    def forgetful(self) -> "Session":
        """Return a session of the same loaded model that remembers nothing; closing either is enough."""
        if self._engine is None:
            raise SettingError(f"the session of {self.name} is closed. Load the model again.")
        return Session(self._engine, self.info, self.name)

    def shift(self, images: npt.ArrayLike) -> Floats:
        """Return how far each input is from the training data, (n,): 0 is like it, above 1 is unusual.

        Raises:
            SettingError: nothing adapts in this model, so nothing is measured.
        """
        self._check_adapts("shift")
        shifts = self.run(images).shift
        assert shifts is not None  # as it adapts
        return shifts

    def explain(self, images: npt.ArrayLike) -> dict[str, Floats]:
        """Return by layer how far each input is from what the layer saw in training, (n,) each.

        Raises:
            SettingError: nothing adapts in this model, so nothing is measured.
        """
        self._check_adapts("distances")
        distances = self.run(images).distance
        assert distances is not None  # as it adapts
        return {layer: distances[:, i] for i, layer in enumerate(self.info.layers)}

    def reset(self, stream: str | None = None) -> None:
        """Forget the inputs of the stream of that name, or of all; without a memory nothing is kept."""
        with self._following:
            if stream is None:
                self._streams.clear()
            else:
                self._streams.pop(stream, None)

    def close(self) -> None:
        """Give back the model's memory; a closed session cannot predict. Closing twice is fine."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def __enter__(self) -> "Session":
        """Return the session itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def _check_adapts(self, what: str) -> None:
        if not self.info.layers:
            raise SettingError(
                f"{self.name} has no {what}: nothing adapts in it. Convert the model with --adapt half."
            )


def _computed(
    run: Callable[[npt.NDArray[Any]], Results], parts: Iterable[npt.NDArray[Any]]
) -> tuple[Results, int, float]:
    """Return what comes of all parts together, how many inputs they have, and the milliseconds it took."""
    answers, count, seconds = [], 0, 0.0
    for inputs in parts:
        started = time.perf_counter()
        answers.append(run(inputs))
        seconds += time.perf_counter() - started
        count += len(inputs)
    first, *others = answers
    if others:
        first = {name: np.concatenate([answer[name] for answer in answers]) for name in first}
    return first, count, seconds * 1000


def load(
    path: str | PathLike[str],
    *,
    engine: str = "onnxruntime",
    threads: int | None = None,
    providers: Sequence[str] | None = None,
    memory: bool = False,
    key: str | PathLike[str] | None = None,
) -> Session:
    """Return a session of the model file at `path`, after checking the file.

    `threads` is how many compute one prediction (default: the engine's choice); `providers` are those of ONNX
    Runtime (default: the CPU). With `memory`, the layers remember the inputs before (see `Session.run`). With
    the path of a public `key`, a file is taken only if its signature beside it fits (see `leantta sign`).

    Raises:
        MissingFileError: there is nothing at `path`, or at `key`.
        ArtifactError: the file is damaged, not ours, too new, nothing that the engine can run, or not signed.
        SettingError: there is no such engine or provider, `threads` is below 1, or a memory is asked for and
            the file has no stream mode.
        MissingExtraError: the engine is not installed.
    """
    if key is not None:
        from leantta.runtime.signing import check_signed  # here, as few ask for it

        check_signed(path, key)
    container = read_container(path)
    check_crc(container)
    info = read_info(container)
    opened = open_engine(
        engine, container.path, threads=threads, providers=providers, names=output_names(info)
    )
    check_signature(opened, info, container.path)
    return Session(opened, info, container.path, memory=memory)
