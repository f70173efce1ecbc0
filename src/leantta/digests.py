"""Hashes of what a model is and of what it is given."""

import hashlib
from collections.abc import Mapping

import torch
from torch import Tensor


def tensors_sha256(tensors: Mapping[str, Tensor]) -> str:
    """Return a hash of tensors by name.

    >>> one, other = ({"weight": torch.tensor([value])} for value in (1.0, 2.0))
    >>> tensors_sha256(one) == tensors_sha256(dict(one)), tensors_sha256(one) == tensors_sha256(other)
    (True, False)
    """
    digest = hashlib.sha256()
    for key, value in sorted(tensors.items()):
        digest.update(key.encode())
        digest.update(
            value.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes()
            if value.dim()
            else str(value.item()).encode()
        )
    return digest.hexdigest()
