"""Fold a BatchNorm into the module before it: exact in eval mode, computed in float64."""

import copy

import torch
from torch import Tensor, nn

from leantta.surgery.layers import BatchNorm, affine


def fuse(producer: nn.Module, norm: BatchNorm) -> nn.Module:
    """Return a copy of the convolution or linear layer whose output is already normalised by `norm`.

    >>> conv, norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4).eval()
    >>> x = torch.ones(1, 3, 5, 5)
    >>> bool(torch.allclose(fuse(conv, norm)(x), norm(conv(x)), atol=1e-6))
    True
    """
    return fold(producer, *affine(norm))


def fold(producer: nn.Module, scale: Tensor, offset: Tensor) -> nn.Module:
    """Return a copy of the convolution or linear layer with scale * output + offset as its output."""
    fused = copy.deepcopy(producer)
    weight, bias = fused.weight, fused.bias
    assert isinstance(weight, nn.Parameter)  # every type in `FUSABLE` has one
    shift = torch.zeros_like(scale) if bias is None else bias.detach().double()  # type: ignore[operator] # see above
    fused.weight = _parameter(_scaled(fused, weight.detach().double(), scale), like=weight)
    fused.bias = _parameter(shift * scale + offset, like=weight)
    return fused


def _scaled(module: nn.Module, weight: Tensor, scale: Tensor) -> Tensor:
    """Multiply each output channel of a weight by its scale."""
    if not isinstance(module, nn.ConvTranspose1d | nn.ConvTranspose2d | nn.ConvTranspose3d):
        return weight * scale.view(-1, *(1,) * (weight.dim() - 1))  # (out, in / groups, *kernel)
    grouped = scale.view(module.groups, 1, -1)  # transposed weights are (in, out / groups, *kernel)
    blocks = weight.view(module.groups, -1, *weight.shape[1:])
    return (blocks * grouped.view(*grouped.shape, *(1,) * (weight.dim() - 2))).view(weight.shape)


def _parameter(value: Tensor, like: nn.Parameter) -> nn.Parameter:
    return nn.Parameter(value.to(dtype=like.dtype, device=like.device), requires_grad=like.requires_grad)
