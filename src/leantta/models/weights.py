"""Checkpoints: a model's parameters and buffers as safetensors, stored in half precision.

Loading checks everything before it changes anything: a model is left either as it was or completely loaded.
`num_batches_tracked` only counts training steps, so it may be missing and is not stored.
"""

from collections.abc import Mapping
from pathlib import Path

import safetensors.torch
import torch
from torch import Tensor, nn

from leantta.errors import CheckpointError
from leantta.files import existing, replacing
from leantta.models.stored import fitting_part, read_parts

COUNTER = "num_batches_tracked"
SHOWN = 3
"""How many names of each kind a message lists."""


def load_weights(
    model: nn.Module, path: Path | str, *, prefix: str | None = None, new_head: bool = False
) -> None:
    """Copy the checkpoint at `path` into `model`, in the model's own precision.

    It is a safetensors file, or one that torch pickled (.pt, .pth), of which only tensors are read. Where in
    it the weights are is found by itself (see `leantta.models.stored`); `prefix` says which names are meant.
    With `new_head`, a checkpoint of another number of classes is taken too: the last layer stays as it is.

    Raises:
        MissingFileError: there is nothing at `path`.
        CheckpointError: the file cannot be read, does not fit the model, or holds values that are not finite.
            The model is then as it was before.
    """
    file = existing(Path(path), "checkpoint")
    wanted = _tensors(model)
    stored = fitting_part(file, read_parts(file), wanted, prefix)
    if new_head and _other_classes(_reshaped(stored, wanted), stored, wanted):
        head = _last_layer(wanted)
        wanted, stored = (
            {name: value for name, value in tensors.items() if name.rpartition(".")[0] != head}
            for tensors in (wanted, stored)
        )
    _check_fit(file, stored, wanted)
    fitting = {name: stored[name].to(value.dtype) for name, value in wanted.items() if name in stored}
    _check_finite(file, fitting)
    with torch.no_grad():
        for name, value in fitting.items():
            wanted[name].copy_(value)


def stored_classes(model: nn.Module, path: Path | str, *, prefix: str | None = None) -> int | None:
    """Return the number of classes of a checkpoint whose last layer has another one; None: it is the model's.

    Raises:
        MissingFileError, CheckpointError: there is no such file, or it cannot be read.
    """
    file = existing(Path(path), "checkpoint")
    wanted = _tensors(model)
    stored = fitting_part(file, read_parts(file), wanted, prefix)
    return _other_classes(_reshaped(stored, wanted), stored, wanted)


def save_weights(model: nn.Module, path: Path | str) -> None:
    """Write the parameters and buffers of `model` to `path`; the file appears whole or not at all.

    Floating-point values are stored in half precision; a tensor too large for it keeps its own.

    Raises:
        CheckpointError: a value is not finite.
        StorageError: the file cannot be written.
    """
    target = Path(path)
    values = {name: value.cpu() for name, value in _tensors(model).items() if not name.endswith(COUNTER)}
    _check_finite(target, values)
    halved = {name: _halved(value).clone().contiguous() for name, value in values.items()}
    with replacing(target) as part:
        part.write_bytes(safetensors.torch.save(halved))


def _tensors(model: nn.Module) -> dict[str, Tensor]:
    """The model's own parameters and buffers by name, not copies; extra state is left out."""
    return {name: value for name, value in model.state_dict().items() if isinstance(value, Tensor)}


def _halved(value: Tensor) -> Tensor:
    if not value.is_floating_point():
        return value
    half = value.half()
    return half if torch.isfinite(half).all() else value


def _check_fit(file: Path, stored: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    missing = [name for name in wanted if name not in stored and not name.endswith(COUNTER)]
    unexpected = [name for name in stored if name not in wanted and not name.endswith(COUNTER)]
    shared = [name for name in wanted if name in stored]
    reshaped = _reshaped(stored, wanted)
    real = [name for name in shared if wanted[name].is_floating_point()]
    rounded = [name for name in real if not stored[name].is_floating_point()]
    shapes = [f"{name}: {_shape(stored[name])}, the model's {_shape(wanted[name])}" for name in reshaped]
    kinds = [f"{name} as {stored[name].dtype}" for name in rounded]
    faults = [
        f"{len(names)} {what} ({_listed(names)})"
        for what, names in (
            ("missing", missing),
            ("unexpected", unexpected),
            ("of another shape", shapes),
            ("not stored as floating point", kinds),
        )
        if names
    ]
    if not faults:
        return
    advice = "Is it a checkpoint of another model?"
    if not (missing or unexpected or rounded) and (classes := _other_classes(reshaped, stored, wanted)):
        advice = f"Only the last layer differs: build the model with num_classes={classes}."
    raise CheckpointError(f"{file} does not fit the model: {'; '.join(faults)}. {advice}")


def _reshaped(stored: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> list[str]:
    return [name for name in wanted if name in stored and stored[name].shape != wanted[name].shape]


def _last_layer(tensors: Mapping[str, Tensor]) -> str:
    return list(tensors)[-1].rpartition(".")[0]


def _other_classes(
    reshaped: list[str], stored: Mapping[str, Tensor], wanted: Mapping[str, Tensor]
) -> int | None:
    """The number of classes of the checkpoint if the last layer's is all that differs, else None."""
    last = _last_layer(wanted)
    same_layer = all(name.rpartition(".")[0] == last for name in reshaped)
    same_inputs = all(stored[name].shape[1:] == wanted[name].shape[1:] for name in reshaped)
    classes = {stored[name].shape[:1] for name in reshaped}
    return classes.pop().numel() if same_layer and same_inputs and len(classes) == 1 else None


def _check_finite(file: Path, values: Mapping[str, Tensor]) -> None:
    bad = [name for name, value in values.items() if not torch.isfinite(value).all()]
    if bad:
        raise CheckpointError(
            f"{file}: {len(bad)} of {len(values)} tensors hold NaN or infinite values ({_listed(bad)}). "
            f"The training that made them diverged; take an earlier checkpoint."
        )


def _shape(value: Tensor) -> str:
    return "x".join(map(str, value.shape)) or "a scalar"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
