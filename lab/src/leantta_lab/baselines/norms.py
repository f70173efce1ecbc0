"""BatchNorms whose statistics are a method's own choice, put in the place of a network's."""

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from leantta.errors import NoBatchNormError
from leantta.functional import Stats, along_channels, has_one_position, normalize, positions_of

BATCHNORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
MANY_POSITIONS = 64
"""From how many values per channel on group norm's kernel, with a group per channel, is the fastest."""

NormT = TypeVar("NormT", bound="SourceNorm")


class SourceNorm(nn.Module):
    """A BatchNorm's statistics, scale and offset; as it stands it does what the BatchNorm did."""

    source_mean: Tensor
    source_var: Tensor

    def __init__(self, norm: nn.Module) -> None:
        super().__init__()
        assert isinstance(norm, BATCHNORMS)
        assert norm.running_mean is not None
        assert norm.running_var is not None
        ones = torch.ones_like(norm.running_var)
        self.eps = norm.eps
        weight = ones if norm.weight is None else norm.weight.detach().clone()
        bias = 0 * ones if norm.bias is None else norm.bias.detach().clone()
        self.weight = nn.Parameter(weight, requires_grad=False)
        self.bias = nn.Parameter(bias, requires_grad=False)
        self.register_buffer("source_mean", norm.running_mean.clone())
        self.register_buffer("source_var", norm.running_var.clone())

    @property
    def source(self) -> Stats:
        """The statistics of the training data, each (c,)."""
        return Stats(self.source_mean, self.source_var)

    def forward(self, x: Tensor) -> Tensor:
        """Return x (n, c, *positions) normalized with the source statistics."""
        return self.normalized(x, self.source)

    def normalized(self, x: Tensor, stats: Stats) -> Tensor:
        """Return x normalized with statistics of the whole batch (c,) or of each sample (n, c)."""
        if stats.mean.dim() == 1:
            return F.batch_norm(x, stats.mean, stats.var, self.weight, self.bias, eps=self.eps)
        return normalize(x, stats, self.weight, self.bias, self.eps)


class BatchNorm(SourceNorm):
    """Normalizes with the biased statistics of the batch (BN-batch); the source's are not used."""

    def forward(self, x: Tensor) -> Tensor:
        """Return x normalized with its own statistics; one value alone in its channel becomes the offset."""
        if len(x) == 1:  # with channels last the gradient of torch 2.13's group norm reads where it must not
            return self.normalized_apart(x.contiguous())
        if not x.is_contiguous(memory_format=torch.channels_last):
            x = x.contiguous()
        return F.batch_norm(x, None, None, self.weight, self.bias, training=True, eps=self.eps)

    def normalized_apart(self, x: Tensor) -> Tensor:
        """Return x with each of its samples normalized by its own statistics."""
        n, channels = x.shape[:2]
        if has_one_position(x):
            return x * 0 + along_channels(self.bias, x)
        if positions_of(x) >= MANY_POSITIONS:
            return F.group_norm(x, channels, self.weight, self.bias, self.eps)
        weight, bias = (each if n == 1 else each.repeat(n) for each in (self.weight, self.bias))
        wide = x.reshape(1, n * channels, -1)
        return F.batch_norm(wide, None, None, weight, bias, training=True, eps=self.eps).view(x.shape)


def sample_stats(x: Tensor) -> Stats:
    """Return mean and biased variance of each channel of each sample of x (n, c, *positions), each (n, c)."""
    n, channels, positions = *x.shape[:2], positions_of(x)
    rows = x.reshape(n, channels, positions).contiguous()  # a layer before may have put channels last
    if x.requires_grad and torch.is_grad_enabled():
        var, mean = torch.var_mean(rows, 2, correction=0)
        return Stats(mean, var)
    # The kernels of normalizing layers are several times faster, but know no gradient of their statistics.
    if positions >= MANY_POSITIONS:
        _, mean, inverse = torch.native_group_norm(rows, None, None, n, channels, positions, channels, 0.0)
        return Stats(mean, inverse.pow(-2))
    mean, var = torch.batch_norm_update_stats(rows.view(1, n * channels, positions), None, None, 0.0)
    return Stats(mean.view(n, channels), var.view(n, channels))


def batch_stats(x: Tensor) -> Stats:
    """Return mean and biased variance of each channel of x (n, c, *positions) over the batch, each (c,)."""
    mean, var = sample_stats(x)
    if len(x) == 1:
        return Stats(mean[0], var[0])
    between, over_all = torch.var_mean(mean, 0, correction=0)
    return Stats(over_all, var.mean(0) + between)


def replace_norms(network: nn.Module, make: Callable[[nn.Module], NormT]) -> list[NormT]:
    """Put `make(norm)` in the place of each BatchNorm; return the new layers in the order of registration.

    Only plain BatchNorms with running statistics are exchanged: a subclass may do more than normalize, and
    one without statistics normalizes with the batch anyway. A layer that is used in two places stays one.

    Raises:
        NoBatchNormError: there is none.
    """
    replaced: dict[nn.Module, NormT] = {}
    for path, norm in list(network.named_modules(remove_duplicate=False)):
        if type(norm) in BATCHNORMS and norm.running_mean is not None:
            parent, _, name = path.rpartition(".")
            replaced[norm] = replaced.get(norm) or make(norm)
            setattr(network.get_submodule(parent), name, replaced[norm])
    if not replaced:
        raise NoBatchNormError("the model has no BatchNorm with running statistics, so nothing can adapt")
    return list(replaced.values())


def affine_parameters(norms: list[NormT]) -> list[nn.Parameter]:
    """Return scale and offset of each layer, ready to be trained."""
    parameters = [parameter for norm in norms for parameter in (norm.weight, norm.bias)]
    for parameter in parameters:
        parameter.requires_grad_(True)
    return parameters
