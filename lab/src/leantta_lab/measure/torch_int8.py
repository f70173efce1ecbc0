"""torch int8 by the paper's recipe: eager post-training quantization with torch.ao, to compare with.

Layers that do not adapt are fused with their convolution and its ReLU. Those that adapt are not: their
convolution is quantized, its output made float, normalised by `leantta.nn`, and rounded to bytes again.

    conv (int8) -> dequantize -> AdaptiveNorm (float32) -> activation -> quantize -> conv (int8) -> ...

The recipe gets the best that torch.ao has: weights per channel, sums with their ReLU in one operator, and a
ReLU6 for nothing, as the end of the range that a convolution's output is rounded to.
"""

import operator
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.ao import quantization as ao
from torch.ao.nn import intrinsic
from torch.ao.nn.quantized import Conv2d, FloatFunctional
from torch.ao.quantization.observer import HistogramObserver, PerChannelMinMaxObserver

from leantta.errors import UnsupportedModelError
from leantta.nn import AdaptiveNorm, ChannelAffine
from leantta_lab.measure.network import Floats

CALIBRATION_BATCH = 16

CONVOLUTIONS: Mapping[type[nn.Module], type[nn.Sequential]] = {
    nn.Conv2d: intrinsic.ConvReLU2d,
    nn.Linear: intrinsic.LinearReLU,
}
"""What computes in bytes, with its form that has the ReLU inside."""

ACTIVATIONS = (nn.ReLU, nn.ReLU6)
FUNCTIONS: Mapping[object, type[nn.Module]] = {
    torch.relu: nn.ReLU,
    nn.functional.relu: nn.ReLU,
    nn.functional.relu6: nn.ReLU6,
    "relu": nn.ReLU,
}
"""Activations that are called and not modules."""

IN_BYTES = (nn.MaxPool2d, nn.AdaptiveAvgPool2d)
IN_BYTES_CALLS = ("flatten", "view", "reshape", torch.flatten, nn.functional.max_pool2d)
SUMS = (operator.add, torch.add)


def quantized(model: nn.Module, inputs: Floats, engine: str) -> nn.Module:
    """Return a copy, in int8 for an engine of torch, of a model that `adapt` has made.

    `inputs` give the ranges. What torch.ao cannot compute in bytes stays float.
    """
    torch.backends.quantized.engine = engine
    written = _Writer(deepcopy(model)).written()
    written.qconfig = _config(engine)  # type: ignore[assignment] # torch.ao reads it from there
    with _quiet(), torch.inference_mode():
        ready = ao.prepare(written, inplace=True)
        for batch in torch.from_numpy(inputs).split(CALIBRATION_BATCH):
            ready(batch)
        converted: nn.Module = ao.convert(ready, inplace=True)
    return converted


def _config(engine: str) -> ao.QConfig:
    """Return 8 bits for activations; for weights 8, but 7 on x86, whose sums of products could overflow."""
    bits = {"quant_min": -64, "quant_max": 63} if engine == "x86" else {"quant_min": -127, "quant_max": 127}
    return ao.QConfig(
        activation=HistogramObserver.with_args(reduce_range=False),
        weight=PerChannelMinMaxObserver.with_args(
            dtype=torch.qint8, qscheme=torch.per_channel_symmetric, **bits
        ),
    )


class _Leaves(fx.Tracer):
    """Goes into all modules but those of torch and our layers."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Tell whether the module is one step of the graph."""
        return isinstance(m, AdaptiveNorm | ChannelAffine) or super().is_leaf_module(m, module_qualified_name)


