"""What a checkpoint file holds, and which part of it a model is made of.

Training scripts put the weights of a model into a mapping of their own (`state_dict`, `model`, `ema`), and
often a word before every name (`module.`, `backbone.`, `_orig_mod.`). Both are found by comparing names and
shapes with those of the model, so no such word is known here.

Files that torch pickled (.pt, .pth) are read by its `weights_only` reader, which builds tensors and runs no
code of the file.
"""

import argparse
import re
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from leantta.errors import CheckpointError

Tensors = Mapping[str, Tensor]

_SCALAR = import_module("numpy._core.multiarray").scalar

_UNREADABLE = (
    *(UnpicklingError, RuntimeError, EOFError, ValueError, LookupError, AttributeError, TypeError),
    *(struct.error, AssertionError, ArithmeticError, MemoryError),
)
"""What torch's reader raises for damaged files; the second row is for lengths and names that lie."""

HARMLESS: list[Any] = [
    argparse.Namespace,
    *((_SCALAR, f"numpy.{core}.multiarray.scalar") for core in ("core", "_core")),  # its name before numpy 2
    np.dtype,
    *(type(np.dtype(kind)) for kind in (np.float64, np.float32, np.int64, np.int32, np.bool_)),
]
"""What training scripts write beside the weights: their options and figures. None of them runs code."""

SHOWN = 4


@dataclass(frozen=True)
class Part:
    """One mapping of names to tensors in a file."""

    place: str  # the names of the mappings around it, each with a point behind it
    tensors: Tensors


def read_parts(file: Path) -> list[Part]:
    """Return the mappings in a file, the outermost first; its first bytes tell the format, not its name.

    Raises:
        CheckpointError: the file cannot be read, or holds no tensors that have names.
    """
    try:
        with file.open("rb") as f:
            start = f.read(9)
        # A safetensors file is the length of its header in 8 bytes, then the header: a JSON object.
        if start[8:] != b"{" and start.startswith((b"PK", b"\x80")):
            parts = list(_parts(_unpickled(file), ""))
        else:
            return [Part("", safetensors.torch.load_file(file))]
    except (SafetensorError, OSError) as e:
        raise CheckpointError(
            f"{file} cannot be read as safetensors: {e}. "
            f"It may be cut short or of another format; copy it again."
        ) from e
    if not parts:
        raise CheckpointError(
            f"{file} holds no mapping of names to tensors. Save the model's state_dict() alone."
        )
    return parts


def fitting_part(file: Path, parts: list[Part], wanted: Tensors, prefix: str | None) -> Tensors:
    """Return the tensors that are the model's by the names that the model has for them.

    That is the mapping, and the prefix of its names, with the most tensors that fit in name and shape; of
    several alike the first. `prefix` says it instead, with or without the names of the mappings around it;
    its first words will do.

    Raises:
        CheckpointError: no name has that prefix.
    """
    if prefix is None:
        choices = [(part, own) for part in parts for own in _prefixes(part.tensors, wanted)]
    else:
        told = prefix if not prefix or prefix.endswith(".") else f"{prefix}."
        choices = _spelled(parts, told, wanted)
        if not choices:
            names = [f"{part.place}{name}" for part in parts for name in part.tensors]
            found = sorted({name.rpartition(".")[0] or name for name in names})
            raise CheckpointError(
                f"no tensor of {file} has a name that begins with {told!r}; there are "
                f"{', '.join(found[:SHOWN])}{', ...' if len(found) > SHOWN else ''}."
            )
    part, own = max(choices, key=lambda choice: _matches(choice[0], choice[1], wanted))
    return _without(part.tensors, own)


def _prefixes(tensors: Tensors, wanted: Tensors) -> list[str]:
    """Return what stands before names of the model in names of the file, the commonest first."""
    counts: Counter[str] = Counter({"": 0})
    for name in tensors:
        words = name.split(".")
        for place in range(len(words)):
            own = ".".join(words[place:])
            if own in wanted:
                counts[name.removesuffix(own)] += 1
    return [own for own, _ in counts.most_common()]


def _spelled(parts: list[Part], told: str, wanted: Tensors) -> list[tuple[Part, str]]:
    """Return the mappings in which names have the prefix that was told, each with its share of the prefix.

    The words that follow it in the file (`module.`) are part of it, told or not.
    """
    choices = [(part, told) for part in parts]
    choices += [(part, told.removeprefix(part.place)) for part in parts if told.startswith(part.place)]
    return [
        (part, f"{own}{more}")
        for part, own in choices
        if (rest := _without(part.tensors, own))
        for more in _prefixes(rest, wanted)
    ]


def _without(tensors: Tensors, prefix: str) -> Tensors:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _matches(part: Part, prefix: str, wanted: Tensors) -> tuple[int, int]:
    """Return how many names fit, those of the same shape first."""
    own = _without(part.tensors, prefix)
    shared = [name for name in wanted if name in own]
    return sum(own[name].shape == wanted[name].shape for name in shared), len(shared)


def _unpickled(file: Path) -> object:
    try:
        with torch.serialization.safe_globals(HARMLESS):
            return torch.load(file, map_location="cpu", weights_only=True)
    except _UNREADABLE as e:
        foreign = re.search(r"GLOBAL (\S+)", str(e))
        if foreign is not None:
            reason = f"it holds a {foreign[1]}, which could run code; only tensors are read"
        else:
            reason = str(e).splitlines()[0] if str(e) else type(e).__name__
        raise CheckpointError(
            f"{file} cannot be read as a pickle of tensors: {reason}. Save the model's state_dict()."
        ) from e


def _parts(content: object, place: str) -> Iterator[Part]:
    """Yield the mappings inside what a file holds that have tensors, the outermost first."""
    if not isinstance(content, Mapping):
        return
    tensors = {str(name): value for name, value in content.items() if isinstance(value, Tensor)}
    if tensors:
        yield Part(place, tensors)
    for name, value in content.items():
        yield from _parts(value, f"{place}{name}.")
