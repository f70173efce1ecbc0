"""What a model shows while its filters are fitted: the features that layers see, and its scores."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor, nn

from leantta import functional as F
from leantta.decisions import joined, scores_of
from leantta.errors import UnsupportedModelError
from leantta.pixels import Inputs, at_once, floats

MOST_AT_ONCE = 16
"""Images in a batch, at most: MobileNetV2 is half as fast with 64 images of 32 pixels."""

Hook = Callable[[nn.Module, tuple[Any, ...], dict[str, Any]], None]


class _ReachedError(Exception):
    """All that was to be seen has been; the rest of the model need not run."""


def seen_features(
    model: nn.Module, layers: Sequence[str], inputs: Inputs, *, calls: int | None = None
) -> dict[str, Tensor]:
    """Return the features that BatchNorms see, (n * calls, 2c): image by image, then call by call.

    A shared layer is called more than once. With `calls` given, the model is left after so many of the last
    layer, so that early layers are quick.
    """
    found: dict[str, list[Tensor]] = {name: [] for name in layers}
    at_hand: dict[str, list[Tensor]] = {}

    def hook(name: str, norm: nn.Module) -> Hook:
        def keep(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            at_hand[name].append(_features(norm, args[0] if args else kwargs["input"]))
            if name == layers[-1] and len(at_hand[name]) == calls:
                raise _ReachedError

        return keep

    norms = {name: model.get_submodule(name) for name in layers}
    handles = [norm.register_forward_pre_hook(hook(n, norm), with_kwargs=True) for n, norm in norms.items()]
    with torch.inference_mode():
        for batch in in_batches(inputs):
            at_hand = {name: [] for name in layers}
            with suppress(_ReachedError):
                model(batch)
            for name, parts in at_hand.items():
                found[name].append(torch.stack(parts, 1).flatten(0, 1))
    for handle in handles:
        handle.remove()
    return {name: torch.cat(parts).clone() for name, parts in found.items()}


def in_batches(inputs: Inputs) -> Iterator[Tensor]:
    """Yield inputs, as floats, in batches of a size at which models are quick.

    >>> [len(batch) for batch in in_batches(torch.zeros(6, 3, 224, 224))]
    [2, 2, 2]
    """
    size = at_once(inputs, MOST_AT_ONCE)
    for start in range(0, len(inputs), size):
        yield floats(inputs[start : start + size])


def _features(norm: nn.Module, x: Tensor) -> Tensor:
    mean, var, eps = norm.running_mean, norm.running_var, norm.eps
    assert isinstance(mean, Tensor)  # a BatchNorm that surgery took
    assert isinstance(var, Tensor)
    assert isinstance(eps, float)
    dtype = F.wide(x.dtype)
    source = F.Stats(mean.to(dtype), var.to(dtype))
    shift = F.shift_of_alive(F.measure(x, source), F.alive(source, eps))
    return F.features(shift, source, eps).float()


def scores(model: nn.Module, inputs: Inputs) -> Tensor | None:
    """Return the scores of inputs (see `leantta.decisions`); None if there are none.

    Raises:
        UnsupportedModelError: the model does not run on them.
    """
    with torch.inference_mode():
        found = joined(_of_batch(model, batch) for batch in in_batches(inputs))
    return None if found is None else found.clone()


def _of_batch(model: nn.Module, batch: Tensor) -> Tensor | None:
    try:
        return scores_of(model(batch), batch)
    except Exception as e:  # the model is foreign code and may raise anything
        raise UnsupportedModelError(
            f"the model does not run on a batch {tuple(batch.shape)} of source images: "
            f"{type(e).__name__}: {e}"
        ) from e


def set_constants(model: nn.Module, name: str, constants: Mapping[str, Tensor]) -> None:
    """Give the adapting layer of that name other constants."""
    layer = model.get_submodule(name)
    if isinstance(layer, nn.Sequential):  # it is followed by what its BatchNorm applied
        layer = layer[0]
    for key, value in constants.items():
        setattr(layer, key, value)
