"""The table of methods: a name in, a predictor out.

A method is written `name` or `name:layers`: `none`, `leantta`, `leantta:all`, `leantta:8`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn

from leantta.errors import SettingError
from leantta.evaluate.predictor import Predictor
from leantta.gates import PaperGate
from leantta.methods.options import MethodOptions
from leantta.methods.torch_predictor import TorchPredictor
from leantta.surgery.apply import adapt
from leantta.surgery.select import Selector, parse_selector


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What a method is put on: a model, an input it runs on, its normalisation, perhaps source images."""

    model: nn.Module
    example: Tensor
    mean: Sequence[float]
    std: Sequence[float]
    calibration: Tensor | None = None  # normalised, as the model takes them


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method by name."""

    summary: str
    build: Callable[[Subject, MethodOptions], Predictor]
    takes_layers: bool


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """A method with its options, and the name it goes by in records."""

    label: str
    method: Method
    options: MethodOptions

    def settings(self) -> dict[str, object]:
        """Return what decides its predictions, as plain values for a record."""
        if not self.method.takes_layers:
            return {}
        layers = self.options.layers
        return {
            "layers": layers if isinstance(layers, str | int | float) else list(layers),
            "gate": type(self.options.gate).__name__,
            **asdict(self.options.gate),
            "mixture_variance": self.options.mixture_variance,
        }


def choose(text: str, options: MethodOptions) -> Chosen:
    """Return the method that a text such as `leantta:all` names; what follows the colon overrides the layers.

    >>> choose("leantta:all", MethodOptions()).options.layers
    'all'
    """
    name, colon, layers = text.partition(":")
    if name not in METHODS:
        raise SettingError(f"no method is called {name!r}; the methods are {', '.join(METHODS)}")
    method = METHODS[name]
    if colon and not method.takes_layers:
        raise SettingError(f"{name!r} adapts no layers, so {text!r} says too much; write {name!r}")
    selector = parse_selector(layers) if colon else options.layers
    chosen = MethodOptions(layers=selector, gate=options.gate, mixture_variance=options.mixture_variance)
    label = f"{name}:{_short(selector)}" if method.takes_layers else name
    return Chosen(label=label, method=method, options=chosen)


def _short(selector: Selector) -> str:
    return str(selector) if isinstance(selector, str | int | float) else ",".join(selector)


def _none(subject: Subject, options: MethodOptions) -> Predictor:
    del options  # it has none
    return TorchPredictor(subject.model, mean=subject.mean, std=subject.std)


def _leantta(subject: Subject, options: MethodOptions) -> Predictor:
    needs_images = not isinstance(options.gate, PaperGate)
    with torch.no_grad():
        lean = adapt(
            subject.model,
            subject.example,
            options.layers,
            gate=options.gate,
            calibration=subject.calibration if needs_images else None,
            mixture_variance=options.mixture_variance,
        )
    return TorchPredictor(lean, mean=subject.mean, std=subject.std)


METHODS: Mapping[str, Method] = {
    "none": Method(summary="the model as it was trained", build=_none, takes_layers=False),
    "leantta": Method(
        summary="each input adapts the selected BatchNorms, the rest is fused",
        build=_leantta,
        takes_layers=True,
    ),
}
