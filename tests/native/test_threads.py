"""Threads of ONNX Runtime inside a layer, and threads of Python around a session, change no byte."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from numpy.typing import DTypeLike

from leantta.runtime import kernel
from native.nodes import FLOATS, TYPED, Array, Layer, inputs_of, native

PATHS = kernel.paths()
BATCH = 3
CALLS = 12

pytestmark = pytest.mark.skipif(not PATHS, reason="this installation has no kernel: there was no compiler")
typed = pytest.mark.parametrize(("op", "dtype"), TYPED, ids=lambda value: getattr(value, "__name__", value))


def large(op: str, dtype: DTypeLike) -> Layer:
    """A layer that is worth more than one thread: native/normalize.cpp starts at 131,072 values."""
    return Layer(op, dtype, (24, 96, 80) if op in FLOATS else (96, 80, 24))


def joined(outputs: list[Array]) -> bytes:
    return b"".join(value.tobytes() for value in outputs)


@typed
def test_threads_of_onnx_runtime_change_no_byte(op: str, dtype: DTypeLike) -> None:
    layer = large(op, dtype)
    inputs = inputs_of(layer, BATCH)
    wanted = joined(native(layer.graph(), "scalar").run(None, inputs))
    for path in PATHS:
        for threads in (1, 2, 4):
            session = native(layer.graph(), path, threads=threads)
            assert joined(session.run(None, inputs)) == wanted


@pytest.mark.parametrize("op", ["CalibratedNorm", "QLinearAdaptiveNorm", "QLinearCalibratedNormAddHardSwish"])
def test_many_threads_may_share_a_session(op: str) -> None:
    layer = large(op, np.float32 if op in FLOATS else np.uint8)
    inputs = [inputs_of(layer, 1 + i % BATCH, seed=i) for i in range(CALLS)]
    for path in PATHS:
        run = partial(native(layer.graph(), path, threads=2).run, None)
        wanted = [joined(run(one)) for one in inputs]
        with ThreadPoolExecutor(4) as pool:
            for _ in range(3):
                assert list(map(joined, pool.map(run, inputs))) == wanted
    assert len(set(wanted)) == CALLS  # else a mix-up would not show
