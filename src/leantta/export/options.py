"""How a file is written."""

from dataclasses import dataclass
from typing import Literal

from leantta.errors import SettingError
from leantta.memory import StreamMemory
from leantta.quantize.observers import ObserverName, check_observer

Precision = Literal["int8", "fp32"]
InputKind = Literal["tensor", "image", "waveform"]


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """How the file is written."""

    precision: Precision = "int8"
    portable: bool = False  # operators of the ONNX standard only
    input: InputKind = "tensor"  # "image": uint8 (n, h, w, c); "waveform": (n, samples); the rest is inside
    observer: ObserverName = "auto"
    float_budget: float = (
        0.05  # int8: share of the multiply-adds that may stay in float32 where int8 is not near
    )
    memory: StreamMemory | None = None  # the file has a stream mode, if its gate remembers

    def __post_init__(self) -> None:
        """Refuse what does not exist."""
        for name, value, known in (
            ("precision", self.precision, ("int8", "fp32")),
            ("input", self.input, ("tensor", "image", "waveform")),
        ):
            if value not in known:
                raise SettingError(f"{name} must be one of {', '.join(known)}, got {value!r}")
        check_observer(self.observer)
        if not 0 <= self.float_budget <= 1:
            raise SettingError(f"a float budget is a share from 0 to 1, got {self.float_budget}")
