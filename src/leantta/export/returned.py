"""What a torch model returns, as a file can hold it: tensors by name, the batch as their first axis."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from leantta.errors import UnsupportedModelError
from leantta.outputs import Head, named, role_of
from leantta.pixels import Inputs, at_once, floats

Floats = npt.NDArray[np.float32]

AT_ONCE = 8
"""How many inputs the model runs on in one call, at most."""

MOST_BYTES = 1 << 27
"""How much of its outputs is kept."""


@dataclass(frozen=True, eq=False)
class Returned:
    """What a model says of some inputs."""

    heads: tuple[Head, ...]
    outputs: dict[str, Floats]  # by name, of the same inputs

    @property
    def count(self) -> int:
        """For how many inputs."""
        return len(self.outputs[self.heads[0].name])


def returned(model: nn.Module, inputs: Inputs, progress: Callable[[int], None] = lambda _: None) -> Returned:
    """Return what the model says of inputs; of the first ones, where outputs would fill the memory."""
    parts: list[dict[str, Tensor]] = []
    held = done = 0
    with torch.inference_mode():
        for batch in inputs.split(at_once(inputs, AT_ONCE)):
            if held > MOST_BYTES:
                break
            parts.append(named(model(floats(batch))))
            held += sum(4 * each.numel() for each in parts[-1].values())
            done += len(batch)
            progress(done)
    outputs = {name: torch.cat([part[name] for part in parts]).float().numpy() for name in parts[0]}
    shape = inputs.shape[1:]
    heads = (Head(name, each.shape[1:], role_of(each.shape[1:], shape)) for name, each in outputs.items())
    return Returned(tuple(heads), outputs)


def outputs_of(module: nn.Module, example: Tensor) -> dict[str, Tensor]:
    """Return what the module gives for an example, by name.

    Raises:
        UnsupportedModelError: it is nothing that a file can give.
    """
    with torch.inference_mode():
        try:
            tensors = named(module(example))
        except TypeError as e:
            raise UnsupportedModelError(
                f"a model must return tensors, or tuples, lists and dicts of them, to be converted; this "
                f"returns {e}. Wrap it in a module that picks the tensors."
            ) from e
    for name, tensor in tensors.items():
        if tensor.dim() < 2 or len(tensor) != len(example) or not tensor.numel():
            found = f"{tuple(tensor.shape)} for a batch of {len(example)} inputs"
            wanted = "outputs have one entry for each input, (n, ...) of a fixed size"
        elif not tensor.is_floating_point():
            found, wanted = f"{tensor.dtype}".removeprefix("torch."), "outputs are floating-point numbers"
        else:
            continue
        raise UnsupportedModelError(
            f"the model's output {name!r} is {found}; {wanted}. Wrap the model in a module that returns "
            "scores (before argmax or non-maximum suppression), and leave constants out."
        )
    return tensors


@contextmanager
def flat(module: nn.Module) -> Iterator[None]:
    """Let a module return its tensors as a tuple, in the order of their names, inside the block."""
    forward = module.forward

    def flat(x: Tensor) -> tuple[Tensor, ...]:
        return tuple(each.float() for each in named(forward(x)).values())

    module.forward = flat  # of this instance, so that names of inner modules stay
    try:
        yield
    finally:
        module.forward = forward
