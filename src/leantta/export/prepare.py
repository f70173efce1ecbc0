"""Separate adapting layers from their source statistics, so that what is exported is small and even.

The source normalisation is folded into whatever feeds an adapting layer, which then sees

    u = (x - mu_s) / sqrt(var_s + eps)            about N(0, 1) per channel on source data

and needs, with m and v the mean and variance of one sample's u, only r = var_s / (var_s + eps) and what its
gate keeps. For a gate that gives one weight `a` for a distance S, with constants p and q per channel,

    S = SUM_c p * m^2  [+ SUM_c q * (v - r)^2]
    y = u * g + h,   g = gamma / sqrt(1 + a * (v - r)),   h = beta - g * a * m

is the function of `leantta.functional`. A dead channel has r = 0, which no other has. That tells the function
to take m and v - r as zero, so that y = gamma * u + beta.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as nnf

from leantta import functional as F
from leantta.errors import UnsupportedModelError
from leantta.graph.functions import SHARED
from leantta.graph.ir import LOCAL
from leantta.nn import AdaptiveNorm, ChannelAffine
from leantta.surgery.apply import replaced
from leantta.surgery.fuse import fold
from leantta.surgery.plan import Action, Plan

ACTIVATIONS = (nn.ReLU, nn.Hardtanh, nn.Hardswish, nn.SiLU)
"""Those that can work in place; ReLU6 is a Hardtanh."""


class UnitNorm(nn.Module):
    """Stands for an adaptive layer behind its source normalisation, as one node of the exported graph.

    It has no arithmetic of its own: run in torch it gives zeros.
    """

    gamma: Tensor
    beta: Tensor
    ratio: Tensor  # r

    def __init__(self, layer: AdaptiveNorm, name: str) -> None:
        super().__init__()
        self.gate = layer.gate
        self.name = name
        var = layer.running_var.double()
        scale = var + layer.eps
        ones = torch.ones_like(var)
        self.register_buffer("gamma", _float(ones if layer.weight is None else layer.weight.detach()))
        self.register_buffer("beta", _float(ones * 0 if layer.bias is None else layer.bias.detach()))
        is_alive = F.alive(F.Stats(layer.running_mean, layer.running_var), layer.eps)
        self.register_buffer("ratio", _float(torch.where(is_alive, var / scale, 0)))
        for key, value in self.gate.unit_constants(var, scale, layer.constants()).items():
            per_channel = value.shape == var.shape
            self.register_buffer(key, _float(torch.where(is_alive, value, 0) if per_channel else value))

    def forward(self, u: Tensor) -> Tensor:
        """Mark the place of the layer in the graph."""
        operator = self.gate.operator
        marked: Tensor = torch.onnx.ops.symbolic(
            f"{LOCAL}::{operator.name}",
            [u, *(self.get_buffer(key) for key in (*SHARED, *operator.constants))],
            attrs={**self.gate.attributes(), "layer": self.name},
            dtype=u.dtype,
            shape=u.shape,
            version=1,
        )
        return marked


class AffineConv(nn.Module):
    """A scale and an offset per channel as a convolution of one value, which int8 has an operator for."""

    weight: Tensor
    bias: Tensor

    def __init__(self, scale: Tensor, offset: Tensor) -> None:
        super().__init__()
        self.register_buffer("weight", _float(scale))
        self.register_buffer("bias", _float(offset))

    def forward(self, x: Tensor) -> Tensor:
        """Return weight * x + bias."""
        if x.dim() not in _CONVOLUTIONS:
            return x * self.weight + self.bias
        kernel = self.weight.view(-1, 1, *(1,) * (x.dim() - 2))
        result: Tensor = _CONVOLUTIONS[x.dim()](x, kernel, self.bias, groups=len(self.weight))
        return result


_CONVOLUTIONS = {3: nnf.conv1d, 4: nnf.conv2d, 5: nnf.conv3d}

MAKERS = (nn.modules.conv._ConvNd, nn.Linear, UnitNorm, AffineConv)
"""Layers whose output is always a tensor of its own."""


def prepare_(lean: nn.Module, plan: Plan) -> None:
    """Turn the layers that `apply` put into a model into what is exported, folding where it can be done.

    Raises:
        UnsupportedModelError: a layer uses an option that files do not have.
    """
    new: dict[nn.Module, nn.Module] = {}
    for row in plan.rows:
        if row.action is not Action.ADAPT:
            continue
        layer = _find(lean, row.name)
        if layer.mixture_variance or layer.adapt_vectors:
            raise UnsupportedModelError(
                f"{row.name!r} has mixture_variance or adapt_vectors, which files do not have; leave them out"
            )
        scale = torch.rsqrt(layer.running_var.double() + layer.eps)
        offset = -layer.running_mean.double() * scale
        unit: nn.Module = UnitNorm(layer, row.name)
        if row.producer is None:
            unit = nn.Sequential(AffineConv(scale, offset), unit)
        else:
            producer = lean.get_submodule(row.producer)
            new[producer] = fold(producer, scale, offset)
        new[layer] = unit
    for module in lean.modules():
        if type(module) is ChannelAffine:
            new[module] = AffineConv(module.scale, module.offset)
    replaced(lean, new)  # at every place of a module that has several
    for module in lean.modules():
        if type(module) is nn.Sequential:
            _not_in_place_(module)


def _not_in_place_(chain: nn.Sequential) -> None:
    """Let activations of a chain make new tensors: torch's exporter takes several times as long otherwise.

    Only those behind a layer that makes one, too: nobody else can have seen what they would change.
    """
    fresh = False
    for module in chain:
        if fresh and isinstance(module, ACTIVATIONS):
            module.inplace = False
        fresh = isinstance(module, MAKERS) or (fresh and isinstance(module, nn.Identity))


def _find(lean: nn.Module, name: str) -> AdaptiveNorm:
    """Return the adaptive layer of that name, which may be the first of what took the BatchNorm's place."""
    layer = lean.get_submodule(name)
    if isinstance(layer, nn.Sequential):  # followed by an activation that the BatchNorm had inside
        layer = layer[0]
    assert isinstance(layer, AdaptiveNorm)
    return layer


def _float(value: Tensor) -> Tensor:
    return value.float().clone()
