"""What a method may be told."""

from dataclasses import dataclass

from leantta.gates import Gate, PaperGate
from leantta.surgery.select import Selector


@dataclass(frozen=True, kw_only=True)
class MethodOptions:
    """What a method may be told; each uses what concerns it."""

    layers: Selector = "half"
    gate: Gate = PaperGate()
    mixture_variance: bool = False
