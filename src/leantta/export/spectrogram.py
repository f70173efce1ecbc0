"""The log-mel features inside a graph: waves (n, samples) in, features (n, 1, frames, 64) to the first layer.

`data/logmel.py` has the formulas. Here the DFT of N = 2048 samples is two matrix products, which every engine
has. With sample 32 a + b of a window (a < 64, b < 32) and line k = c + 64 d:

    X[k] = sum_b e^(-2 pi i b c / N) e^(-2 pi i b d / 32) sum_a e^(-2 pi i a c / 64) x[32 a + b]

The inner sum is the first product. The rest is the second, a matrix for every c. The wave is real, so c from
0 to 32 gives every line or its conjugate, whose magnitude is the same. Up to the magnitudes it is computed in
float64, for the reason that `data/logmel.py` gives; OpenVINO takes float32 instead. The wave's largest value
divides the bands, as they are fewer than the samples.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from leantta.data.logmel import BANDS, FLOOR, HOP, WINDOW, clip_samples, mel_filters, unit_window
from leantta.errors import SettingError
from leantta.export.trace import INPUT
from leantta.graph.ir import BATCH, Array, Graph, Node, Tensor

FEATURES = "sound/features"

_OUTER, _INNER = 64, 32  # a and c count to the first, b and d to the second
_SHARES = _OUTER // 2 + 1  # values of c
_STEP = 16  # divides window, hop and clip, so that windows are rows of steps
_QUIETEST = 1e-30  # so that silence is not divided by zero

Exact = npt.NDArray[np.float64]


def with_spectrogram(graph: Graph) -> Graph:
    """Return the graph with waves at 32 kHz as its input instead of log-mel features.

    Raises:
        SettingError: the graph takes no log-mel features.
    """
    wanted = graph.tensors[INPUT].shape
    if wanted is None or len(wanted) != 4 or wanted[1::2] != (1, BANDS) or not isinstance(wanted[2], int):
        raise SettingError(
            f"a model that takes sound has inputs of shape (1, frames, {BANDS}); this takes {wanted}. "
            f"Convert it with --input tensor."
        )
    frames = wanted[2]
    rest = [
        replace(n, inputs=tuple(FEATURES if name == INPUT else name for name in n.inputs))
        for n in graph.nodes
    ]
    real = np.dtype(np.float32)
    tensors = {
        **graph.tensors,
        INPUT: Tensor(real, (BATCH, clip_samples(frames))),
        FEATURES: Tensor(real, wanted),
    }
    constants = {**graph.constants, **_constants(frames)}
    return Graph((*_nodes(), *rest), constants, tensors, graph.inputs, graph.outputs)


def _nodes() -> list[Node]:
    """Return the operators, with the shape that each makes of n waves and F frames."""
    rows: list[tuple[str, tuple[str, ...], str, dict[str, Any]]] = [
        ("Reshape", ("input", "by_step"), "steps", {}),  # (n, samples / 16, 16)
        ("Gather", ("steps", "places"), "gathered", {"axis": 1}),  # (n, F * 128, 16)
        ("Reshape", ("gathered", "by_window"), "windows", {}),  # (n, F, 64, 32)
        ("Cast", ("windows",), "exact", {"to": 11}),  # float64
        ("Mul", ("exact", "hamming"), "weighted", {}),
        ("MatMul", ("outer", "weighted"), "first", {}),  # (n, F, 66, 32): real parts, then imaginary ones
        ("Reshape", ("first", "by_share"), "shares", {}),  # (n, F, 2, 33, 32)
        ("Transpose", ("shares",), "turned", {"perm": [0, 3, 1, 2, 4]}),  # (n, 33, F, 2, 32)
        ("Reshape", ("turned", "by_row"), "rows", {}),  # (n, 33, F, 64)
        ("MatMul", ("rows", "inner"), "second", {}),  # (n, 33, F, 64)
        ("Mul", ("second", "second"), "squares", {}),
        ("Reshape", ("squares", "by_part"), "parts", {}),  # (n, 33, F, 2, 32)
        ("ReduceSum", ("parts", "part_axis"), "power", {"keepdims": 0}),  # (n, 33, F, 32)
        ("Cast", ("power",), "narrow", {"to": 1}),  # float32
        ("Sqrt", ("narrow",), "magnitude", {}),
        ("Transpose", ("magnitude",), "by_frame", {"perm": [0, 2, 1, 3]}),  # (n, F, 33, 32)
        ("Reshape", ("by_frame", "by_line"), "spectrum", {}),  # (n, 1, F, 1056)
        ("MatMul", ("spectrum", "filters"), "bands", {}),  # (n, 1, F, 64)
        ("Abs", ("input",), "size", {}),
        ("ReduceMax", ("size", "sample_axis"), "largest", {"keepdims": 1}),  # (n, 1)
        ("Max", ("largest", "quietest"), "peak", {}),
        ("Reshape", ("peak", "by_wave"), "level", {}),  # (n, 1, 1, 1)
        ("Div", ("bands", "level"), "levelled", {}),
        ("Add", ("levelled", "floor"), "positive", {}),
        ("Log", ("positive",), "features", {}),
    ]
    return [
        Node(op, tuple(map(_named, inputs)), (_named(output),), attributes, _named(output))
        for op, inputs, output, attributes in rows
    ]


def _named(name: str) -> str:
    return INPUT if name == "input" else f"sound/{name}"


def _constants(frames: int) -> dict[str, Array]:
    starts = np.arange(frames)[:, np.newaxis] * (HOP // _STEP)
    values: dict[str, Array] = {
        "by_step": np.array([-1, clip_samples(frames) // _STEP, _STEP]),
        "places": (starts + np.arange(WINDOW // _STEP)).reshape(-1),
        "by_window": np.array([-1, frames, _OUTER, _INNER]),
        "hamming": unit_window().reshape(_OUTER, _INNER),
        "outer": _outer_sums(),
        "by_share": np.array([-1, frames, 2, _SHARES, _INNER]),
        "by_row": np.array([-1, _SHARES, frames, 2 * _INNER]),
        "inner": _inner_sums(),
        "by_part": np.array([-1, _SHARES, frames, 2, _INNER]),
        "part_axis": np.array([3]),
        "by_line": np.array([-1, 1, frames, _SHARES * _INNER]),
        "filters": _filters().astype(np.float32),
        "sample_axis": np.array([1]),
        "quietest": np.array(_QUIETEST, np.float32),
        "by_wave": np.array([-1, 1, 1, 1]),
        "floor": np.array(FLOOR, np.float32),
    }
    return {_named(name): value for name, value in values.items()}


def _outer_sums() -> Exact:
    """The sum over a, for each c its real part and then for each c its imaginary part: (66, 64)."""
    angle = 2 * np.pi * np.outer(np.arange(_SHARES), np.arange(_OUTER)) / _OUTER
    return np.concatenate([np.cos(angle), -np.sin(angle)])


def _inner_sums() -> Exact:
    """The sum over b for each c, from real and imaginary parts to those of each d: (33, 64, 64)."""
    c, b, d = np.ogrid[:_SHARES, :_INNER, :_INNER]
    angle = 2 * np.pi * (b * c / WINDOW + b * d / _INNER)
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.concatenate(
        [np.concatenate([cosine, -sine], axis=2), np.concatenate([sine, cosine], axis=2)], axis=1
    )


def _filters() -> Exact:
    """The mel filters in the order in which the lines come, each line counted once: (33 * 32, 64)."""
    c, d = np.divmod(np.arange(_SHARES * _INNER), _INNER)
    line = c + _OUTER * d
    twice = ((c == 0) | (c == _OUTER // 2)) & (line > WINDOW // 2)  # its conjugate is there with the same c
    folded = mel_filters()[np.minimum(line, WINDOW - line)]
    return np.where(twice[:, np.newaxis], 0, folded)
