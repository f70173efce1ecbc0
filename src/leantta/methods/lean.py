"""LeanTTA and plain inference as methods of the table."""

from dataclasses import asdict, replace

import torch
from torch import Tensor

from leantta.disturbances.copies import disturbances_of
from leantta.errors import DataError, LeanTTAError, SettingError
from leantta.evaluate.predictor import Predictor
from leantta.gates.gate import Gate
from leantta.gates.table import GATES, gate_of
from leantta.memory import StreamMemory
from leantta.methods.method import Method, SourceModel, TorchPredictor
from leantta.nn import forget
from leantta.surgery.adaptation import DEFAULT_LAYERS, Adaptation, Selector, parse_selector
from leantta.surgery.apply import apply, fit
from leantta.surgery.plan import plan


class StreamPredictor(TorchPredictor):
    """Runs a model whose layers remember: what it says of an input depends on those before it."""

    stateless = False

    def reset(self) -> None:
        """Let the layers forget."""
        forget(self.model)


def parse_none(text: str, usual: Adaptation) -> Method:
    """Return plain inference, which can be told nothing.

    Raises:
        SettingError: it was told something.
    """
    del usual
    if text:
        raise SettingError(f"'none' adapts nothing, so {'none:' + text!r} says too much; write 'none'")
    return Method(label="none", settings=lambda _: {}, build=lambda subject: subject.predictor(subject.model))


def parse_lean(text: str, usual: Adaptation) -> Method:
    """Return LeanTTA with what follows its name: layers, a gate, fields of the gate, `memory`.

    What the text leaves open is as in `usual`.

    >>> parse_lean("all:calibrated:floor=0.05", Adaptation()).label
    'leantta:all:calibrated:floor=0.05'

    Raises:
        SettingError: a word means nothing here.
    """
    words = text.split(":") if text else []
    asked = usual
    said = []
    for place, word in enumerate(words):
        if word in GATES:
            usual_layers = place == 0 and asked.layers == asked.gate.layers
            layers = DEFAULT_LAYERS if usual_layers else asked.layers
            asked = replace(asked, gate=gate_of(word), layers=layers)
        elif word == "memory":
            asked = replace(asked, memory=asked.memory or StreamMemory())
        elif "=" in word:
            asked = _with_field(asked, word)
        elif place == 0:
            asked = replace(asked, layers=parse_selector(word))
            continue
        else:
            raise SettingError(
                f"leantta cannot be told {word!r}: write leantta:LAYERS, then {' or '.join(GATES)}, "
                f"field=value of the gate, memory; for example leantta:half:calibrated:floor=0.1"
            )
        said.append(word)
    label = ":".join(["leantta", _short(asked.layers), *said])
    return Method(
        label=label, settings=lambda _: _settings(asked), build=lambda subject: _build(subject, asked)
    )


def _with_field(asked: Adaptation, word: str) -> Adaptation:
    key, _, value = word.partition("=")
    gate, memory = asked.gate, asked.memory or StreamMemory()
    known = (*gate.values(), *asdict(memory))
    if key not in known:
        raise SettingError(f"leantta has no {key!r} with this gate; it can be told {', '.join(known)}")
    try:
        number = float(value)
    except ValueError as e:
        raise SettingError(f"leantta: {key} is a number, got {value!r}") from e
    if key in gate.values():
        return replace(asked, gate=gate.changed(**{key: number}))
    return replace(asked, memory=replace(memory, **{key: number}))


def _settings(asked: Adaptation) -> dict[str, object]:
    layers = asked.layers
    return {
        "layers": layers if isinstance(layers, str | int | float) else list(layers),
        "gate": type(asked.gate).__name__,
        **{key: value for key, value in asked.gate.values().items() if value is not None},
        "mixture_variance": asked.mixture_variance,
        **({"adapt_vectors": True} if asked.adapt_vectors else {}),
        **({} if asked.memory is None else {"memory": asdict(asked.memory)}),
    }


def _build(subject: SourceModel, asked: Adaptation) -> Predictor:
    with torch.no_grad():
        decisions = plan(subject.model, subject.example, asked)
        if asked.gate.needs_images:
            images = _source_images(subject, asked.gate)
            disturbances = disturbances_of(
                images, modality=subject.modality, mean=subject.mean, std=subject.std
            )
            decisions = fit(
                subject.model, decisions, images, disturbances=disturbances, progress=subject.progress
            )
        lean = apply(subject.model, decisions)
    if asked.memory is None:
        return subject.predictor(lean)
    return StreamPredictor(lean, mean=subject.mean, std=subject.std)


def _source_images(subject: SourceModel, gate: Gate) -> Tensor:
    try:
        return subject.calibration(gate.images)
    except LeanTTAError as e:
        free = next(name for name, each in GATES.items() if not each.needs_images)
        raise DataError(
            f"the {gate.name} gate needs training images: {e} --gate {free} (leantta:half:{free}) needs none"
        ) from e


def _short(selector: Selector) -> str:
    return str(selector) if isinstance(selector, str | int | float) else ",".join(selector)
