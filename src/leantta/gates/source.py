"""What a gate is fitted on, and what fitting gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor, nn

    from leantta.disturbances.copies import Copies
    from leantta.functional import Spread
    from leantta.gates.gate import Gate
    from leantta.pixels import Inputs
    from leantta.progress import Progresses

Constants = Mapping[str, Mapping[str, "Tensor"]]
"""What a gate keeps for each layer: by the layer's name, then by the constant's."""


class Source(Protocol):
    """What a gate is fitted on: a model, the layers of it that adapt, source images, and field images."""

    @property
    def model(self) -> nn.Module:
        """The unchanged model."""

    @property
    def layers(self) -> Sequence[str]:
        """Those that adapt, in execution order."""

    @property
    def batches(self) -> Sequence[Inputs]:
        """The images, as the model takes them."""

    @property
    def field(self) -> Sequence[Inputs] | None:
        """Images from where the model will run, without labels; None if none were given."""

    @property
    def progress(self) -> Progresses:
        """Where to report how far a step of that name is."""

    @property
    def resume(self) -> Path | None:
        """Where a long fit may keep what it finds, to go on from there if it is stopped; None for nowhere."""

    def spreads(self) -> Mapping[str, Spread]:
        """Return how single images scatter around the source statistics, for each layer.

        The spread of a dead channel is infinite.
        """

    def adapting(self, gate: Gate, constants: Constants) -> nn.Module:
        """Return the model as planned, with this gate in its layers."""

    def adapting_only(self, gate: Gate, constants: Constants) -> nn.Module:
        """Return the model with this gate in the layers that have constants, and all else as it was."""

    def copies(self, inputs: Inputs, seed: int) -> Copies:
        """Return disturbed copies of inputs.

        Raises:
            SettingError: nothing is known that disturbs such inputs.
        """

    def cost(self, gate: Gate, constants: Constants, *, most: float = inf) -> float | None:
        """Return the accuracy that the model expects to lose with this gate; None if it decides nothing.

        Of more than `most` it only tells that it is more.
        """


class Report(Protocol):
    """What fitting found, for people and for the metadata of a file."""

    def __str__(self) -> str:
        """Return a table and lines about it."""

    def numbers(self) -> dict[str, Any]:
        """Return what is worth keeping, as JSON has it."""


class Fitted(NamedTuple):
    """A gate as it fits a model; layers that it has no constants for do not adapt if it needs any."""

    gate: Gate
    constants: Constants
    report: Report | None = None
