"""A model as steps that torch.ao can round to bytes, and that can be saved when it has."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from torch import Tensor, fx, nn
from torch.ao.nn.quantized import Conv2d, FloatFunctional

from leantta.errors import UnsupportedModelError


class Sum(nn.Module):
    """The sum of two tensors as torch.ao takes it, perhaps with a ReLU."""

    def __init__(self, relu: bool) -> None:
        super().__init__()
        self.relu = relu
        self.functional = FloatFunctional()

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Return x + y."""
        found: Tensor = self.functional.add_relu(x, y) if self.relu else self.functional.add(x, y)
        return found


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
        found: Tensor = self.call(*given, **self.named)
        return found


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
