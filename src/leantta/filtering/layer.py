"""The filter of one layer, in closed form: a ridge regression on the features of images and their copies.

`f0` are the features of the clean image in the unchanged model, `f` those of the same image, disturbed, in
the model so far. The filter should answer what brings the disturbed image to where the clean one was:

    t_var  = f_var - f0_var                       in [-2, 2]
    t_mean = f_mean - f0_mean * exp(t_var / 2)
    A = argmin E |f A - t|^2 + ridge * SUM_j E[f_j^2] |A_j|^2

Clean images weigh a quarter, copies the rest.
The distance S leaves clean images alone (see `leantta.gates.filter`), so few of them are enough here.
Only E[f f^T] and E[f t^T] are needed, as sums in float64, once for each kind of disturbance so that it can
be left out. Where there are few images for so many features, the ridge grows by features / images: A shrinks
towards what each feature says alone, and then to nothing. A = into back, of low rank.

Field images have no clean twin. But where shift and content are independent, f = t + content has

    P = Cov[t] = Cov_field[f] - Cov_source[f]
    E[f t^T]   = P + E_field[f] (E_field[f] - E_source[f])^T

They take a part of the copies' weight, by the share of E |f|^2 that is shift: tr E[f t^T] / tr E[f f^T].
So field images that are as the source is change next to nothing.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

Constants = Mapping[str, Tensor]
"""What a layer keeps of its filter: `into`, `back` and `share`."""

RIDGES = (0.1, 0.3, 1.0)

CLEAN = 0.25
"""What clean images weigh in the fit; copies have the rest."""

MOST_ASKED = 2.0
"""The most that a filter is asked to move the logarithm of a variance; more would rule the squares."""

FIELD = 0.5
"""Of the weight that copies have without them, what field images have if all that they show is shift."""

STEPS = 3
"""Of the iteration that turns the directions of all kinds into those without one of them."""


class Candidate(NamedTuple):
    """The filter of a layer: fitted on all kinds of disturbance, and without each of them in turn."""

    constants: Constants
    without: Sequence[Constants]

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
        self,
        clean: Tensor,
        seen: Tensor,
        copies: Tensor,
        kinds: Tensor,
        known: Sequence[int],
        field: Tensor | None = None,
    ) -> None:
        """Take features (n, 2c): of clean images before anything adapts and now, and of their copies.

        There are k * n copies, copy after copy. `kinds` (k * n, 2) are those of what happened to each, the
        second -1 for nothing; `known` are all of them. `field` (m, 2c) are the features of field images now.
        They have no kind, so they are never left out.
        """
        self.channels = clean.shape[1] // 2
        self.clean, self.copies = seen.double(), copies.double()
        self.asked = targets(self.copies, clean.double().repeat(len(copies) // len(clean), 1))
        self.kinds, self.known = kinds, known
        self.of_clean = Moments.of(self.clean, targets(self.clean, clean.double()))
        self.of_copies = Moments.of(self.copies, self.asked)
        self.field = None if field is None else field.double()
        self.of_field = None if self.field is None else field_moments(self.field, self.clean)
        self.field_weight = 0.0 if self.of_field is None else FIELD * _share_of_shift(self.of_field)
        self.parts = []
        for each in known:
            has = (kinds == each).any(1)
            self.parts.append(Moments.of(self.copies[has], self.asked[has]))

    def matrix(self, ridge: float, left_out: int | None = None) -> tuple[Tensor, Tensor]:
        """Return A and E[f f^T] with its ridge; `left_out` is the place of a kind not to fit on."""
        copies = self.of_copies if left_out is None else self.of_copies.less(self.parts[left_out])
        weighed = [(self.of_clean, CLEAN), (copies, 1 - CLEAN)]
        if self.of_field is not None:
            rest, field = 1 - self.field_weight, self.field_weight
            weighed[1:] = [(copies, (1 - CLEAN) * rest), (self.of_field, (1 - CLEAN) * field)]
        groups = [(part, share / max(part.samples, 1)) for part, share in weighed]
        square = sum((share * part.square for part, share in groups), torch.zeros(()))
        cross = sum((share * part.cross for part, share in groups), torch.zeros(()))
        size = square.diagonal()
        crowding = len(size) / (self.of_clean.samples + copies.samples)
        least = 1e-6 * size.mean() + 1e-12
        square = square + torch.diag((ridge + crowding) * size + least)
        return torch.linalg.solve(square, cross), square

    def best_ridge(self) -> tuple[float, tuple[float, float]]:
        """Return the ridge with which left-out kinds are explained best, and what share of them."""
        shares = {ridge: self.explained(ridge) for ridge in RIDGES}
        best = max(RIDGES, key=lambda ridge: sum(shares[ridge]))
        return best, shares[best]

    def explained(self, ridge: float) -> tuple[float, float]:
        """Return the shares of the asked mean and variance that are answered, of left-out kinds."""
        gaps, sizes = torch.zeros(2), torch.zeros(2)
        for place, kind in enumerate(self.known):
            here = self.kinds[:, 0] == kind
            asked = self.asked[here]
            gap = asked - self.copies[here] @ self.matrix(ridge, place)[0]
            gaps += torch.stack([part.square().sum() for part in gap.chunk(2, 1)])
            sizes += torch.stack([part.square().sum() for part in asked.chunk(2, 1)])
        mean, var = (1 - gaps / sizes.clamp_min(1e-12)).tolist()
        return mean, var

    def candidate(self, ridge: float, rank: int) -> Candidate:
        """Return the filter of that rank, at most."""
        matrix, square = self.matrix(ridge)
        wholes = torch.linalg.eigh(matrix.T @ square @ matrix).eigenvectors
        first = wholes[:, -rank:].flip(1)
        without = []
        for place in range(len(self.known)):
            matrix_, square_ = self.matrix(ridge, place)
            without.append(self.factors(matrix_, _directions(matrix_.T @ square_ @ matrix_, first)))
        return Candidate(self.factors(matrix, first), without)

    def factors(self, matrix: Tensor, directions: Tensor) -> dict[str, Tensor]:
        """Return A in the directions (2c, r) alone, and what each counts in the distance.

        In the directions in which its answers scatter most, no other matrix of that rank answers more like A.
        They are turned and scaled such that z = f into has E[z z^T] = 1 over clean images and a diagonal over
        copies. So the distance tells both apart as the likelihood ratio of two normal distributions does:
        z^2 counts 1 less 1 / E[z^2] of copies. Clean images have a mean distance of 1. Field images count
        among the copies, by their weight.
        """
        into = matrix @ directions
        shifted = _scatter(self.copies @ into)
        if self.field is not None:
            shifted = torch.lerp(shifted, _scatter(self.field @ into), self.field_weight)
        turn, again, scatter = _turned(_scatter(self.clean @ into), shifted)
        apart = (1 - 1 / scatter).clamp_min(1e-6)
        return {
            "into": (into @ turn).float().contiguous(),
            "back": (again @ directions.T).float().contiguous(),
            "share": (apart / apart.sum()).float(),
        }

    def field_distance(self, constants: Constants) -> float | None:
        """Return the mean distance of field images, None without any; that of clean images is 1."""
        if self.field is None:
            return None
        along = self.field.float() @ constants["into"]
        return float((along.square() @ constants["share"]).mean())


def field_moments(field: Tensor, clean: Tensor) -> Moments:
    """Return the sums of field images, from their features (m, 2c) and those of clean images (n, 2c).

    What was asked of them is not known, but what it has in common with their features is; see the module. A
    covariance has no negative eigenvalues, so P keeps none. And chance gives some where nothing is shifted:
    P keeps those alone that are larger than any between two halves of the clean images, scaled to as many
    images as are compared here.
    """
    there, here = field.mean(0), clean.mean(0)
    content = clean - here
    values, turn = torch.linalg.eigh(_scatter(field - there) - _scatter(content))
    first, second = content.chunk(2)
    by_chance = torch.linalg.eigvalsh(_scatter(first) - _scatter(second)).abs().max()
    least = by_chance * ((1 / len(field) + 1 / len(clean)) / (4 / len(clean))) ** 0.5
    shift = (turn * torch.where(values > least, values, 0)) @ turn.T
    return Moments(len(field), field.T @ field, len(field) * (shift + torch.outer(there, there - here)))


def _share_of_shift(field: Moments) -> float:
    """Return tr E[f t^T] / tr E[f f^T], from 0 to 1."""
    share = field.cross.trace() / field.square.trace().clamp_min(1e-12)
    return float(share.clamp(0, 1))


def _scatter(seen: Tensor) -> Tensor:
    """Return E[f f^T] of samples (n, k)."""
    return seen.T @ seen / len(seen)


def _turned(first: Tensor, then: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return W, its inverse and d: z W has E[z z^T] = 1 over clean samples and diag(d) over shifted ones.

    `first` and `then` (r, r) are E[z z^T] of both; d falls. Directions that nothing moves along (dead
    channels) stay so.
    """
    least = 1e-9 * first.diagonal().max() + 1e-12
    root = torch.linalg.cholesky(first + least * torch.eye(len(first), dtype=first.dtype))
    white = torch.linalg.solve_triangular(root, then, upper=False)
    white = torch.linalg.solve_triangular(root, white.T, upper=False)
    scatter, turn = torch.linalg.eigh((white + white.T) / 2)
    scatter, turn = scatter.flip(0), turn.flip(1)
    back = turn.T @ root.T
    return torch.linalg.solve_triangular(root.T, turn, upper=True), back, scatter.clamp_min(1e-6)


def _directions(scatter: Tensor, near: Tensor) -> Tensor:
    """Return the directions (2c, r) in which a matrix scatters most, found from others that are near."""
    for _ in range(STEPS):
        near = torch.linalg.qr(scatter @ near).Q
    return near


def targets(seen: Tensor, clean: Tensor) -> Tensor:
    """Return what a filter should answer to features, each (n, 2c); see the module.

    >>> targets(torch.tensor([[0.5, 0.0]]), torch.tensor([[0.2, 0.0]]))
    tensor([[0.3000, 0.0000]])
    """
    mean, var = seen.chunk(2, 1)
    clean_mean, clean_var = clean.chunk(2, 1)
    grown = (var - clean_var).clamp(-MOST_ASKED, MOST_ASKED)
    return torch.cat([mean - clean_mean * (grown / 2).exp(), grown], 1)


def _of_mean(constants: Constants) -> dict[str, Tensor]:
    back = constants["back"].clone()
    back[:, back.shape[1] // 2 :] = 0
    return {**constants, "back": back}
