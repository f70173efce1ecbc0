"""What methods that learn share: the entropy that they descend, and their parameters as one vector.

As one vector, an optimizer, an average or a penalty is one call, not hundreds.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


def entropy(logits: Tensor) -> Tensor:
    """Return the entropy of each row's softmax, in nats, (n,).

    >>> entropy(torch.zeros(1, 2))  # ln 2
    tensor([0.6931])
    """
    return -(logits.softmax(1) * logits.log_softmax(1)).sum(1)


def flattened(parameters: Sequence[nn.Parameter]) -> nn.Parameter:
    """Return a vector of the parameters and their gradients; each becomes a window on it, ready to train.

    >>> layer = nn.Linear(2, 1)
    >>> vector = flattened(list(layer.parameters()))
    >>> vector.data.fill_(3)
    tensor([3., 3., 3.])
    >>> layer(torch.ones(1, 2)).item()
    9.0
    """
    vector = nn.Parameter(torch.cat([parameter.detach().reshape(-1) for parameter in parameters]))
    gradient = torch.zeros_like(vector)
    sizes = [parameter.numel() for parameter in parameters]
    windows = zip(parameters, vector.detach().split(sizes), gradient.split(sizes), strict=True)
    for parameter, values, slopes in windows:
        parameter.data = values.view_as(parameter)
        parameter.requires_grad_(True).grad = slopes.view_as(parameter)
    vector.grad = gradient
    return vector


def descend(loss: Tensor, optimizer: torch.optim.Optimizer) -> None:
    """Take one step of an optimizer of flattened parameters; a loss that is no number is no step."""
    if torch.isfinite(loss):
        optimizer.zero_grad(set_to_none=False)  # the windows stay where they are
        loss.backward()
        optimizer.step()
