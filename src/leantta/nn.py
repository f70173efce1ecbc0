"""Layers that take the place of BatchNorm and normalise each sample with blended statistics.

They are thin: the maths is in `leantta.functional`. They keep BatchNorm's parameter and buffer names, so a
checkpoint of the model still loads, and they hold no state that a call could change: nothing needs resetting,
and `train()` or `eval()` make no difference. The exception is asked for: with a `memory` they remember the
inputs before, until `forget`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar

import torch
from torch import Tensor, nn

from leantta import functional as F
from leantta.errors import SettingError, UnsupportedModelError
from leantta.gates.gate import Gate
from leantta.gates.paper import PaperGate
from leantta.layer_memory import LayerMemory
from leantta.memory import StreamMemory


class AdaptiveNorm(nn.Module):
    """BatchNorm whose statistics move towards those of the sample; use `AdaptiveNorm1d`, `2d` or `3d`."""

    dims: ClassVar[tuple[int, ...]] = (2, 3, 4, 5)
    watcher: Callable[[F.Reading], None] | None

    running_mean: Tensor
    running_var: Tensor

    def __init__(
        self,
        num_features: int,
        *,
        gate: Gate = PaperGate(),  # noqa: B008 - frozen
        eps: float = 1e-5,
        affine: bool = True,
        mixture_variance: bool = False,
        adapt_vectors: bool = False,
        memory: StreamMemory | None = None,
    ) -> None:
        """Make a layer with the statistics of an untrained BatchNorm.

        `mixture_variance` adds the variance between source and sample to the blend. `adapt_vectors` lets the
        mean follow samples that have one position per channel; their variance stays the source's in any case.
        The `memory` is for a gate that remembers.
        """
        super().__init__()
        self.num_features = num_features
        self.gate = gate
        self.eps = eps
        self.mixture_variance = mixture_variance
        self.adapt_vectors = adapt_vectors
        self.memory = None if memory is None else LayerMemory(memory)
        self.watcher = None
        self.weight = nn.Parameter(torch.ones(num_features)) if affine else None
        self.bias = nn.Parameter(torch.zeros(num_features)) if affine else None
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))
        for name in gate.constants:
            self.register_buffer(name, None)

    def forward(self, x: Tensor) -> Tensor:  # (n, c, *positions)
        """Normalise each sample of x on its own."""
        if x.dim() not in self.dims or x.shape[1] != self.num_features:
            raise UnsupportedModelError(
                f"{type(self).__name__}({self.num_features}) takes (n, {self.num_features}, ...) of rank "
                f"{' or '.join(map(str, self.dims))}, got {tuple(x.shape)}"
            )
        source, gamma, beta = self._values(F.wide(x.dtype))
        shift = F.shift_of_alive(F.measure(x, source), F.alive(source, self.eps))
        stats, reading = self.gate.statistics(
            shift,
            source,
            self.constants(),
            eps=self.eps,
            mixture_variance=self.mixture_variance,
            memory=self.memory,
        )
        if not self.adapt_vectors and F.has_one_position(x):
            reading = reading._replace(weight=torch.zeros_like(reading.weight))
            stats = F.Stats(*(value.expand_as(shift.mean).contiguous() for value in source))
        if self.watcher is not None:
            self.watcher(reading)
        return F.normalize(x, stats, gamma, beta, self.eps)

    def constants(self) -> dict[str, Tensor]:
        """Return what the gate keeps for this layer.

        Raises:
            SettingError: the gate was never fitted.
        """
        kept = {name: self._buffers[name] for name in self.gate.constants}
        known = {name: value for name, value in kept.items() if value is not None}
        if len(known) < len(kept):
            raise SettingError(
                f"the {self.gate.name} gate has seen no source images: leantta.adapt(..., calibration=images)"
            )
        return known

    def _values(self, dtype: torch.dtype) -> tuple[F.Stats, Tensor, Tensor]:
        """Return the source statistics and the affine parameters, each (c,), in that precision."""
        mean, var = self.running_mean, self.running_var
        gamma: Tensor = torch.ones_like(mean) if self.weight is None else self.weight
        beta: Tensor = torch.zeros_like(mean) if self.bias is None else self.bias
        if mean.dtype is dtype:  # the usual case, and four operators less
            return F.Stats(mean, var), gamma, beta
        return F.Stats(mean.to(dtype), var.to(dtype)), gamma.to(dtype), beta.to(dtype)

    def extra_repr(self) -> str:
        """Return what `print(model)` shows."""
        return f"{self.num_features}, {self.gate}, eps={self.eps}"


class AdaptiveNorm1d(AdaptiveNorm):
    """Takes (n, c) or (n, c, t)."""

    dims = (2, 3)


class AdaptiveNorm2d(AdaptiveNorm):
    """Takes (n, c, h, w).

    >>> layer = AdaptiveNorm2d(3, gate=PaperGate(tau=1.0))
    >>> x = torch.arange(12.0).reshape(1, 3, 2, 2)
    >>> bool(torch.allclose(layer(x), nn.BatchNorm2d(3).eval()(x)))
    True
    """

    dims = (4,)


class AdaptiveNorm3d(AdaptiveNorm):
    """Takes (n, c, d, h, w)."""

    dims = (5,)


class ChannelAffine(nn.Module):
    """BatchNorm in eval mode for good: one scale and one offset per channel, whatever `train()` says."""

    scale: Tensor
    offset: Tensor

    def __init__(self, scale: Tensor, offset: Tensor) -> None:
        super().__init__()
        self.register_buffer("scale", scale)
        self.register_buffer("offset", offset)

    def forward(self, x: Tensor) -> Tensor:  # (n, c, *positions)
        """Return scale * x + offset."""
        return torch.addcmul(F.along_channels(self.offset, x), x, F.along_channels(self.scale, x)).to(x.dtype)

    def extra_repr(self) -> str:
        """Return what `print(model)` shows."""
        return str(len(self.scale))


def forget(model: nn.Module) -> None:
    """Let every adapting layer of a model forget the inputs it remembers."""
    for module in model.modules():
        if isinstance(module, AdaptiveNorm) and module.memory is not None:
            module.memory.forget()


@contextmanager
def watch(model: nn.Module) -> Iterator[dict[str, F.Reading]]:
    """Give a dict that each call of the model fills with the distance and weight of its adapting layers.

    Outside of the block the layers keep nothing and pay nothing.

    >>> model = nn.Sequential(AdaptiveNorm2d(3))
    >>> with watch(model) as readings:
    ...     _ = model(torch.zeros(2, 3, 4, 4))
    >>> readings["0"].distance.tolist()
    [0.0, 0.0]
    """
    layers = {name: m for name, m in model.named_modules() if isinstance(m, AdaptiveNorm)}
    readings: dict[str, F.Reading] = {}

    def keep(name: str) -> Callable[[F.Reading], None]:
        return lambda reading: readings.__setitem__(name, F.Reading(*(v.flatten() for v in reading)))

    try:
        for name, layer in layers.items():
            layer.watcher = keep(name)
        yield readings
    finally:
        for layer in layers.values():
            layer.watcher = None
