"""What a gate can measure on source images while it is fitted to a model."""

from collections.abc import Callable, Sequence
from functools import cached_property
from math import inf
from pathlib import Path

import torch
from torch import nn

from leantta.decisions import expected_losses, scores_of
from leantta.disturbances.copies import Copies, Disturbances, disturbances_of
from leantta.errors import SettingError
from leantta.functional import Spread
from leantta.gates.gate import Gate
from leantta.gates.source import Constants
from leantta.pixels import Inputs, floats, joined_inputs
from leantta.progress import Progresses
from leantta.surgery.observe import Observed, observe_all, quick


class SourceImages:
    """A model, the layers of it that adapt, and source images, as `leantta.gates.source.Source` has them."""

    def __init__(
        self,
        model: nn.Module,
        layers: Sequence[str],
        batches: Sequence[Inputs],
        adapting: Callable[[Gate, Constants], nn.Module],
        adapting_only: Callable[[Gate, Constants], nn.Module],
        progress: Progresses,
        disturbances: Disturbances | None = None,
        field: Sequence[Inputs] | None = None,
        resume: Path | None = None,
    ) -> None:
        """Take `adapting`, which returns the model as planned with a gate and its constants in its layers.

        `adapting_only` returns one in which layers without constants are as they were. Without `disturbances`
        those that suit the shape of the images are taken. `field` are images from where the model will run.
        A long fit keeps what it finds at `resume`.
        """
        self.model = model
        self.layers = layers
        self.batches = batches
        self.adapting = adapting
        self.adapting_only = adapting_only
        self.progress = progress
        self.field = field
        self.resume = resume
        self._disturbances = disturbances

    @cached_property
    def disturbances(self) -> Disturbances | None:
        """What may happen to the images; None if nothing is known of them."""
        return self._disturbances or disturbances_of(floats(joined_inputs(self.batches)))

    def copies(self, inputs: Inputs, seed: int) -> Copies:
        """Return disturbed copies of inputs.

        Raises:
            SettingError: nothing is known that disturbs such inputs.
        """
        if self.disturbances is None:
            raise SettingError(
                f"no disturbances are known for inputs {tuple(inputs.shape[1:])}; pass disturbances="
            )
        return self.disturbances.copies(inputs, seed)

    @cached_property
    def _observed(self) -> Observed:
        """What the unchanged model shows, from one pass over the images."""
        return observe_all(self.model, self.batches, progress=self.progress("gate"))

    def spreads(self) -> dict[str, Spread]:
        """Return how single images scatter around the source statistics, for each layer."""
        seen = self._observed.spreads
        return {name: seen[name] for name in self.layers if name in seen}

    def cost(self, gate: Gate, constants: Constants, *, most: float = inf) -> float | None:
        """Return the accuracy that the model expects to lose with this gate; None if it decides nothing.

        No image brings any back, so images are left out once it is sure to be more than `most`.
        """
        before = self._observed.scores
        if before is None:
            return None
        lean = quick(self.adapting(gate, constants))
        losses = before.new_zeros(len(before), dtype=torch.float64)
        done = 0
        with torch.inference_mode():
            for batch in map(floats, self.batches):
                after = scores_of(lean(batch), batch)
                if after is None:
                    return None
                part = slice(done, done + len(batch))
                losses[part] = expected_losses(before[part], after).double()
                if float(losses.mean()) > most:
                    break
                done += len(batch)
        return float(losses.mean())
