"""Memory that stays with the process when torch frees it.

A training step takes and frees hundreds of megabytes. glibc hands such pieces back to the system, which
clears every page anew for the next step: up to 40 % of a step's time.
"""

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as in glibc's malloc.h
_MOST = 1 << 30


def keep_freed_memory() -> bool:
    """Let the process keep pieces of up to a gigabyte; return whether its C library can be told to."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # musl, macOS, Windows
        return False
    return bool(mallopt(_MMAP_THRESHOLD, _MOST) and mallopt(_TRIM_THRESHOLD, _MOST))
