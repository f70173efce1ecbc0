"""A model as it was opened: the module with its weights, and what is known of its inputs and outputs."""

from dataclasses import dataclass

from torch import nn

from leantta.data.preprocess import Preprocessing


@dataclass(frozen=True, kw_only=True, eq=False)
class OpenedModel:
    """A torch model in evaluation mode, and what the place it comes from says of it."""

    spec: str  # by what it was asked for
    module: nn.Module
    preprocessing: Preprocessing | None = None  # None: nobody said
    classes: tuple[str, ...] | None = None
    input_shape: tuple[int, ...] | None = None  # of one input
    weights_sha256: str | None = None  # of the checkpoint; None: the weights came with the model
