"""What is asked for: which layers adapt, by which gate, and what they remember.

A selector says which layers:

| selector | meaning |
|---|---|
| `"all"`, `"none"`, `"half"` | all of them, none, the first n // 2 in execution order |
| `"sixteen"` | of that half sixteen, evenly apart; all of it if it has no more |
| `"ends"` | that half and the last four layers |
| `"default"` | what suits the gate: `"ends"` for the shift filter, which chooses among them, else `"half"` |
| `8` | the first eight |
| `0.4` | the first 40 %, rounded down |
| `["layer1.*", "bn1"]` | names or globs |

`most_shifted` makes a list of names from measurements.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from leantta.errors import NoLayerMatchedError, SettingError
from leantta.gates.filter import LAST
from leantta.gates.gate import Gate
from leantta.gates.table import DEFAULT_GATE
from leantta.memory import StreamMemory

Selector = str | int | float | Sequence[str]

DEFAULT_LAYERS = "default"


@dataclass(frozen=True, kw_only=True)
class Adaptation:
    """Which layers adapt, and how. A `Plan` carries it, so that planning and applying agree.

    >>> Adaptation(layers="half").gate
    FilterGate(shrink=1.0, rank=16, budget=0.005, most_layers=None, seed=0)
    """

    layers: Selector = DEFAULT_LAYERS
    gate: Gate = DEFAULT_GATE
    mixture_variance: bool = False  # adds the variance between source and sample to the blend
    adapt_vectors: bool = False  # samples with one position per channel move the mean, too
    memory: StreamMemory | None = None  # remember the inputs before; without, a call leaves no trace

    def __post_init__(self) -> None:
        """Let the gate say which layers are usual; refuse a memory that it cannot use."""
        if self.layers == DEFAULT_LAYERS:
            object.__setattr__(self, "layers", self.gate.layers)
        if self.memory is not None and not self.gate.remembers:
            raise SettingError(
                f'the {self.gate.name} gate remembers nothing. The shift filter does: gate="filter"'
            )


def select(selector: Selector, layers: Sequence[str]) -> list[str]:
    """Return the layers that the selector means; `layers` are in execution order.

    Raises:
        NoLayerMatchedError: a name or glob matches nothing.
        SettingError: a number out of range.

    >>> select("half", ["bn1", "layer1.bn1", "layer1.bn2"])
    ['bn1']
    >>> select("ends", [f"bn{i}" for i in range(10)])
    ['bn0', 'bn1', 'bn2', 'bn3', 'bn4', 'bn6', 'bn7', 'bn8', 'bn9']
    >>> select("sixteen", [f"bn{i}" for i in range(64)])[:5]
    ['bn0', 'bn2', 'bn4', 'bn6', 'bn8']
    >>> select(["layer1.*"], ["bn1", "layer1.bn1", "layer1.bn2"])
    ['layer1.bn1', 'layer1.bn2']
    """
    if isinstance(selector, bool):
        raise SettingError(f"a selector is a word, a number or names, got {selector!r}")
    if isinstance(selector, int):
        if not 0 <= selector <= len(layers):
            raise SettingError(
                f"the first {selector} layers were asked for; the model has {len(layers)} that can adapt"
            )
        return list(layers[:selector])
    if isinstance(selector, float):
        if not 0 <= selector <= 1:
            raise SettingError(f"a fraction of the layers must lie in [0, 1], got {selector}")
        return list(layers[: int(selector * len(layers) + 1e-9)])  # 0.29 * 100 is 28.99...
    half = layers[: len(layers) // 2]
    words = {"all": layers, "none": (), "half": half, "sixteen": _evenly(half, 16), "ends": _ends(layers)}
    if isinstance(selector, str) and selector in words:
        if selector != "none" and not words[selector]:
            raise NoLayerMatchedError(
                f"{selector!r} of {len(layers)} layer(s) is none at all; say 'all' or 'none'"
            )
        return list(words[selector])
    if isinstance(selector, str):
        selector = [selector]
    for pattern in selector:
        if not any(fnmatchcase(name, pattern) for name in layers):
            example = f", e.g. {layers[0]!r}" if layers else ""
            raise NoLayerMatchedError(
                f"no BatchNorm layer that can adapt matches {pattern!r}; there are {len(layers)}{example}. "
                "`leantta inspect MODEL` lists them."
            )
    return [name for name in layers if any(fnmatchcase(name, pattern) for pattern in selector)]


def _ends(layers: Sequence[str]) -> Sequence[str]:
    """Return the first half and the last four layers."""
    half = len(layers) // 2
    return [*layers[:half], *layers[max(half, len(layers) - LAST) :]]


def _evenly(layers: Sequence[str], count: int) -> Sequence[str]:
    """Return so many of the layers, evenly apart and with both ends; all if there are no more."""
    if len(layers) <= count:
        return layers
    return [layers[round(place * (len(layers) - 1) / (count - 1))] for place in range(count)]


def parse_selector(text: str) -> Selector:
    """Return the selector a text means: a word, a number, a fraction, or names and globs with commas.

    >>> parse_selector("8"), parse_selector("0.4"), parse_selector("half"), parse_selector("bn1,layer1.*")
    (8, 0.4, 'half', ['bn1', 'layer1.*'])
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise SettingError(
            "an empty selector names no layer; use all, none, half, ends, sixteen, a number, a fraction or "
            "names"
        )
    if len(parts) > 1:
        return parts
    if re.fullmatch(r"\d+", parts[0]):
        return int(parts[0])
    if re.fullmatch(r"\d*\.\d+|\d+\.", parts[0]):
        return float(parts[0])
    return parts[0]


def most_shifted(shifts: Mapping[str, float], count: int) -> list[str]:
    """Return the `count` layers with the largest measured shift (see `leantta.surgery.observe.shifts`).

    >>> most_shifted({"a": 1.1, "b": 7.0, "c": 3.0}, 2)
    ['b', 'c']
    """
    if not 0 < count <= len(shifts):
        raise SettingError(f"{count} most shifted layers were asked for; {len(shifts)} were measured")
    return sorted(shifts, key=lambda name: -shifts[name])[:count]
