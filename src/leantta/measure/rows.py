"""The rows of the benchmark: a plain table from a name to how the row is made, and what it needs.

A new row is one entry: a summary, a function from the network to what is measured, and what it needs.
"""

import importlib.util
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING

from leantta.errors import SettingError
from leantta.extras import missing_extra
from leantta.measure.analytic import (
    Footprint,
    cotta_bytes,
    eata_bytes,
    fp32_bytes,
    int8_bytes,
    tent_bytes,
)
from leantta.measure.subjects import PLAIN, Subject

if TYPE_CHECKING:
    from leantta.measure.torch_network import Network

Lack = Callable[[], str | None]
"""Says why something is not available here; None if it is."""

Memory = Callable[[Footprint, int], int]
"""The paper's analytic figure in bytes, of a network and a batch size."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One thing to measure."""

    summary: str
    make: Callable[["Network"], Subject]
    adapts: str | None  # which layers: none, sixteen, half or all; None if it adapts another way
    series: str | None = None  # the bars of the plot that it belongs to
    memory: Memory
    lacks: Lack = lambda: None  # beyond torch, which makes the files of all rows

    def missing(self) -> str | None:
        """Return why the row is not available here; None if it is."""
        return _package("torch") or self.lacks()


def _package(name: str) -> str | None:
    if importlib.util.find_spec(name) is not None:
        return None
    return str(missing_extra(ModuleNotFoundError(name, name=name)))


def _compiler() -> str | None:
    return None if shutil.which("g++") or shutil.which("clang++") else "torch.compile needs a C++ compiler"


def _quantized(engine: str) -> str | None:
    import torch

    found = torch.backends.quantized.supported_engines
    return None if engine in found else f"this torch has no int8 engine {engine!r}, only {', '.join(found)}"


def _ours(network: "Network", layers: str, engine: str) -> Subject:
    return Subject(network.file(layers), engine)


def _ours_fp32(network: "Network") -> Subject:
    return Subject(network.file("none", precision="fp32"), "onnxruntime")


def _openvino(network: "Network", layers: str) -> Subject:
    return Subject(network.file(layers, portable=True), "openvino")


def _onnxruntime_int8(network: "Network") -> Subject:
    return Subject(network.onnxruntime_int8(), PLAIN)


def _torch_fp32(network: "Network", layers: str | None, engine: str = "torch") -> Subject:
    model = network.model if layers is None else network.adapted(layers)
    return Subject(network.saved(f"fp32-{layers or 'trained'}", model), engine)


def _torch_int8(network: "Network", layers: str, engine: str) -> Subject:
    from leantta.measure.torch_int8 import quantized

    model = quantized(network.adapted(layers), network.inputs, engine)
    return Subject(network.saved(f"int8-{engine}-{layers}", model), f"torch-{engine}")


def method_row(method: str, summary: str, memory: Memory, adapts: str | None = None) -> Row:
    """Return the row of a method of `leantta.methods.table` in torch float32, one step for each call."""
    return Row(summary=summary, make=partial(_method, method=method), adapts=adapts, memory=memory)


def _method(network: "Network", method: str) -> Subject:
    from leantta.measure.torch_method import with_method

    return Subject(
        network.saved(f"method-{re.sub('[:=]', '-', method)}", with_method(network, method)), "torch-method"
    )


STANDARD = "ours, standard operators"

_WORDS = {
    "none": "nothing adapts",
    "sixteen": "sixteen of the first half adapt",
    "half": "the first half adapts",
    "all": "every BatchNorm adapts",
}


def _native(layers: str) -> Row:
    return Row(
        summary=f"our int8 file, {_WORDS[layers]}",
        make=partial(_ours, layers=layers, engine="onnxruntime"),
        adapts=layers,
        series="ours",
        memory=int8_bytes,
    )


def _portable(layers: str) -> Row:
    return Row(
        summary=f"the same file without our kernel: standard operators, {_WORDS[layers]}",
        make=partial(_ours, layers=layers, engine="onnxruntime-portable"),
        adapts=layers,
        series=STANDARD,
        memory=int8_bytes,
    )


