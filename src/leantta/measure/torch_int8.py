"""torch int8 by the paper's recipe: eager post-training quantization with torch.ao, to compare with.

Layers that do not adapt are fused with their convolution and its ReLU. Those that adapt are not: their
convolution is quantized, its output made float, normalised by `leantta.nn`, and rounded to bytes again.

    conv (int8) -> dequantize -> AdaptiveNorm (float32) -> activation -> quantize -> conv (int8) -> ...

The recipe gets the best that torch.ao has: weights per channel, sums with their ReLU in one operator, and a
ReLU6 for nothing, as the end of the range that a convolution's output is rounded to.
"""

import operator
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy

import torch
from torch import fx, nn
from torch.ao import quantization as ao
from torch.ao.nn import intrinsic
from torch.ao.quantization.observer import HistogramObserver, PerChannelMinMaxObserver

from leantta.measure.torch_network import Floats
from leantta.measure.torch_steps import Call, Steps, Sum
from leantta.nn import AdaptiveNorm, ChannelAffine

BATCH = 16

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
        for batch in torch.from_numpy(inputs).split(BATCH):
            ready(batch)
        found: nn.Module = ao.convert(ready, inplace=True)
    return found


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
        self.made: dict[tuple[fx.Node, bool], int] = {}  # (node, in bytes?) -> the step that made it
        self.output = 0
        self.inside: set[fx.Node] = set()  # what a step before has inside, such as its activation

    def written(self) -> Steps:
        """Return the model in float, with stubs where bytes begin and end, ready for torch.ao."""
        for node in _Leaves().trace(self.model.eval()).nodes:
            if node not in self.inside:
                self.write(node)
        return Steps(self.steps, self.inputs, self.output)

    def write(self, node: fx.Node) -> None:
        """Write one step."""
        module, kind = self.module_of(node), self.kind_of(node)
        if node.op == "placeholder":
            self.made[node, False] = 0
        elif node.op == "output":
            self.output = self.value(_first(node), in_bytes=False)
        elif kind in (nn.Identity, nn.Dropout):
            for in_bytes in (True, False):
                if (_first(node), in_bytes) in self.made:
                    self.made[node, in_bytes] = self.made[_first(node), in_bytes]
        elif kind in CONVOLUTIONS:
            self.write_convolution(node, module)
        elif node.op == "call_function" and node.target in SUMS and len(node.all_input_nodes) == 2:
            activation = self.activation_after(node, (nn.ReLU,))
            values = [self.value(each, in_bytes=True) for each in node.all_input_nodes]
            self.finish(node, activation, self.step(Sum(relu=activation is not None), *values))
        elif kind in ACTIVATIONS:  # in whichever form its input is
            in_bytes = (_first(node), True) in self.made
            self.made[node, in_bytes] = self.step(
                _activation(kind, in_bytes, inplace=len(_first(node).users) == 1),
                self.value(_first(node), in_bytes),
            )
        else:
            in_bytes = kind in IN_BYTES or node.target in IN_BYTES_CALLS
            values = [self.value(each, in_bytes) for each in node.all_input_nodes]
            self.made[node, in_bytes] = self.step(Call(node) if module is None else module, *values)

    def write_convolution(self, node: fx.Node, module: nn.Module | None) -> None:
        assert module is not None
        activation = self.activation_after(node, ACTIVATIONS)
        if activation is not None:
            module = fused = CONVOLUTIONS[type(module)](module, nn.ReLU())
            if self.kind_of(activation) is nn.ReLU6:
                fused[1] = nn.ReLU6()  # while ranges are found: rounding to one that ends at 6 is a ReLU6
        self.finish(node, activation, self.step(module, self.value(_first(node), in_bytes=True)))

    def finish(self, node: fx.Node, activation: fx.Node | None, made: int) -> None:
        """Note what a step made in bytes: its own output, or that of the activation it has inside."""
        while activation is not None and node is not activation:  # there may be an identity between them
            (node,) = node.users
            self.inside.add(node)
        self.made[node, True] = made

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
        if (node, in_bytes) not in self.made:
            stub = ao.QuantStub() if in_bytes else ao.DeQuantStub()
            self.made[node, in_bytes] = self.step(stub, self.made[node, not in_bytes])
        return self.made[node, in_bytes]

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
