"""Which BatchNorm layers a model has, and whether their statistics can be used.

Layers are recognised by exact type: a subclass may hide an activation, so an unknown one is listed but never
replaced. Known subclasses are named in full, with the modules that they apply after normalising.
"""

from collections.abc import Mapping

import torch
from torch import nn

from leantta.errors import BadStatisticsError, NoBatchNormError, UnsupportedModelError
from leantta.functional import Stats, alive
from leantta.nn import AdaptiveNorm, AdaptiveNorm1d, AdaptiveNorm2d, AdaptiveNorm3d

ADAPTIVE: Mapping[type[nn.Module], type[AdaptiveNorm]] = {
    nn.BatchNorm1d: AdaptiveNorm1d,
    nn.BatchNorm2d: AdaptiveNorm2d,
    nn.BatchNorm3d: AdaptiveNorm3d,
    nn.SyncBatchNorm: AdaptiveNorm,  # any rank
}

FOLLOWED: Mapping[str, tuple[type[AdaptiveNorm], tuple[str, ...]]] = {
    "timm.layers.norm_act.BatchNormAct2d": (AdaptiveNorm2d, ("drop", "act")),
}
"""Subclasses that normalise and then apply modules of their own; by name, since timm is no dependency."""

BatchNorm = nn.modules.batchnorm._BatchNorm

WRAPPERS = (nn.DataParallel, nn.parallel.DistributedDataParallel)


def unwrap(model: nn.Module) -> nn.Module:
    """Return the model inside DataParallel, DistributedDataParallel or `torch.compile`, or itself."""
    while True:
        if isinstance(model, WRAPPERS):
            model = model.module
        elif isinstance(inner := getattr(model, "_orig_mod", None), nn.Module):
            model = inner
        else:
            return model


def adaptive_type(layer: BatchNorm) -> type[AdaptiveNorm] | None:
    """Return the adaptive layer that can take this one's place; None for an unknown subclass."""
    known = ADAPTIVE.get(type(layer))
    return FOLLOWED[_full_name(layer)][0] if known is None and _full_name(layer) in FOLLOWED else known


def followers(layer: BatchNorm) -> list[nn.Module]:
    """Return the modules that the layer applies after normalising: none for a BatchNorm of torch."""
    _, names = FOLLOWED.get(_full_name(layer), (None, ()))
    return [layer.get_submodule(name) for name in names]


def _full_name(layer: nn.Module) -> str:
    return f"{type(layer).__module__}.{type(layer).__qualname__}"


def batchnorms(model: nn.Module) -> dict[str, BatchNorm]:
    """Return the model's BatchNorm layers by name, subclasses included, each of them usable.

    Raises:
        UnsupportedModelError: the model is scripted, or a layer keeps no running statistics.
        NoBatchNormError: there is no BatchNorm.
        BadStatisticsError: running statistics are not finite, or a variance is negative.
    """
    if not isinstance(model, nn.Module):
        raise UnsupportedModelError(f"a torch.nn.Module is needed, got {type(model).__name__}")
    scripted = [
        name or "the model" for name, m in model.named_modules() if isinstance(m, torch.jit.ScriptModule)
    ]
    if scripted:
        raise UnsupportedModelError(
            f"{scripted[0]} is scripted, and scripted layers cannot be replaced; pass the original nn.Module"
        )
    norms = {name: m for name, m in model.named_modules() if isinstance(m, BatchNorm)}
    if not norms:
        kinds = sorted({type(m).__name__ for m in model.modules() if "Norm" in type(m).__name__})
        others = f" (it has {', '.join(kinds)})" if kinds else ""
        raise NoBatchNormError(
            f"{type(model).__name__} has no BatchNorm layer{others}, so there is nothing to adapt. "
            "If it was fused already, start from the unfused model."
        )
    for name, layer in norms.items():
        _check(name, layer)
    return norms


def source_stats(layer: BatchNorm) -> Stats:
    """Return the layer's running mean and variance, each (c,), in the precision they are kept in."""
    assert layer.running_mean is not None  # `batchnorms` has checked it
    assert layer.running_var is not None
    return Stats(layer.running_mean, layer.running_var)


def dead_channels(layer: BatchNorm) -> int:
    """Return how many channels of the layer are dead (see `leantta.functional.alive`)."""
    return int((~alive(source_stats(layer), layer.eps)).sum())


def affine(layer: BatchNorm) -> tuple[torch.Tensor, torch.Tensor]:
    """Return scale and offset in float64, each (c,): BatchNorm in eval mode is scale * x + offset."""
    source = source_stats(layer)
    scale = torch.rsqrt(source.var.double() + layer.eps)
    if layer.weight is not None:
        scale = scale * layer.weight.detach().double()
    beta = torch.zeros_like(scale) if layer.bias is None else layer.bias.detach().double()
    return scale, beta - source.mean.double() * scale


def _check(name: str, layer: BatchNorm) -> None:
    if isinstance(layer, nn.modules.lazy.LazyModuleMixin) and layer.has_uninitialized_params():
        raise UnsupportedModelError(f"{name!r} has no parameters yet; run the model once before changing it")
    if layer.running_mean is None or layer.running_var is None:
        raise UnsupportedModelError(
            f"{name!r} keeps no running statistics (track_running_stats=False), so there is nothing to start "
            "from; train with running statistics, or estimate them on source images first"
        )
    mean, var = layer.running_mean, layer.running_var
    if not bool(mean.isfinite().all() and var.isfinite().all()):
        raise BadStatisticsError(
            f"{name!r} has running statistics that are NaN or infinite; the checkpoint is damaged"
        )
    if bool((var < 0).any()):
        raise BadStatisticsError(
            f"{name!r} has {int((var < 0).sum())} of {len(var)} running variances below zero; "
            "the checkpoint is damaged"
        )
    if not bool((var + layer.eps > 0).all()):
        raise BadStatisticsError(
            f"{name!r} has running variances of zero and an eps of {layer.eps}, so it divides by zero; "
            "give it an eps above zero"
        )