def _vino(layers: str) -> Row:
    return Row(
        summary=f"OpenVINO, our int8 file in the ONNX standard, {_WORDS[layers]}",
        make=partial(_openvino, layers=layers),
        adapts=layers,
        series="OpenVINO",
        memory=int8_bytes,
        lacks=partial(_package, "openvino"),
    )


def _paper(layers: str, engine: str) -> Row:
    return Row(
        summary=f"torch int8 with the paper's recipe, engine {engine}, {_WORDS[layers]}",
        make=partial(_torch_int8, layers=layers, engine=engine),
        adapts=layers,
        series=f"torch int8, {engine}",
        memory=int8_bytes,
        lacks=partial(_quantized, engine),
    )


ROWS: Mapping[str, Row] = {
    "ours-none": _native("none"),
    "ours-sixteen": replace(_native("sixteen"), series=None),  # the default; the plot has the paper's parts
    "ours-half": _native("half"),
    "ours-all": _native("all"),
    "ours-half-portable": _portable("half"),
    "ours-all-portable": _portable("all"),
    "ours-fp32": Row(
        summary="our float32 file, nothing adapts", make=_ours_fp32, adapts="none", memory=fp32_bytes
    ),
    "plain-none": Row(
        summary="our int8 file in plain onnxruntime, without leantta, nothing adapts",
        make=partial(_ours, layers="none", engine=PLAIN),
        adapts="none",
        series=STANDARD,
        memory=int8_bytes,
    ),
    "onnxruntime-int8": Row(
        summary="int8 by ONNX Runtime's own static quantizer (QDQ, per channel), nothing adapts",
        make=_onnxruntime_int8,
        adapts="none",
        memory=int8_bytes,
    ),
    "openvino-none": _vino("none"),
    "openvino-half": _vino("half"),
    "openvino-all": _vino("all"),
    "torch-fp32": Row(
        summary="torch float32, eager, the model as it was trained",
        make=partial(_torch_fp32, layers=None),
        adapts="none",
        memory=fp32_bytes,
    ),
    "torch-compiled": Row(
        summary="torch float32, torch.compile",
        make=partial(_torch_fp32, layers=None, engine="torch-compiled"),
        adapts="none",
        memory=fp32_bytes,
        lacks=_compiler,
    ),
    **{
        f"torch-fp32-{layers}": Row(
            summary=f"torch float32, eager, {_WORDS[layers]}",
            make=partial(_torch_fp32, layers=layers),
            adapts=layers,
            memory=fp32_bytes,
        )
        for layers in ("half", "all")
    },
    **{
        f"torch-{engine}-{layers}": _paper(layers, engine)
        for engine in ("x86", "qnnpack")
        for layers in ("none", "half", "all")
    },
    "torch-realistic-tta": method_row("realistic_tta:paper", "RealisticTTA, torch float32", fp32_bytes),
    "torch-tent": method_row("tent:paper", "Tent, torch float32", tent_bytes),
    "torch-eata": method_row("eata:paper", "EATA, torch float32", eata_bytes),
    "torch-cotta": method_row("cotta:paper", "CoTTA, torch float32, 32 views", cotta_bytes),
    "torch-cotta-4": method_row("cotta:paper:augmentations=4", "the same with 4 views", cotta_bytes),
}
"""Each row by its name; the first is what the others are compared with."""


def choose_rows(patterns: Sequence[str]) -> list[str]:
    """Return the rows whose names match, in the table's order.

    >>> choose_rows(["openvino-none", "ours-*-portable"])
    ['ours-half-portable', 'ours-all-portable', 'openvino-none']

    Raises:
        SettingError: a pattern matches no row.
    """
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in ROWS):
            raise SettingError(
                f"no row is called {pattern!r}; the rows are {', '.join(ROWS)}. `leantta bench --list` "
                "says what they are."
            )
    return [name for name in ROWS if any(fnmatchcase(name, pattern) for pattern in patterns)]
