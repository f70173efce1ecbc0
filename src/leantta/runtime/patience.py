"""How long ONNX Runtime may take to load a file: a file that means harm could keep it busy for hours.

`leantta.runtime.container` bounds what a file may hold before ONNX Runtime sees it. This is the second bound,
for what no count shows. ONNX Runtime stops when it is told to, between two steps of its work, from 1.21 on;
older ones cannot be told.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Any

from leantta.errors import ArtifactError

LOAD_SECONDS = 300.0
"""A thousand times what a usual file takes on a usual machine; slow boards need seconds."""


@contextmanager
def in_time(options: Any, path: str) -> Iterator[None]:
    """Let ONNX Runtime load the file at `path` with these options, but not for ever.

    Raises:
        ArtifactError: it took too long.
    """
    if not hasattr(options, "set_load_cancellation_flag"):
        yield
        return
    timer = Timer(LOAD_SECONDS, options.set_load_cancellation_flag, [True])
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception as e:
        if type(e).__name__ != "ModelLoadCanceled":
            raise
        raise ArtifactError(
            f"{path} was not loaded in {LOAD_SECONDS:g} seconds, which no model of ours takes. "
            f"Convert the model again, or take it from somebody you trust."
        ) from e
    finally:
        timer.cancel()
