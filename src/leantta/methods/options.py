"""What LeanTTA may be told."""

from dataclasses import dataclass

from leantta.gates import DEFAULT_GATE, Gate
from leantta.memory import StreamMemory
from leantta.surgery.select import DEFAULT_LAYERS, Selector


@dataclass(frozen=True, kw_only=True)
class MethodOptions:
    """The settings of LeanTTA where a method's text does not give them; baselines bring their own."""

    layers: Selector = DEFAULT_LAYERS
    gate: Gate = DEFAULT_GATE
    mixture_variance: bool = False
    memory: StreamMemory | None = None
