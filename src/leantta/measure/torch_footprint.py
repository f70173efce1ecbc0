"""How many values the layers of a torch model put out for one input."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from leantta.measure.analytic import Footprint


def footprint(model: nn.Module, inputs: Tensor) -> Footprint:
    """Return the footprint of a model, found by running it on one input (1, ...)."""
    norms: list[int] = []
    layers: list[int] = []

    def count(module: nn.Module, _: tuple[Any, ...], output: object) -> None:
        if isinstance(output, Tensor):
            layers.append(output.numel())
            if isinstance(module, _BatchNorm):
                norms.append(output.numel())

    leaves = [module for module in model.modules() if not list(module.children())]
    handles = [leaf.register_forward_hook(count) for leaf in leaves]
    try:
        with torch.no_grad():
            model(inputs[:1])
    finally:
        for handle in handles:
            handle.remove()
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return Footprint(parameters, sum(norms), norms[-1] if norms else 0, sum(layers))
