"""Test-time adaptation for small CNNs: one input at a time, stateless, without gradients.

The names below are loaded when they are first used, so importing leantta costs nothing and never needs torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leantta.data.corruptions.apply import corrupt
    from leantta.errors import LeanTTAError
    from leantta.export.convert import FileOptions, convert
    from leantta.gates import CalibratedGate, PaperGate
    from leantta.models.pretrained import pretrained
    from leantta.nn import AdaptiveNorm1d, AdaptiveNorm2d, AdaptiveNorm3d, watch
    from leantta.runtime.session import Session, load
    from leantta.surgery.apply import adapt, apply
    from leantta.surgery.observe import observe
    from leantta.surgery.plan import plan

__version__ = "0.1.0"

__all__ = [
    "AdaptiveNorm1d",
    "AdaptiveNorm2d",
    "AdaptiveNorm3d",
    "CalibratedGate",
    "FileOptions",
    "LeanTTAError",
    "PaperGate",
    "Session",
    "adapt",
    "apply",
    "convert",
    "corrupt",
    "load",
    "observe",
    "plan",
    "pretrained",
    "watch",
]

_HOMES = {
    "AdaptiveNorm1d": "leantta.nn",
    "AdaptiveNorm2d": "leantta.nn",
    "AdaptiveNorm3d": "leantta.nn",
    "CalibratedGate": "leantta.gates",
    "FileOptions": "leantta.export.convert",
    "LeanTTAError": "leantta.errors",
    "PaperGate": "leantta.gates",
    "Session": "leantta.runtime.session",
    "adapt": "leantta.surgery.apply",
    "apply": "leantta.surgery.apply",
    "convert": "leantta.export.convert",
    "corrupt": "leantta.data.corruptions.apply",
    "load": "leantta.runtime.session",
    "observe": "leantta.surgery.observe",
    "plan": "leantta.surgery.plan",
    "pretrained": "leantta.models.pretrained",
    "watch": "leantta.nn",
}


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
