"""What a network knows of an input just before it decides: the input of its last layer."""

from typing import Any

from torch import Tensor, nn

from leantta.errors import UnsupportedModelError

LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)


class Features:
    """Keeps what went into the last linear or convolutional layer that ran."""

    def __init__(self, network: nn.Module) -> None:
        """Watch the network's layers from now on.

        Raises:
            UnsupportedModelError: there is no such layer.
        """
        self._last: Tensor | None = None
        layers = [layer for layer in network.modules() if isinstance(layer, LAYERS)]
        if not layers:
            raise UnsupportedModelError(
                "features are the input of the last linear or convolutional layer; none"
            )
        for layer in layers:
            layer.register_forward_pre_hook(self._keep)

    def _keep(self, _layer: nn.Module, inputs: tuple[Any, ...]) -> None:
        self._last = inputs[0]

    def of_last_pass(self) -> Tensor:
        """Return the features of the batch that was run last, (n, d)."""
        assert self._last is not None, "nothing was run"
        return self._last.detach().flatten(1)