class _Writer:
    """Writes a model as steps, each tensor as bytes or as floats, and changed only where it must be."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.steps: list[nn.Module] = []
        self.inputs: list[tuple[int, ...]] = []
        self.step_of: dict[tuple[fx.Node, bool], int] = {}  # (node, in bytes?) -> the step that made it
        self.output = 0
        self.inside: set[fx.Node] = set()  # what a step before has inside, such as its activation

    def written(self) -> "Steps":
        """Return the model in float, with stubs where bytes begin and end, ready for torch.ao."""
        for node in _Leaves().trace(self.model.eval()).nodes:
            if node not in self.inside:
                self.write(node)
        return Steps(self.steps, self.inputs, self.output)

    def write(self, node: fx.Node) -> None:
        """Write one step."""
        module, kind = self.module_of(node), self.kind_of(node)
        if node.op == "placeholder":
            self.step_of[node, False] = 0
        elif node.op == "output":
            self.output = self.value(_first(node), in_bytes=False)
        elif kind in (nn.Identity, nn.Dropout):
            for in_bytes in (True, False):
                if (_first(node), in_bytes) in self.step_of:
                    self.step_of[node, in_bytes] = self.step_of[_first(node), in_bytes]
        elif kind in CONVOLUTIONS:
            self.write_convolution(node, module)
        elif node.op == "call_function" and node.target in SUMS and len(node.all_input_nodes) == 2:
            activation = self.activation_after(node, (nn.ReLU,))
            values = [self.value(each, in_bytes=True) for each in node.all_input_nodes]
            self.finish(node, activation, self.step(Sum(relu=activation is not None), *values))
        elif kind in ACTIVATIONS:  # in whichever form its input is
            in_bytes = (_first(node), True) in self.step_of
            self.step_of[node, in_bytes] = self.step(
                _activation(kind, in_bytes, inplace=len(_first(node).users) == 1),
                self.value(_first(node), in_bytes),
            )
        else:
            in_bytes = kind in IN_BYTES or node.target in IN_BYTES_CALLS
            values = [self.value(each, in_bytes) for each in node.all_input_nodes]
            self.step_of[node, in_bytes] = self.step(Call(node) if module is None else module, *values)

    def write_convolution(self, node: fx.Node, module: nn.Module | None) -> None:
        assert module is not None
        activation = self.activation_after(node, ACTIVATIONS)
        if activation is not None:
            module = fused = CONVOLUTIONS[type(module)](module, nn.ReLU())
            if self.kind_of(activation) is nn.ReLU6:
                fused[1] = nn.ReLU6()  # while ranges are found: rounding to one that ends at 6 is a ReLU6
        self.finish(node, activation, self.step(module, self.value(_first(node), in_bytes=True)))

    def finish(self, node: fx.Node, activation: fx.Node | None, step: int) -> None:
        """Note what a step made in bytes: its own output, or that of the activation it has inside."""
        while activation is not None and node is not activation:  # there may be an identity between them
            (node,) = node.users
            self.inside.add(node)
        self.step_of[node, True] = step

    def activation_after(self, node: fx.Node, kinds: tuple[type[nn.Module], ...]) -> fx.Node | None:
        """Return the activation that alone uses what the node makes."""
        while len(node.users) == 1:
            (node,) = node.users
            kind = self.kind_of(node)
            if kind in kinds:
                return node
            if kind is not nn.Identity:
                return None
        return None

    def value(self, node: fx.Node, in_bytes: bool) -> int:
        """Return the step that makes the tensor in that form, adding one if there is only the other."""
        if (node, in_bytes) not in self.step_of:
            stub = ao.QuantStub() if in_bytes else ao.DeQuantStub()
            self.step_of[node, in_bytes] = self.step(stub, self.step_of[node, not in_bytes])
        return self.step_of[node, in_bytes]

    def step(self, module: nn.Module, *inputs: int) -> int:
        """Add a step and return its number."""
        self.steps.append(module)
        self.inputs.append(inputs)
        return len(self.steps)

    def kind_of(self, node: fx.Node) -> type[nn.Module] | None:
        """Return the type of the module that the node calls; of an activation function its module's."""
        module = self.module_of(node)
        return FUNCTIONS.get(node.target) if module is None else type(module)

    def module_of(self, node: fx.Node) -> nn.Module | None:
        return self.model.get_submodule(str(node.target)) if node.op == "call_module" else None


