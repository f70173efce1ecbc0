"""A method with its settings, ready to be put on a model."""

from collections.abc import Callable
from dataclasses import dataclass

from leantta.evaluate.predictor import Predictor
from leantta.methods.subject import Subject


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """What a text such as `leantta:all` or `eata:recommended` means."""

    label: str  # the name in records
    settings: Callable[[int], dict[str, object]]  # of the number of classes: what decides the predictions
    build: Callable[[Subject], Predictor]
