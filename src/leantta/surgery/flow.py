"""What feeds what, seen by running the model once on an example input.

The run sees every operator, so it works on any module that runs: sequential or functional, residual or dense.
Each BatchNorm learns which module made its input, and whether anybody else used that output.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakTensorKeyDictionary

from leantta.errors import UnsupportedModelError
from leantta.outputs import named
from leantta.surgery.layers import BatchNorm
from leantta.surgery.trial import advice

FUSABLE: tuple[type[nn.Module], ...] = (
    nn.Conv1d,
    nn.Conv2d,
    nn.Conv3d,
    nn.ConvTranspose1d,
    nn.ConvTranspose2d,
    nn.ConvTranspose3d,
    nn.Linear,
)
"""Modules that a BatchNorm behind them can be folded into; by exact type, since a subclass may do more."""

Inputs = Tensor | tuple[Any, ...]


@dataclass
class Output:
    """A tensor that a module made: who made it, and which calls used it afterwards."""

    producer: str
    kind: type[nn.Module]
    dim: int
    call: object
    users: set[object] = field(default_factory=set)


@dataclass
class Visit:
    """What one BatchNorm saw: how often it ran, on how many positions, and what fed it."""

    order: int
    positions: int
    fed_by: str
    source: Output | None
    call: object
    calls: int = 1


@dataclass(frozen=True)
class Flow:
    """What happened: visits by BatchNorm name, how often each module ran, and what no module accounts for."""

    visits: dict[str, Visit]
    calls: dict[str, int]
    reused_weights: frozenset[str]  # modules whose weights something else read too
    functional: int  # batch_norm calls outside of any BatchNorm module


def flow_of(model: nn.Module, example: Inputs) -> Flow:
    """Run a copy of the model in eval mode on the example and return what happened; the model stays as it is.

    Raises:
        UnsupportedModelError: the model does not run on the example.
    """
    model = copy.deepcopy(model).eval()
    inputs = example if isinstance(example, tuple) else (example,)
    inputs = copy.deepcopy(inputs)  # a model may write into its input
    observer = _Observer(model)
    try:
        with torch.no_grad(), observer:
            outputs = model(*inputs)
    except Exception as e:  # the model is foreign code and may raise anything
        observer.detach()
        shapes = ", ".join(
            f"{tuple(t.shape)} {t.dtype}" for t in tree_leaves(inputs) if isinstance(t, Tensor)
        )
        raise UnsupportedModelError(
            f"{type(model).__name__} does not run on the example input {shapes}: {type(e).__name__}: "
            f"{str(e).rstrip('.')}. {advice(model, inputs)}"
        ) from e
    finally:
        observer.detach()
    observer.use(_tensors(outputs), by="the model's output")
    return Flow(observer.visits, observer.calls, frozenset(observer.reused_weights), observer.functional)


def _tensors(outputs: object) -> object:
    """Return the tensors in what a model returned, of whatever class that is."""
    try:
        return list(named(outputs).values())
    except TypeError:  # something else is among them
        return outputs


class _Observer(TorchDispatchMode):
    """Sees every operator and every call of a module of interest while the model runs."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()  # type: ignore[no-untyped-call] # torch has no annotation for it
        self.visits: dict[str, Visit] = {}
        self.calls: dict[str, int] = {}
        self.reused_weights: set[str] = set()
        self.functional = 0
        self.outputs = WeakTensorKeyDictionary()  # tensor -> Output; weak, so the run needs no extra memory
        self.makers = WeakTensorKeyDictionary()  # tensor -> what to call the thing that made it
        self.owners = WeakTensorKeyDictionary()  # weight -> name of the fusable module it belongs to
        self.stack: list[tuple[str, object]] = []  # the calls of interest that are running
        self.handles = []
        for name, module in model.named_modules():
            if type(module) in FUSABLE:
                for weight in module.parameters(recurse=False):
                    self.owners[weight] = name
            leaf = next(module.children(), None) is None
            if leaf or isinstance(module, BatchNorm):
                self.handles += [
                    module.register_forward_pre_hook(self._entering(name), with_kwargs=True, prepend=True),
                    module.register_forward_hook(self._leaving(name), with_kwargs=True),
                ]

    def detach(self) -> None:
        """Take the hooks off again."""
        for handle in self.handles:
            handle.remove()

    def use(self, values: object, by: object) -> None:
        """Note that `by` reads these tensors."""
        for tensor in tree_leaves(values):
            if not isinstance(tensor, Tensor):
                continue
            if (output := self.outputs.get(tensor)) is not None and output.call is not by:
                output.users.add(by)
            owner = self.owners.get(tensor)
            if owner is not None and not (self.stack and self.stack[-1][0] == owner):
                self.reused_weights.add(owner)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, call = self.stack[-1] if self.stack else ("", object())
        self.use((args, kwargs), by=call)
        result = func(*args, **(kwargs or {}))
        operator = str(func.overloadpacket.__name__)
        if not name and "batch_norm" in operator:
            self.functional += 1
        for tensor in tree_leaves(result):
            if isinstance(tensor, Tensor):
                self.makers[tensor] = operator
        return result

    def _entering(self, name: str) -> Callable[..., None]:
        def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            call = object()
            self.stack.append((name, call))
            self.calls[name] = self.calls.get(name, 0) + 1
            if not isinstance(module, BatchNorm):
                return
            if name in self.visits:
                self.visits[name].calls += 1
                return
            x = next(t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor))
            self.visits[name] = Visit(
                order=len(self.visits) + 1,
                positions=x[0, 0].numel() if x.dim() > 1 and x.shape[0] else 1,
                fed_by=self.makers.get(x, "the model's input"),
                source=self.outputs.get(x),
                call=call,
            )

        return hook

    def _leaving(self, name: str) -> Callable[..., None]:
        def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: object) -> None:
            del args, kwargs
            _, call = self.stack.pop()
            for tensor in tree_leaves(result):
                if not isinstance(tensor, Tensor):
                    continue
                earlier = self.outputs.get(tensor)
                if earlier is None or call in earlier.users:  # else it only passed through, as in nn.Identity
                    self.makers[tensor] = name
                    self.outputs[tensor] = Output(name, type(module), tensor.dim(), call)

        return hook
