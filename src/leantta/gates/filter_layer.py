"""The filter of one layer, in closed form: a ridge regression on the features of images and their copies.

`f0` are the features of the clean image in the unchanged model, `f` those of the same image, disturbed, in
the model so far. The filter should answer what brings the disturbed image to where the clean one was:

    t_var  = f_var - f0_var
    t_mean = f_mean - f0_mean * exp(t_var / 2)
    A = argmin E |f A - t|^2 + ridge * SUM_j E[f_j^2] |A_j|^2         clean images and copies weigh the same

Only E[f f^T] and E[f t^T] are needed, as sums in float64, once for each disturbance so that it can be left
out. Where there are few images for so many features, the ridge grows by features / images: A shrinks towards
what each feature says alone, and then to nothing. A = into back, of low rank.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

RIDGES = (0.1, 0.3, 1.0, 3.0)


class Candidate(NamedTuple):
    """The filter of a layer: fitted on all disturbances, and without each of them in turn."""

    constants: Mapping[str, Tensor]
    without: Sequence[Mapping[str, Tensor]]

    def part(self, name: str) -> "Candidate":
        """Return the filter that corrects the mean alone, or both."""
        if name != "mean":
            return self
        return Candidate(_of_mean(self.constants), [_of_mean(each) for each in self.without])


class Moments(NamedTuple):
    """Sums over samples: how many, f f^T and f t^T."""

    samples: int
    square: Tensor
    cross: Tensor

    @classmethod
    def of(cls, seen: Tensor, asked: Tensor) -> "Moments":
        """Return the sums of features and what should be answered to them, each (n, 2c)."""
        return cls(len(seen), seen.T @ seen, seen.T @ asked)

    def less(self, part: "Moments") -> "Moments":
        """Return the sums without those of a part."""
        return Moments(self.samples - part.samples, self.square - part.square, self.cross - part.cross)


class LayerData:
    """What one layer saw of the images and of their copies, and what its filter should answer."""

    def __init__(
        self, clean: Tensor, seen: Tensor, copies: Tensor, done: Tensor, known: Sequence[int]
    ) -> None:
        """Take features (n, 2c): of clean images before anything adapts and now, and of their copies.

        There are k * n copies, copy after copy. `done` (k * n, 2) are the disturbances of each, the second -1
        for none; `known` are all of them.
        """
        self.channels = clean.shape[1] // 2
        self.clean, self.copies = seen.double(), copies.double()
        self.asked = targets(self.copies, clean.double().repeat(len(copies) // len(clean), 1))
        self.done, self.known = done, known
        self.of_clean = Moments.of(self.clean, targets(self.clean, clean.double()))
        self.of_copies = Moments.of(self.copies, self.asked)
        self.parts = []
        for each in known:
            has = (done == each).any(1)
            self.parts.append(Moments.of(self.copies[has], self.asked[has]))

    def matrix(self, ridge: float, left_out: int | None = None) -> tuple[Tensor, Tensor]:
        """Return A and E[f f^T] with its ridge; `left_out` is the place of a disturbance not to fit on."""
        copies = self.of_copies if left_out is None else self.of_copies.less(self.parts[left_out])
        both = [(part, 0.5 / max(part.samples, 1)) for part in (self.of_clean, copies)]
        square = sum((share * part.square for part, share in both), torch.zeros(()))
        cross = sum((share * part.cross for part, share in both), torch.zeros(()))
        size = square.diagonal()
        crowding = len(size) / (self.of_clean.samples + copies.samples)
        least = 1e-6 * size.mean() + 1e-12
        square = square + torch.diag((ridge + crowding) * size + least)
        return torch.linalg.solve(square, cross), square

    def best_ridge(self) -> tuple[float, tuple[float, float]]:
        """Return the ridge with which left-out disturbances are explained best, and what share of them."""
        shares = {ridge: self.explained(ridge) for ridge in RIDGES}
        best = max(RIDGES, key=lambda ridge: sum(shares[ridge]))
        return best, shares[best]

    def explained(self, ridge: float) -> tuple[float, float]:
        """Return the shares of the asked mean and variance that are answered, of left-out disturbances."""
        gaps, sizes = torch.zeros(2), torch.zeros(2)
        for place, disturbance in enumerate(self.known):
            here = self.done[:, 0] == disturbance
            asked = self.asked[here]
            gap = asked - self.copies[here] @ self.matrix(ridge, place)[0]
            gaps += torch.stack([part.square().sum() for part in gap.chunk(2, 1)])
            sizes += torch.stack([part.square().sum() for part in asked.chunk(2, 1)])
        mean, var = (1 - gaps / sizes.clamp_min(1e-12)).tolist()
        return mean, var

    def candidate(self, ridge: float, rank: int) -> Candidate:
        """Return the filter of that rank, at most."""
        without = [self.factors(*self.matrix(ridge, place), rank) for place in range(len(self.known))]
        return Candidate(self.factors(*self.matrix(ridge), rank), without)

    def factors(self, matrix: Tensor, square: Tensor, rank: int) -> dict[str, Tensor]:
        """Return A as two matrices, and the weights with which clean images have a mean distance of 1.

        Of all matrices of that rank, theirs answers most like A.
        """
        values, vectors = torch.linalg.eigh(square)
        roots = values.clamp_min(1e-12).sqrt()
        half, inverse = (vectors * roots) @ vectors.T, (vectors / roots) @ vectors.T
        left, sizes, right = torch.linalg.svd(half @ matrix, full_matrices=False)
        into = inverse @ left[:, :rank]
        scatter = (self.clean @ into).square().mean(0)
        moves = scatter > 1e-9  # dead channels have directions that nothing moves along
        share = torch.where(moves, 1 / (moves.sum().clamp_min(1) * scatter.clamp_min(1e-9)), 0)
        return {
            "into": into.float().contiguous(),
            "back": (sizes[:rank, None] * right[:rank]).float().contiguous(),
            "share": share.float(),
        }


def targets(seen: Tensor, clean: Tensor) -> Tensor:
    """Return what a filter should answer to features, each (n, 2c); see the module.

    >>> targets(torch.tensor([[0.5, 0.0]]), torch.tensor([[0.2, 0.0]]))
    tensor([[0.3000, 0.0000]])
    """
    mean, var = seen.chunk(2, 1)
    clean_mean, clean_var = clean.chunk(2, 1)
    grown = var - clean_var
    return torch.cat([mean - clean_mean * (grown / 2).exp(), grown], 1)


def _of_mean(constants: Mapping[str, Tensor]) -> dict[str, Tensor]:
    back = constants["back"].clone()
    back[:, back.shape[1] // 2 :] = 0
    return {**constants, "back": back}
