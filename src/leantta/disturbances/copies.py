"""Disturbed copies of a model's inputs: out of the normalization, through a library, and back into it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from leantta.disturbances.library.disturbance import Library, mixed
from leantta.disturbances.library.tables import LIBRARIES
from leantta.errors import SettingError
from leantta.functional import wide
from leantta.pixels import Inputs, Pixels, floats, joined_inputs

GUESSED = {LIBRARIES[name].axes: name for name in ("motion", "image")}
"""What inputs are taken for if nothing is known but the number of their axes."""


VALUES_AT_ONCE, PARTS_APART = 8_000_000, 1_000_003
"""Values of inputs that are disturbed together, and what lies between the seeds of parts."""


class Copies(NamedTuple):
    """Disturbed copies of inputs, and the kinds of what happened to each."""

    inputs: Inputs  # bytes if the inputs were bytes
    kinds: Tensor  # (n, 2): places among the library's kinds, the second -1 if there was one disturbance only


@dataclass(frozen=True, eq=False)
class Disturbances:
    """What may happen to a model's inputs; an input is (sample - mean) / std of what the library takes."""

    library: Library
    mean: Tensor = field(default_factory=lambda: torch.zeros(1))  # (c,) or (1,)
    std: Tensor = field(default_factory=lambda: torch.ones(1))

    def copies(self, inputs: Inputs, seed: int) -> Copies:
        """Return a disturbed copy of each input (n, c, ...), as the model takes it.

        Copies of bytes are rounded to bytes, as a camera's images are, and made in parts.

        Raises:
            SettingError: the library is for inputs with another number of axes.
        """
        if not isinstance(inputs, Pixels):
            return self._copies(inputs, seed)
        parts = inputs.split(max(1, VALUES_AT_ONCE // math.prod(inputs.shape[1:])))
        made = [self._rounded(part, seed + place * PARTS_APART) for place, part in enumerate(parts)]
        held = joined_inputs([copy.inputs for copy in made])
        return Copies(held, torch.cat([copy.kinds for copy in made]))

    def _rounded(self, inputs: Pixels, seed: int) -> Copies:
        copies, kinds = self._copies(inputs.floats(), seed)
        scale, offset = (value.view(1, -1, 1, 1) for value in (inputs.scale, inputs.offset))
        images = ((floats(copies) - offset) / scale).round().clamp(0, 255).byte()
        held = Pixels.of(images.permute(0, 2, 3, 1).contiguous(), inputs.scale, inputs.offset)
        return Copies(held, kinds)

    def _copies(self, inputs: Tensor, seed: int) -> Copies:
        if inputs.dim() != self.library.axes:
            raise SettingError(
                f"these disturbances are for inputs with {self.library.axes} axes, and the model takes "
                f"{tuple(inputs.shape)}; pass disturbances= that know such inputs"
            )
        mean, std = (_along_channels(value, inputs) for value in (self.mean, self.std))
        samples = inputs * std + mean
        if self.library.least is not None or self.library.most is not None:
            samples = samples.clamp(self.library.least, self.library.most)
        changed = mixed(samples, self.library, torch.Generator().manual_seed(seed))
        names = self.library.kinds
        kind_of = torch.tensor([*(names.index(each.kind) for each in self.library.values()), -1])  # -1: none
        answer = ((changed.samples - mean) / std).to(inputs.dtype)
        return Copies(answer, kind_of[torch.stack(changed[1:], 1)])


def disturbances_of(
    inputs: Tensor,
    *,
    modality: str | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
) -> Disturbances | None:
    """Return the disturbances for such inputs (n, c, ...) of a modality, or None if no library is for them.

    Without a modality, inputs with four axes are images, and those with three are motion. `mean` and `std`
    are what the inputs were normalised with. Without them, where a library has a range, the smallest and
    largest values of each channel are taken for its ends.
    """
    modality = modality or GUESSED.get(inputs.dim(), "")
    if modality not in LIBRARIES:
        return None
    library = LIBRARIES[modality]
    if mean is not None and std is not None:
        return Disturbances(library, torch.tensor(mean), torch.tensor(std))
    if library.least is None or library.most is None:
        return Disturbances(library)
    values = inputs.transpose(0, 1).flatten(1)
    low, high = values.amin(1), values.amax(1)
    std_ = (library.most - library.least) / (high - low).clamp_min(1e-6)
    return Disturbances(library, library.least - low * std_, std_)


def _along_channels(values: Tensor, inputs: Tensor) -> Tensor:
    return values.to(inputs.device, wide(inputs.dtype)).view(-1, *(1,) * (inputs.dim() - 2))
