"""What a model puts out: arrays by name, and what each of them is for.

A model may return one tensor, or a tuple, list, dict, dataclass or any nesting of these. Names say where a
tensor stands: keys and positions, joined by a dot; what stands in an outer tuple is called `out0`, `out1`.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

Role = Literal["classes", "map", "array"]

LOGITS, OUTPUT = "logits", "output"
"""What the only output of a model is called: scores (n, classes), or anything else."""

RESERVED = ("input", "memory", "memory_next", "distance", "shift", "mahalanobis")
"""Names that a file has for itself."""

MOST_PLACES = 256
"""Pixels of a map that stand for all of them where a model is judged."""


class Head(NamedTuple):
    """One output of a model."""

    name: str
    shape: tuple[int, ...]  # without the batch
    role: Role

    @property
    def scores(self) -> int:
        """How many scores a decision is made of: 1 answers yes or no, above 0 means yes; 0: none is made."""
        return 0 if self.role == "array" else self.shape[0]


def role_of(shape: Sequence[int], given: Sequence[int]) -> Role:
    """Return what an output of a shape is for, by the shape of the input; both without the batch.

    Scores (k,) decide for an input, and scores (k, h, w) for each pixel if h and w are those of the input.

    >>> role_of((10,), (3, 96, 96)), role_of((11, 96, 96), (3, 96, 96)), role_of((11, 12, 12), (3, 96, 96))
    ('classes', 'map', 'array')
    """
    if len(shape) == 1:
        return "classes"
    is_map = len(shape) == len(given) == 3 and tuple(shape[1:]) == tuple(given[1:])
    return "map" if is_map else "array"


def deciding(heads: Sequence[Head]) -> Head | None:
    """Return the first output that decides something; None if there is none."""
    return next((head for head in heads if head.scores), None)


def named(output: object) -> dict[str, Any]:
    """Return the tensors of an output by name, in the order in which they stand in it; None is left out.

    >>> import numpy
    >>> x = numpy.zeros((2, 3))
    >>> list(named({"boxes": [x, x], "scores": x})), list(named((x, {"a": x}))), list(named(x))
    (['boxes.0', 'boxes.1', 'scores'], ['out0', 'out1.a'], ['logits'])

    Raises:
        TypeError: something in it is no tensor, or there is none; the message says where.
    """
    if _is_tensor(output):
        return {LOGITS if len(output.shape) == 2 else OUTPUT: output}  # type: ignore[attr-defined] # it has one
    is_row = not isinstance(output, Mapping) and not _fields(output)
    tensors: dict[str, Any] = {}
    for path, tensor in _leaves(output, ()):
        if is_row:
            path = (f"out{path[0]}", *path[1:])
        name = re.sub(r"[^\w.\-]", "_", ".".join(path))
        while name in RESERVED or name in tensors or "/" in name:
            name = f"out.{name}"
        tensors[name] = tensor
    if not tensors:
        raise TypeError("nothing that is a tensor")
    return tensors


def _leaves(value: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if value is None:
        return
    if _is_tensor(value):
        yield path, value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _leaves(each, (*path, str(key)))
    elif fields := _fields(value):
        for key in fields:
            yield from _leaves(getattr(value, key), (*path, key))
    elif isinstance(value, tuple | list):
        for place, each in enumerate(value):
            yield from _leaves(each, (*path, str(place)))
    else:
        where = f" as {'.'.join(path)!r}" if path else ""
        raise TypeError(f"{type(value).__name__}{where}")


def _fields(value: object) -> tuple[str, ...]:
    """Return the names of the parts of a dataclass or named tuple; none of anything else."""
    if dataclasses.is_dataclass(value):
        return tuple(each.name for each in dataclasses.fields(value))
    return tuple(getattr(value, "_fields", ())) if isinstance(value, tuple) else ()


def _is_tensor(value: object) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def sampled(height: int, width: int) -> tuple[slice, slice]:
    """Return the rows and columns of a map that stand for all, in even steps and about `MOST_PLACES`.

    >>> sampled(96, 96)
    (slice(3, None, 6), slice(3, None, 6))
    """
    step = max(1, round((height * width / MOST_PLACES) ** 0.5))
    return slice(min(step // 2, height - 1), None, step), slice(min(step // 2, width - 1), None, step)
