"""The network that rows are made from: its weights, inputs, files, and what it says in float32."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from leantta.data.datasets import model_inputs
from leantta.errors import MissingFileError, SettingError
from leantta.evaluate.predictor import decided
from leantta.export.convert import convert
from leantta.export.options import FileOptions, Precision
from leantta.files import sha256_of
from leantta.gates.calibrated import CalibratedGate
from leantta.methods.method import TorchPredictor
from leantta.modalities.datasets import dataset_info
from leantta.models.opening import open_model
from leantta.models.weights import load_weights
from leantta.surgery.apply import adapt
from leantta_lab.datasets.cifar import load_images
from leantta_lab.measure.analytic import footprint
from leantta_lab.models.checkpoints import find_weights
from leantta_lab.models.table import MODELS
from leantta_lab.samples import CIFAR10_SAMPLE

Floats = npt.NDArray[np.float32]

CALIBRATION, CHECKED = 128, 64
"""How many inputs the ranges are found on, and how many the rows' decisions are compared on."""

GATE = CalibratedGate(budget=None)
"""What adapting rows are timed with. Without a budget its ceiling is not fitted: no time depends on it."""

NOISE = 32
"""As many of either where they are noise, of which more would tell no more."""


class Network:
    """A model, inputs to it, and the files that are made from it when they are first asked for."""

    def __init__(
        self,
        name: str,
        weights: Path | None,
        shape: tuple[int, ...] | None,
        folder: Path,
    ) -> None:
        """Take a model by name or reference; without `weights` those found for it, or random ones.

        Raises:
            LeanTTAError: there is no such model or checkpoint, or no input shape is known.
        """
        torch.manual_seed(0)
        self.name, self.folder = name, folder
        self.model = open_model(name, untrained=True).module
        if shape is None and name not in MODELS:
            raise SettingError(f"what {name} takes is not known: say it with --shape C,H,W.")
        self.shape = MODELS[name].input_shape if shape is None else shape
        self.inputs, self.held_out, self.inputs_are = _inputs(self.shape)
        self.trained = True
        self.weights_are, self.weights_sha256 = self._load(weights)
        self.footprint = footprint(self.model, torch.from_numpy(self.inputs))
        self._adapted: dict[str, nn.Module] = {}
        self._decisions: dict[str, npt.NDArray[np.int64]] = {}
        self._files: set[Path] = set()  # of this run: the folder may have files of another one

    def _load(self, weights: Path | None) -> tuple[str, str | None]:
        """Give the model weights, and return what they are with their hash."""
        if weights is None and ":" in self.name:
            return f"as {self.name} returns them", None
        try:
            file = weights or find_weights(self.name, MODELS[self.name].trained_on)
        except MissingFileError:
            self.trained = False
            _tame_(self.model, torch.from_numpy(self.inputs))
            return "random (seed 0), as there is no checkpoint; times do not depend on them", None
        load_weights(self.model, file)
        return file.name, sha256_of(file)

    @property
    def about(self) -> dict[str, Any]:
        """What a record says of it."""
        return {
            "weights": self.weights_are,
            "weights_sha256": self.weights_sha256,
            "inputs": self.inputs_are,
            "parameters": self.footprint.parameters,
            "footprint": self.footprint._asdict(),
        }

    def some(self, count: int) -> Floats:
        """Return so many of the held-out inputs, from the first again after the last."""
        return np.ascontiguousarray(np.resize(self.held_out, (count, *self.shape)))

    def adapted(self, layers: str) -> nn.Module:
        """Return the model with these layers adapting and the others fused."""
        if layers not in self._adapted:
            inputs = torch.from_numpy(self.inputs)
            self._adapted[layers] = adapt(self.model, inputs[:2], layers, gate=GATE, calibration=inputs)
        return self._adapted[layers]

    def decisions(self, layers: str) -> npt.NDArray[np.int64]:
        """Return what torch decides in float32 on the held-out inputs with these layers adapting."""
        if layers not in self._decisions:
            model = self.model if layers == "none" else self.adapted(layers)
            with torch.inference_mode():
                self._decisions[layers] = decided(model(torch.from_numpy(self.held_out)).numpy())
        return self._decisions[layers]

    def file(self, layers: str, *, portable: bool = False, precision: Precision = "int8") -> Path:
        """Return our file with these layers adapting."""
        path = self.path(f"{precision}-{layers}{'-portable' if portable else ''}.onnx")
        if path not in self._files:
            options = FileOptions(portable=portable, precision=precision)
            convert(self.model, self.inputs, path, layers=layers, gate=GATE, options=options, name=self.name)
            self._files.add(path)
        return path

    def onnxruntime_int8(self) -> Path:
        """Return the file that ONNX Runtime's own static quantizer makes of our float32 file."""
        from onnxruntime.quantization import QuantType, quantize_static
        from onnxruntime.quantization.shape_inference import quant_pre_process

        batches = iter([{"input": self.inputs[i : i + 16]} for i in range(0, len(self.inputs), 16)])
        path, ready, part = map(self.path, ("onnxruntime-int8.onnx", "ready.onnx", "part.onnx"))
        if path not in self._files:
            with _quiet():
                quant_pre_process(self.file("none", precision="fp32"), ready, skip_symbolic_shape=True)
                quantize_static(
                    ready,
                    part,
                    SimpleNamespace(get_next=lambda: next(batches, None)),
                    activation_type=QuantType.QUInt8,
                    weight_type=QuantType.QInt8,
                    per_channel=True,
                    reduce_range=True,  # else sums overflow on x86 without VNNI; it is as quick
                )
            part.replace(path)
            ready.unlink()
            self._files.add(path)
        return path

    def saved(self, name: str, model: object) -> Path:
        """Return the file of a torch module, or of what holds one, that was saved for this run."""
        path = self.path(f"{name}.pt")
        torch.save(model, path)
        return path

    def path(self, name: str) -> Path:
        """Return the path of a file that is made from the network."""
        return self.folder / f"{re.sub(r'[^A-Za-z0-9]+', '_', self.name)}-{name}"


def _inputs(shape: tuple[int, ...]) -> tuple[Floats, Floats, str]:
    """Return inputs for calibration, others to check on, and what they are."""
    if shape == (3, 32, 32):
        info = dataset_info("cifar10")
        outside = TorchPredictor(nn.Identity(), mean=info.mean, std=info.std)
        train, test = (load_images(CIFAR10_SAMPLE, "cifar10", split).samples for split in ("train", "test"))
        source, held_out = (
            outside.normalized(model_inputs(pixels)).numpy()
            for pixels in (train[:CALIBRATION], test[:CHECKED])
        )
        return source, held_out, CIFAR10_SAMPLE.name
    random = np.random.default_rng(0)
    noise = random.standard_normal((2 * NOISE, *shape), np.float32)
    return noise[:NOISE], noise[NOISE:], "noise"


def _tame_(model: nn.Module, inputs: torch.Tensor) -> None:
    """Let a model with random weights be one that can be rounded.

    BatchNorms get the statistics of the inputs, so that values neither die nor explode. The last layer gets a
    bias far above its scores, which are noise: rounding then changes them by less than a conversion allows.
    """
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.momentum = None  # the plain average of what is seen
            module.reset_running_stats()
    with torch.no_grad():
        model.train()(inputs)
        scores = model.eval()(inputs)
        linear = [module for module in model.modules() if isinstance(module, nn.Linear)]
        if linear and linear[-1].bias is not None:
            linear[-1].bias.add_(10 * scores.abs().max() * torch.linspace(-1, 1, scores.shape[1]))


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep advice of the quantizer off the screen."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)
