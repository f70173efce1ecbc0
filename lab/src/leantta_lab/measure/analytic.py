"""Memory as the paper's table of systems counts it: on paper, not on a machine.

With P the parameters, A what one image needs at the peak, G what is kept of it for gradients, B the batch:

    inference   P                        RealisticTTA and LeanTTA too: no gradients
    Tent        P + A B + 3 G            Adam: a gradient and two moments
    EATA        P + A B + 2 G            SGD with momentum
    CoTTA       6 P + A' B + 2 G'        three networks, and what they go back to

The paper does not say what exactly A and G are; that G does not grow with the batch is the paper's. Taking
what goes into the BatchNorms for G, and A as that with the last BatchNorm's output, gives its figures for
VGGish, and for ResNet18 and MobileNetV2 all but 3 % of them. Primes are over all layers instead: for CoTTA
this is less than the paper counts.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor, nn

FLOAT = 4
"""Bytes of a value in float32."""


class Footprint(NamedTuple):
    """How many values a network holds: parameters, and for one input what its layers put out."""

    parameters: int
    norms: int = 0  # what goes into the BatchNorms, in sum
    last_norm: int = 0  # what comes out of the last of them
    layers: int = 0  # what comes out of all layers, in sum

    @property
    def kept(self) -> int:
        """G in bytes."""
        return FLOAT * self.norms

    @property
    def peak(self) -> int:
        """A in bytes."""
        return FLOAT * (self.norms + self.last_norm)


def footprint(model: "nn.Module", inputs: "Tensor") -> Footprint:
    """Return the footprint of a model, found by running it on one input (1, ...)."""
    import torch
    from torch.nn.modules.batchnorm import _BatchNorm

    norms: list[int] = []
    layers: list[int] = []

    def count(module: "nn.Module", _: tuple[Any, ...], output: object) -> None:
        if isinstance(output, torch.Tensor):
            layers.append(output.numel())
            if isinstance(module, _BatchNorm):
                norms.append(output.numel())

    leaves = [module for module in model.modules() if not list(module.children())]
    handles = [leaf.register_forward_hook(count) for leaf in leaves]
    try:
        with torch.no_grad():
            model(inputs[:1])
    finally:
        for handle in handles:
            handle.remove()
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return Footprint(parameters, sum(norms), norms[-1] if norms else 0, sum(layers))


def fp32_bytes(network: Footprint, batch: int) -> int:
    """Return P, whatever the batch.

    >>> fp32_bytes(Footprint(100), 64)
    400
    """
    del batch
    return FLOAT * network.parameters


def int8_bytes(network: Footprint, batch: int) -> int:
    """Return P with a byte for each parameter."""
    del batch
    return network.parameters


def tent_bytes(network: Footprint, batch: int) -> int:
    """Return P + A B + 3 G.

    >>> round(tent_bytes(Footprint(4_686_657, 3_686_400, 122_880), 16) / 1e6, 1)  # VGGish; the paper: 306.8
    306.8
    """
    return fp32_bytes(network, batch) + network.peak * batch + 3 * network.kept


def eata_bytes(network: Footprint, batch: int) -> int:
    """Return P + A B + 2 G."""
    return fp32_bytes(network, batch) + network.peak * batch + 2 * network.kept


def cotta_bytes(network: Footprint, batch: int) -> int:
    """Return 6 P + A' B + 2 G'."""
    return 6 * fp32_bytes(network, batch) + FLOAT * network.layers * (batch + 2)
