"""Models whose images have the channels last, as those that come from Keras: made to take them second."""

import copy
from typing import Any

from torch import Tensor, nn


def channels_first(model: nn.Module) -> nn.Module:
    """Return a copy of a model for images (n, h, w, c) that takes (n, c, h, w), as it is given them here.

    It has the same layers by the same names. In a file the change of layout is part of the graph, where it
    costs nothing: an int8 graph has its channels last anyway.
    """
    copied = copy.deepcopy(model)
    copied.register_forward_pre_hook(_to_channels_last)
    return copied


def _to_channels_last(module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    del module
    return tuple(each.permute(0, 2, 3, 1) if isinstance(each, Tensor) else each for each in inputs)
