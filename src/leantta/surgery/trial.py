"""Why a model does not run on an example, and on what it would."""

from typing import Any

import torch
from torch import Tensor, nn

SIZES = (32, 28, 48, 64, 96, 112, 128, 160, 192, 224, 227, 240, 256, 288, 299, 320, 384, 416, 448, 512)
"""Heights and widths that images are commonly given in."""


def advice(model: nn.Module, inputs: tuple[Any, ...]) -> str:
    """Return what to do about a model in eval mode that does not run on these inputs."""
    usual = "Pass an example like the images it was trained on."
    if len(inputs) != 1 or not isinstance(inputs[0], Tensor) or inputs[0].dim() < 2:
        return usual
    batch = inputs[0]
    if len(batch) > 1 and _runs(model, batch[:1]):
        return (
            "It runs on one input at a time, and a batch is needed: look for what fixes the batch size in "
            "its forward(), such as x.view(1, -1) instead of x.flatten(1)."
        )
    if batch.dim() == 4:
        for size in SIZES:
            if _runs(model, batch.new_zeros(2, batch.shape[1], size, size)):
                channels = batch.shape[1]
                return (
                    f"It runs on images of {size} x {size}: convert with --size {size},{size}, evaluate with "
                    f"--resize {size}x{size}, inspect with --input {channels},{size},{size}."
                )
    return usual


def _runs(model: nn.Module, batch: Tensor) -> bool:
    try:
        with torch.no_grad():
            model(batch.clone())
    except Exception:  # noqa: BLE001  the model is foreign code and may raise anything
        return False
    return True
