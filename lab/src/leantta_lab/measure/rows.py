"""The rows of the benchmark: a plain table from a name to how the row is made, and what it needs.

A new row is one entry: a summary, an engine, a function from the network to its file, and what it needs.
"""

import importlib.util
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from leantta.errors import SettingError
from leantta.extras import missing_extra
from leantta.measure.candidates import PLAIN, Candidate, open_file
from leantta_lab.measure.analytic import (
    Footprint,
    cotta_bytes,
    eata_bytes,
    fp32_bytes,
    int8_bytes,
    tent_bytes,
)

if TYPE_CHECKING:
    from leantta_lab.measure.network import Network

Lack = Callable[[], str | None]
"""Says why something is not available here; None if it is."""

Memory = Callable[[Footprint, int], int]
"""The paper's analytic figure in bytes, of a network and a batch size."""


@dataclass(frozen=True, kw_only=True)
class NetworkRow:
    """One thing to measure of a network."""

    summary: str
    engine: str
    file: Callable[["Network"], Path]
    adapts: str | None  # which layers: none, sixteen, half or all; None if it adapts another way
    series: str | None = None  # the bars of the plot that it belongs to
    memory: Memory
    lacks: Lack = lambda: None  # beyond torch, which makes the files of all rows

    def missing(self) -> str | None:
        """Return why the row is not available here; None if it is."""
        return _package("torch") or self.lacks()

    def on(self, name: str, network: "Network", batch: int = 1) -> Candidate:
        """Return the row of a network for the benchmark; the memory figure is that of the batch."""
        from leantta_lab.measure.torch_engines import open_torch

        is_torch = self.engine.startswith("torch")
        checked = self.adapts is not None and network.trained
        return Candidate(
            name=name,
            summary=self.summary,
            engine=self.engine,
            file=partial(self.file, network),
            inputs=lambda _, count: network.some(count),
            open=open_torch if is_torch else open_file,
            stays_open=is_torch,
            lacks=self.missing,
            adapts=self.adapts,
            series=self.series,
            analytic_bytes=self.memory(network.footprint, batch),
            check=(network.held_out, partial(network.decisions, self.adapts or "none")) if checked else None,
        )


def _package(name: str) -> str | None:
    if importlib.util.find_spec(name) is not None:
        return None
    return str(missing_extra(ModuleNotFoundError(name, name=name)))


def _compiler() -> str | None:
    return None if shutil.which("g++") or shutil.which("clang++") else "torch.compile needs a C++ compiler"


def _int8_engine(engine: str) -> str | None:
    import torch

    known = torch.backends.quantized.supported_engines
    return None if engine in known else f"this torch has no int8 engine {engine!r}, only {', '.join(known)}"


_WORDS = {
    "none": "nothing adapts",
    "sixteen": "sixteen of the first half adapt",
    "half": "the first half adapts",
    "all": "every BatchNorm adapts",
}
PARTS = ("none", "half", "all")
"""What the paper compares; sixteen layers, a choice of ours, have no bar in its plot."""

STANDARD = "ours, standard operators"


def _ours(what: str, layers: str, engine: str, series: str | None, lacks: Lack = lambda: None) -> NetworkRow:
    """Return the row of our int8 file on an engine; OpenVINO takes it in the ONNX standard."""
    return NetworkRow(
        summary=f"{what}, {_WORDS[layers]}",
        engine=engine,
        file=lambda network: network.file(layers, portable=engine == "openvino"),
        adapts=layers,
        series=series,
        memory=int8_bytes,
        lacks=lacks,
    )


def _torch_fp32(
    layers: str | None, words: str, engine: str = "torch", lacks: Lack = lambda: None
) -> NetworkRow:
    def file(network: "Network") -> Path:
        model = network.model if layers is None else network.adapted(layers)
        return network.saved(f"fp32-{layers or 'trained'}", model)

    return NetworkRow(
        summary=f"torch float32, {words}",
        engine=engine,
        file=file,
        adapts=layers or "none",
        memory=fp32_bytes,
        lacks=lacks,
    )


def _torch_int8(layers: str, engine: str) -> NetworkRow:
    def file(network: "Network") -> Path:
        from leantta_lab.measure.torch_int8 import quantized

        model = quantized(network.adapted(layers), network.inputs, engine)
        return network.saved(f"int8-{engine}-{layers}", model)

    return NetworkRow(
        summary=f"torch int8 with the paper's recipe, engine {engine}, {_WORDS[layers]}",
        engine=f"torch-{engine}",
        file=file,
        adapts=layers,
        series=f"torch int8, {engine}",
        memory=int8_bytes,
        lacks=partial(_int8_engine, engine),
    )


def method_row(method: str, summary: str, memory: Memory, adapts: str | None = None) -> NetworkRow:
    """Return the row of a method of `leantta.methods.parse` in torch float32, one step for each call."""

    def file(network: "Network") -> Path:
        from leantta_lab.measure.torch_method import with_method

        return network.saved(f"method-{re.sub('[:=]', '-', method)}", with_method(network, method))

    return NetworkRow(summary=summary, engine="torch-method", file=file, adapts=adapts, memory=memory)


ROWS: Mapping[str, NetworkRow] = {
    **{
        f"ours-{layers}": _ours("our int8 file", layers, "onnxruntime", series)
        for layers, series in {"none": "ours", "sixteen": None, "half": "ours", "all": "ours"}.items()
    },
    **{
        f"ours-{layers}-portable": _ours(
            "the same file without our kernel: standard operators", layers, "onnxruntime-portable", STANDARD
        )
        for layers in ("half", "all")
    },
    "ours-fp32": NetworkRow(
        summary="our float32 file, nothing adapts",
        engine="onnxruntime",
        file=lambda network: network.file("none", precision="fp32"),
        adapts="none",
        memory=fp32_bytes,
    ),
    "plain-none": _ours("our int8 file in plain onnxruntime, without leantta", "none", PLAIN, STANDARD),
    "onnxruntime-int8": NetworkRow(
        summary="int8 by ONNX Runtime's own static quantizer (QDQ, per channel), nothing adapts",
        engine=PLAIN,
        file=lambda network: network.onnxruntime_int8(),
        adapts="none",
        memory=int8_bytes,
    ),
    **{
        f"openvino-{layers}": _ours(
            "OpenVINO, our int8 file in the ONNX standard",
            layers,
            "openvino",
            "OpenVINO",
            partial(_package, "openvino"),
        )
        for layers in PARTS
    },
    "torch-fp32": _torch_fp32(None, "eager, the model as it was trained"),
    "torch-compiled": _torch_fp32(None, "torch.compile", "torch-compiled", _compiler),
    **{f"torch-fp32-{layers}": _torch_fp32(layers, f"eager, {_WORDS[layers]}") for layers in ("half", "all")},
    **{
        f"torch-{engine}-{layers}": _torch_int8(layers, engine)
        for engine in ("x86", "qnnpack")
        for layers in PARTS
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
