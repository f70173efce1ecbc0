"""LeanTTA and plain inference as methods of the table."""

from dataclasses import asdict, fields, replace

import torch
from torch import Tensor

from leantta.errors import DataError, LeanTTAError, SettingError
from leantta.evaluate.predictor import Predictor
from leantta.gates import CalibratedGate, Gate, gate_of
from leantta.memory import StreamMemory
from leantta.methods.chosen import Chosen
from leantta.methods.options import MethodOptions
from leantta.methods.stream_predictor import StreamPredictor
from leantta.methods.subject import Subject
from leantta.surgery.apply import adapt
from leantta.surgery.select import Selector, parse_selector


def choose_none(text: str, options: MethodOptions) -> Chosen:
    """Return plain inference, which can be told nothing.

    Raises:
        SettingError: it was told something.
    """
    del options
    if text:
        raise SettingError(f"'none' adapts nothing, so {'none:' + text!r} says too much; write 'none'")
    return Chosen(label="none", settings=lambda _: {}, build=lambda subject: subject.predictor(subject.model))


def choose_lean(text: str, options: MethodOptions) -> Chosen:
    """Return LeanTTA with what follows its name: layers, a gate, fields of the gate, `memory`.

    >>> choose_lean("all:calibrated:floor=0.05", MethodOptions()).label
    'leantta:all:calibrated:floor=0.05'

    Raises:
        SettingError: a word means nothing here.
    """
    words = text.split(":") if text else []
    told = options
    said = []
    for place, word in enumerate(words):
        if word in ("paper", "calibrated"):
            told = replace(told, gate=gate_of(word))  # type: ignore[arg-type]
        elif word == "memory":
            told = replace(told, memory=told.memory or StreamMemory())
        elif "=" in word:
            told = _with_field(told, word)
        elif place == 0:
            told = replace(told, layers=parse_selector(word))
            continue
        else:
            raise SettingError(
                f"leantta cannot be told {word!r}: write leantta:LAYERS, then paper or calibrated, "
                f"field=value of the gate, memory; for example leantta:half:calibrated:floor=0.1"
            )
        said.append(word)
    label = ":".join(["leantta", _short(told.layers), *said])
    return Chosen(
        label=label, settings=lambda _: _settings(told), build=lambda subject: _build(subject, told)
    )


def _with_field(options: MethodOptions, word: str) -> MethodOptions:
    key, _, value = word.partition("=")
    known = [field.name for field in (*fields(options.gate), *fields(options.memory or StreamMemory()))]
    if key not in known:
        raise SettingError(f"leantta has no {key!r} with this gate; it can be told {', '.join(known)}")
    try:
        number = float(value)
    except ValueError as e:
        raise SettingError(f"leantta: {key} is a number, got {value!r}") from e
    if hasattr(options.gate, key):
        gate: Gate = replace(options.gate, **{key: number})  # type: ignore[arg-type]
        if isinstance(gate, CalibratedGate) and key != "budget":
            gate = replace(gate, budget=None)  # as it is asked for
        return replace(options, gate=gate)
    return replace(options, memory=replace(options.memory or StreamMemory(), **{key: number}))


def _settings(options: MethodOptions) -> dict[str, object]:
    layers = options.layers
    return {
        "layers": layers if isinstance(layers, str | int | float) else list(layers),
        "gate": type(options.gate).__name__,
        **{key: value for key, value in asdict(options.gate).items() if value is not None},
        "mixture_variance": options.mixture_variance,
        **({} if options.memory is None else {"memory": asdict(options.memory)}),
    }


def _build(subject: Subject, options: MethodOptions) -> Predictor:
    with torch.no_grad():
        lean = adapt(
            subject.model,
            subject.example,
            options.layers,
            gate=options.gate,
            calibration=_source_images(subject) if isinstance(options.gate, CalibratedGate) else None,
            mixture_variance=options.mixture_variance,
            memory=options.memory,
        )
    if options.memory is None:
        return subject.predictor(lean)
    return StreamPredictor(lean, mean=subject.mean, std=subject.std)


def _source_images(subject: Subject) -> Tensor:
    try:
        return subject.calibration()
    except LeanTTAError as e:
        raise DataError(
            f"the calibrated gate needs training images: {e} --gate paper (leantta:half:paper) needs none"
        ) from e


def _short(selector: Selector) -> str:
    return str(selector) if isinstance(selector, str | int | float) else ",".join(selector)
