"""How sure a network is: the entropy of its softmax."""

from torch import Tensor


def entropy(logits: Tensor) -> Tensor:
    """Return the entropy of each row's softmax, in nats, (n,).

    >>> import torch
    >>> entropy(torch.zeros(1, 2))  # ln 2
    tensor([0.6931])
    """
    return -(logits.softmax(1) * logits.log_softmax(1)).sum(1)
