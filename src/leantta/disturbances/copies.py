"""Disturbed copies of a model's inputs: out of the normalization, through a library, and back into it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from leantta.disturbances.library.disturbance import Library, mixed
from leantta.disturbances.library.tables import LIBRARIES
from leantta.errors import SettingError
from leantta.functional import wide

GUESSED = {LIBRARIES[name].axes: name for name in ("motion", "image")}
"""What inputs are taken for if nothing is known but the number of their axes."""


class Copies(NamedTuple):
    """Disturbed copies of inputs, and the kinds of what happened to each."""

    inputs: Tensor
    kinds: Tensor  # (n, 2): places among the library's kinds, the second -1 if there was one disturbance only


@dataclass(frozen=True, eq=False)
class Disturbances:
    """What may happen to a model's inputs; an input is (sample - mean) / std of what the library takes."""

    library: Library
    mean: Tensor = field(default_factory=lambda: torch.zeros(1))  # (c,) or (1,)
    std: Tensor = field(default_factory=lambda: torch.ones(1))

    def copies(self, inputs: Tensor, seed: int) -> Copies:
        """Return a disturbed copy of each input (n, c, ...), as the model takes it.

        Raises:
            SettingError: the library is for inputs with another number of axes.
        """
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
