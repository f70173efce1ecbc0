"""torch as an engine of the benchmark: it runs modules and methods that were saved a moment ago.

A fresh process imports this module to open such a file, so it imports nothing that torch does not need.
"""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from leantta.runtime.engines import Array, Port

TORCH_INT8: Mapping[str, str] = {"torch-x86": "x86", "torch-qnnpack": "qnnpack"}
"""Engines that run modules in int8, with torch's name of what computes them."""


class TorchModule:
    """A module in float32 or int8, as it is or compiled; as an `Engine`, it does not say what it takes."""

    native = False
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()

    def __init__(self, path: Path, engine: str, threads: int) -> None:
        self.int8 = TORCH_INT8.get(engine)
        self._choose_int8()  # what the packed weights are unpacked for
        torch.set_num_threads(threads)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # torch of its own quantized modules
            self.model: Any = torch.load(path, weights_only=False)
        if engine == "torch-compiled":
            self.model = torch.compile(self.model, dynamic=False)  # made anew for each batch size

    def run(self, images: Array) -> dict[str, Array]:
        """Return the scores."""
        self._choose_int8()  # rows of both kinds take turns, and it is global
        with torch.inference_mode():
            return {"scores": self.model(torch.from_numpy(images)).numpy()}

    def close(self) -> None:
        """Do nothing: the module goes with this object."""

    def _choose_int8(self) -> None:
        if self.int8 is not None:
            torch.backends.quantized.engine = self.int8


class TorchMethod(TorchModule):
    """A method of adaptation with its network; it meets inputs as it is evaluated."""

    def __init__(self, path: Path, engine: str, threads: int) -> None:
        super().__init__(path, engine, threads)
        self.model.reset()  # a file keeps no gradients, and those of some methods are windows on one vector

    def run(self, images: Array) -> dict[str, Array]:
        """Return the scores."""
        return {"scores": self.model.predict(images)}


def open_torch(path: Path, engine: str, threads: int) -> TorchModule:
    """Return the file, loaded for one of torch's engines."""
    return (TorchMethod if engine == "torch-method" else TorchModule)(path, engine, threads)