def _activation(kind: type[nn.Module], in_bytes: bool, inplace: bool) -> nn.Module:
    if kind is nn.ReLU:
        return nn.ReLU(inplace)
    return nn.ReLU6(inplace) if in_bytes else nn.Hardtanh(0.0, 6.0, inplace)  # torch.ao rounds every ReLU6


def _first(node: fx.Node) -> fx.Node:
    return node.all_input_nodes[0]


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave out that torch.ao is deprecated: it is what the paper used."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Sum(nn.Module):
    """The sum of two tensors as torch.ao takes it, perhaps with a ReLU."""

    def __init__(self, relu: bool) -> None:
        super().__init__()
        self.relu = relu
        self.functional = FloatFunctional()

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Return x + y."""
        total: Tensor = self.functional.add_relu(x, y) if self.relu else self.functional.add(x, y)
        return total


class Call(nn.Module):
    """A function or method that the model calls, with whatever it gives it besides tensors."""

    def __init__(self, node: fx.Node) -> None:
        super().__init__()
        self.call = _callable(node.target)
        self.rest = tuple(None if isinstance(each, fx.Node) else each for each in node.args)
        self.places = [i for i, each in enumerate(node.args) if isinstance(each, fx.Node)]
        self.named = dict(node.kwargs)
        nested = len(self.places) != len(node.all_input_nodes)
        if nested or node.op not in ("call_function", "call_method"):
            raise UnsupportedModelError(f"the step {node.format_node()} is more than a call with tensors")

    def forward(self, *tensors: Tensor) -> Tensor:
        """Return what the call returns."""
        given = list(self.rest)
        for place, tensor in zip(self.places, tensors, strict=True):
            given[place] = tensor
        returned: Tensor = self.call(*given, **self.named)
        return returned


def _callable(target: Callable[..., Any] | str) -> Callable[..., Any]:
    """Return what a node calls, in a form that pickle can read back."""
    if isinstance(target, str):
        return partial(_method, target)
    name = getattr(target, "__name__", "")
    return partial(_functional, name) if getattr(nn.functional, name, None) is target else target


def _method(name: str, tensor: Tensor, *rest: object, **named: object) -> object:
    return getattr(tensor, name)(*rest, **named)


def _functional(name: str, *given: object, **named: object) -> object:
    return getattr(nn.functional, name)(*given, **named)


class Steps(nn.Module):
    """Modules one after another, each with its inputs by number; a tensor is let go after its last use."""

    def __init__(self, steps: Sequence[nn.Module], inputs: Sequence[tuple[int, ...]], output: int) -> None:
        """Take the inputs of each step, and the output: 0 is the model's input, n what the n-th step made."""
        super().__init__()
        self.steps = nn.ModuleList(steps)
        self.output = output
        last = {number: i for i, given in enumerate(inputs) for number in given} | {output: len(inputs)}
        spent = [
            [number for number in dict.fromkeys(given) if last[number] == i] for i, given in enumerate(inputs)
        ]
        self.wiring = list(zip(inputs, spent, strict=True))

    def forward(self, x: Tensor) -> Tensor:
        """Return what the model returns."""
        values = {0: x}
        for number, (step, (given, spent)) in enumerate(zip(self.steps, self.wiring, strict=True), 1):
            values[number] = step(*[values[i] for i in given])
            for i in spent:
                del values[i]
        return values[self.output]

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickle, convolutions by their own: torch cannot read them back itself."""
        packed = [
            (type(step), step.__getstate__()) if isinstance(step, Conv2d) else step for step in self.steps
        ]
        return {"steps": packed, "wiring": self.wiring, "output": self.output}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what `__getstate__` gave."""
        super().__init__()
        self.steps = nn.ModuleList(
            _unpacked(*each) if isinstance(each, tuple) else each for each in state["steps"]
        )
        self.wiring, self.output = state["wiring"], state["output"]
        self.eval()


def _unpacked(kind: type[Conv2d], state: object) -> Conv2d:
    conv = kind.__new__(kind)
    nn.Module.__init__(conv)  # what torch leaves out
    conv.__setstate__(state)
    return conv
