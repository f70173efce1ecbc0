"""Whether this processor multiplies bfloat16 itself; where it imitates it, training is ten times slower."""

from pathlib import Path
from typing import Literal

from leantta.errors import SettingError

Precision = Literal["auto", "bf16", "fp32"]
FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}
"""What /proc/cpuinfo calls it: Intel and AMD the first two, ARM the last."""


def uses_bf16(precision: Precision, cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Return whether to compute in bfloat16; `auto` does so where the processor says that it can.

    >>> uses_bf16("fp32"), uses_bf16("bf16")
    (False, True)

    Raises:
        SettingError: there is no such precision.
    """
    if precision not in ("auto", "bf16", "fp32"):
        raise SettingError(f"no precision is called {precision!r}; there are auto, bf16 and fp32")
    if precision != "auto":
        return precision == "bf16"
    try:
        return not FLAGS.isdisjoint(cpuinfo.read_text().split())
    except OSError:  # no Linux: the safe choice
        return False
