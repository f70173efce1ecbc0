"""The native kernel: where its library is, and whether a session can have it.

A file carries the adaptive layers as functions in standard operators. A session that knows operators of the
same names runs those instead: that is all the library does, so without it only the speed is another one.
"""

import functools
import logging
from pathlib import Path
from typing import Any

LIBRARY = "libleantta_kernel"
LIBRARIES = Path(__file__).parents[1] / "lib"

logger = logging.getLogger(__name__)


def library() -> Path | None:
    """Return the compiled library of this installation, None if there is none."""
    libraries = sorted(LIBRARIES.glob(f"{LIBRARY}.*"))
    return libraries[0] if libraries else None


def register(options: Any) -> bool:
    """Give the kernel to the sessions of these options; tell whether they have it."""
    path = library()
    if path is None:
        say_once("this installation has none: there was no C++ compiler. Install g++ and leantta again")
        return False
    try:
        options.register_custom_ops_library(str(path))
    except Exception as e:  # noqa: BLE001  ONNX Runtime's errors have no common base; the file runs all the same
        say_once(" ".join(str(e).split()))
        return False
    return True


@functools.cache
def say_once(reason: str) -> None:
    """Log, the first time it is so, why adaptive layers run without the kernel."""
    logger.warning(
        "leantta runs without its native kernel, with the same results but more slowly: %s.",
        reason.rstrip("."),
    )


def describe() -> str:
    """Return what computes adaptive layers here, such as "native (avx2)".

    >>> describe().split()[0] in ("native", "portable")
    True
    """
    path = library()
    if path is None:
        return "portable (no compiled library)"
    try:
        chosen = _text(path, "leantta_path")
    except (OSError, AttributeError) as e:
        return f"portable ({e})"
    return f"native ({chosen})" if chosen else "portable (this processor has no path called LEANTTA_PATH)"


def paths() -> tuple[str, ...]:
    """Return the ways to compute that this processor has, the best first; LEANTTA_PATH chooses one."""
    path = library()
    try:
        return tuple(_text(path, "leantta_paths").split(",")) if path else ()
    except (OSError, AttributeError):
        return ()


def _text(path: Path, function: str) -> str:
    import ctypes  # only for those who ask: loading it takes memory

    call = getattr(ctypes.CDLL(str(path)), function)
    call.restype = ctypes.c_char_p
    return str(call().decode())
