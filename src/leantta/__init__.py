"""Test-time adaptation for small CNNs: one input at a time, stateless, without gradients.

The names below are loaded when they are first used, so importing leantta costs nothing and never needs torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leantta.data.preprocess import Preprocessing as Preprocessing
    from leantta.data.sound_windows import read_sound_windows as read_sound_windows
    from leantta.disturbances.corruptions.apply import corrupt as corrupt
    from leantta.errors import LeanTTAError as LeanTTAError
    from leantta.export.convert import convert as convert
    from leantta.export.options import FileOptions as FileOptions
    from leantta.gates.calibrated import CalibratedGate as CalibratedGate
    from leantta.gates.gate import Gate as Gate
    from leantta.gates.paper import PaperGate as PaperGate
    from leantta.memory import StreamMemory as StreamMemory
    from leantta.models.opening import pretrained as pretrained
    from leantta.monitor.monitor import Event as Event
    from leantta.monitor.monitor import Monitor as Monitor
    from leantta.nn import AdaptiveNorm1d as AdaptiveNorm1d
    from leantta.nn import AdaptiveNorm2d as AdaptiveNorm2d
    from leantta.nn import AdaptiveNorm3d as AdaptiveNorm3d
    from leantta.nn import forget as forget
    from leantta.nn import watch as watch
    from leantta.runtime.inputs import fit_image as fit_image
    from leantta.runtime.inputs import hear as hear
    from leantta.runtime.session import Session as Session
    from leantta.runtime.session import load as load
    from leantta.surgery.adaptation import Adaptation as Adaptation
    from leantta.surgery.adaptation import most_shifted as most_shifted
    from leantta.surgery.apply import adapt as adapt
    from leantta.surgery.apply import apply as apply
    from leantta.surgery.apply import fit as fit
    from leantta.surgery.observe import observe as observe
    from leantta.surgery.observe import shifts as shifts
    from leantta.surgery.plan import plan as plan

__version__ = "0.2.0"

_PUBLIC = {
    "leantta.data.preprocess": ("Preprocessing",),
    "leantta.data.sound_windows": ("read_sound_windows",),
    "leantta.disturbances.corruptions.apply": ("corrupt",),
    "leantta.errors": ("LeanTTAError",),
    "leantta.export.convert": ("convert",),
    "leantta.export.options": ("FileOptions",),
    "leantta.gates.calibrated": ("CalibratedGate",),
    "leantta.gates.gate": ("Gate",),
    "leantta.gates.paper": ("PaperGate",),
    "leantta.memory": ("StreamMemory",),
    "leantta.models.opening": ("pretrained",),
    "leantta.monitor.monitor": ("Event", "Monitor"),
    "leantta.nn": ("AdaptiveNorm1d", "AdaptiveNorm2d", "AdaptiveNorm3d", "forget", "watch"),
    "leantta.runtime.inputs": ("fit_image", "hear"),
    "leantta.runtime.session": ("Session", "load"),
    "leantta.surgery.adaptation": ("Adaptation", "most_shifted"),
    "leantta.surgery.apply": ("adapt", "apply", "fit"),
    "leantta.surgery.observe": ("observe", "shifts"),
    "leantta.surgery.plan": ("plan",),
}
_HOMES = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    """Load a public name where it lives."""
    if name not in _HOMES:
        raise AttributeError(f"module 'leantta' has no attribute {name!r}")
    try:
        module = import_module(_HOMES[name])
    except ModuleNotFoundError as e:
        from leantta.extras import missing_extra

        raise missing_extra(e) from e
    return getattr(module, name)
