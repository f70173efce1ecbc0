"""The filter of one layer against numpy's least squares, and what its factors promise."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor

from leantta.filtering.layer import RIDGES, LayerData, Moments, targets
from reference import assert_close

Array = NDArray[np.float64]
Parts = tuple[Tensor, Tensor, Tensor, Tensor]
CHANNELS, IMAGES, COPIES = 4, 40, 2
KNOWN = (2, 5, 7)


def made_up(seed: int = 0, images: int = IMAGES, *, dead: int | None = None) -> Parts:
    """Return features of clean images before and now, of their copies, and what was done to these."""
    random = torch.Generator().manual_seed(seed)
    scatter = torch.randn(2 * CHANNELS, 2 * CHANNELS, generator=random)
    clean = 0.4 * torch.randn(images, 2 * CHANNELS, generator=random) @ scatter
    seen = clean + 0.05 * torch.randn(images, 2 * CHANNELS, generator=random)
    first = torch.tensor(KNOWN)[torch.randint(len(KNOWN), (COPIES * images,), generator=random)]
    second = torch.where(torch.rand(COPIES * images, generator=random) < 0.4, first.roll(1), -1)
    shift = torch.randn(8, 2 * CHANNELS, generator=random)[first]
    copies = clean.repeat(COPIES, 1) + torch.rand(COPIES * images, 1, generator=random) * shift
    if dead is not None:
        for features in (clean, seen, copies):
            features[:, [dead, CHANNELS + dead]] = 0
    return clean, seen, copies, torch.stack([first, second], 1)


def layer_data(seed: int = 0, images: int = IMAGES, *, dead: int | None = None) -> LayerData:
    return LayerData(*made_up(seed, images, dead=dead), KNOWN)


def asked(seen: Tensor, clean: Tensor) -> Array:
    """What a filter should answer, written a second time."""
    f, f0 = seen.double().numpy(), clean.double().numpy()
    grown = np.clip(f[:, CHANNELS:] - f0[:, CHANNELS:], -2, 2)
    return np.concatenate([f[:, :CHANNELS] - f0[:, :CHANNELS] * np.exp(grown / 2), grown], 1)


def least_squares(parts: Parts, ridge: float, keep: NDArray[np.bool_] | None = None) -> Array:
    """The stated objective as rows of one system: each image by its share, and the ridge as further rows."""
    clean, seen, copies, _ = parts
    keep = np.ones(len(copies), bool) if keep is None else keep
    of_clean, of_copies = seen.double().numpy(), copies.double().numpy()[keep]
    t_clean, t_copies = asked(seen, clean), asked(copies, clean.repeat(COPIES, 1))[keep]
    clean_share, copy_share = 0.25 / len(of_clean), 0.75 / keep.sum()
    share = np.sqrt(np.r_[np.full(len(of_clean), clean_share), np.full(keep.sum(), copy_share)])
    rows = share[:, None] * np.r_[of_clean, of_copies]
    size = (rows**2).sum(0)  # E[f_j^2]
    crowding = rows.shape[1] / len(rows)
    extra = np.diag(np.sqrt((ridge + crowding) * size + 1e-6 * size.mean() + 1e-12))
    wanted = np.r_[share[:, None] * np.r_[t_clean, t_copies], np.zeros_like(extra)]
    return np.linalg.lstsq(np.r_[rows, extra], wanted, rcond=None)[0]


@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("images", [6, IMAGES])  # 6: fewer images than features
def test_the_matrix_is_what_least_squares_finds(ridge: float, images: int) -> None:
    matrix, _ = layer_data(images=images).matrix(ridge)
    assert_close(matrix, least_squares(made_up(images=images), ridge), atol=1e-9)


def test_a_larger_ridge_and_fewer_images_shrink_it() -> None:
    sizes = [float(layer_data().matrix(ridge)[0].norm()) for ridge in RIDGES]
    assert sizes == sorted(sizes, reverse=True)
    parts = made_up()
    doubled = LayerData(
        torch.cat([parts[0], parts[0]]),
        torch.cat([parts[1], parts[1]]),
        torch.cat([parts[2], parts[2]]).view(2, COPIES, IMAGES, -1).transpose(0, 1).flatten(0, 2),
        torch.cat([parts[3], parts[3]]).view(2, COPIES, IMAGES, -1).transpose(0, 1).flatten(0, 2),
        KNOWN,
    )
    assert doubled.matrix(0.1)[0].norm() > layer_data().matrix(0.1)[0].norm()


@pytest.mark.parametrize("place", range(len(KNOWN)))
def test_leaving_out_a_disturbance_is_fitting_without_its_copies(place: int) -> None:
    parts = made_up()
    done = parts[3].numpy()
    keep = (done != KNOWN[place]).all(1)
    assert (keep < (done[:, 0] != KNOWN[place])).any()  # some have it as the second one only
    matrix, square = layer_data().matrix(0.3, place)
    assert_close(matrix, least_squares(parts, 0.3, keep), atol=1e-9)
    assert float(torch.linalg.eigvalsh(square).min()) > 0
    assert np.abs(matrix.numpy() - layer_data().matrix(0.3)[0].numpy()).max() > 1e-3


def test_leaving_out_all_that_there_is_leaves_the_clean_images() -> None:
    clean, seen, copies, done = made_up()
    data = LayerData(clean, seen, copies, torch.full_like(done, 5), KNOWN)
    assert data.matrix(0.1, KNOWN.index(5))[0].isfinite().all()


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), cut=st.integers(0, 3 * IMAGES))
def test_sums_of_parts_are_sums(seed: int, cut: int) -> None:
    random = torch.Generator().manual_seed(seed)
    seen, wanted = (torch.randn(3 * IMAGES, 5, generator=random, dtype=torch.float64) for _ in range(2))
    rest = Moments.of(seen, wanted).less(Moments.of(seen[:cut], wanted[:cut]))
    for found, expected in zip(rest, Moments.of(seen[cut:], wanted[cut:]), strict=True):
        assert_close(found, expected, atol=1e-10)


def test_targets_bring_a_copy_to_where_the_clean_image_was() -> None:
    """Normalised with what the filter should answer, mean and variance are those of the clean image.

    That is so up to the most that is asked of a variance.
    """
    clean, _, copies, _ = made_up()
    answer = targets(copies, clean.repeat(COPIES, 1)).double()
    assert_close(answer, asked(copies, clean.repeat(COPIES, 1)), atol=1e-5)
    mean, log_var = copies.double().chunk(2, 1)
    of_mean, of_var = answer.chunk(2, 1)
    clean_mean, clean_var = clean.double().repeat(COPIES, 1).chunk(2, 1)
    near = (log_var - clean_var).abs() < 2
    assert 0.1 < near.double().mean() < 0.99
    assert_close((mean - of_mean) * (-of_var / 2).exp(), clean_mean, atol=1e-5)
    assert_close((log_var - of_var)[near], clean_var[near], atol=1e-5)
    assert (of_var[~near].abs() == 2).all()
    assert_close(targets(clean, clean), np.zeros(clean.shape), atol=1e-6)


def product(constants: Mapping[str, Tensor]) -> Array:
    answer: Array = (constants["into"].double() @ constants["back"].double()).numpy()
    return answer


def test_factors_of_full_rank_are_the_matrix() -> None:
    data = layer_data()
    matrix, _ = data.matrix(0.1)
    for rank in (2 * CHANNELS, 100):
        constants = data.candidate(0.1, rank).constants
        assert constants["into"].shape == constants["back"].shape == (2 * CHANNELS, 2 * CHANNELS)
        assert_close(product(constants), matrix, atol=1e-5)


@pytest.mark.parametrize("rank", [1, 2, 5])
def test_of_all_matrices_of_a_rank_it_answers_most_like_the_full_one(rank: int) -> None:
    data = layer_data()
    matrix, square = data.matrix(0.1)
    constants = data.candidate(0.1, rank).constants
    found = product(constants)
    assert np.linalg.matrix_rank(found, tol=1e-5) == rank
    assert constants["into"].shape == (2 * CHANNELS, rank)

    def off(other: Array) -> float:
        """E |f A - f B|^2 with the ridge."""
        gap = other - matrix.numpy()
        return float(np.trace(gap.T @ square.numpy() @ gap))

    root = np.linalg.cholesky(square.numpy()).T
    sizes = np.linalg.svd(root @ matrix.numpy(), compute_uv=False)
    assert off(found) == pytest.approx(float((sizes[rank:] ** 2).sum()), rel=1e-3)  # Eckart and Young
    draw = np.random.default_rng(0)
    u, s, v = np.linalg.svd(matrix.numpy())
    rivals = [(u[:, :rank] * s[:rank]) @ v[:rank]]  # the best without regard to f
    for size in (1e-3, 1e-2, 0.1, 1.0):
        for _ in range(50):
            into, back = (
                constants[name].numpy() + size * draw.normal(size=tuple(constants[name].shape))
                for name in ("into", "back")
            )
            best = np.linalg.lstsq(root @ into, root @ matrix.numpy(), rcond=None)[0]
            rivals += [into @ back, into @ best]
    assert off(found) <= min(off(rival) for rival in rivals) + 1e-6


@pytest.mark.parametrize("dead", [None, 1], ids=["alive", "a dead channel"])
@pytest.mark.parametrize("rank", [1, 3, 16])
def test_clean_images_have_a_mean_distance_of_1(rank: int, dead: int | None) -> None:
    data = layer_data(1, dead=dead)
    for constants in (data.candidate(0.3, rank).constants, *data.candidate(0.3, rank).without):
        seen = made_up(1, dead=dead)[1]
        distances = (seen @ constants["into"]).square() @ constants["share"]
        assert float(distances.mean()) == pytest.approx(1, rel=1e-3)
        assert constants["share"].isfinite().all()


@pytest.mark.parametrize("rank", [1, 3, 8])
def test_its_directions_are_apart_over_clean_images_and_over_copies(rank: int) -> None:
    """So that the sum of squares is the likelihood ratio of two normal distributions."""
    parts = made_up()
    constants = layer_data().candidate(0.1, rank).constants
    clean, copies = ((part @ constants["into"]).double().numpy() for part in parts[1:3])
    assert_close(clean.T @ clean / len(clean), np.eye(rank), atol=1e-4)
    scatter = copies.T @ copies / len(copies)
    sizes = np.diag(scatter)
    assert_close(scatter, np.diag(sizes), atol=1e-4 * sizes.max())
    assert (np.diff(sizes) <= 1e-4).all()
    apart = np.maximum(1 - 1 / sizes, 1e-6)
    assert_close(constants["share"], apart / apart.sum(), atol=1e-4)


def test_a_dead_channel_says_nothing_and_is_left_alone() -> None:
    constants = layer_data(dead=1).candidate(0.1, 16).constants
    seen = made_up(dead=1)[2]
    answer = seen @ constants["into"] @ constants["back"]
    assert_close(answer[:, [1, CHANNELS + 1]], np.zeros((len(seen), 2)), atol=1e-6)
    assert answer[:, [0, CHANNELS]].abs().max() > 0.1


def test_a_layer_whose_channels_are_all_dead_answers_nothing() -> None:
    clean, seen, copies, done = (0 * part for part in made_up())
    data = LayerData(clean, seen, copies, done + KNOWN[0], KNOWN)
    ridge, shares = data.best_ridge()
    constants = data.candidate(ridge, 16).constants
    assert all(value.isfinite().all() for value in constants.values())
    assert_close(product(constants), np.zeros((2 * CHANNELS, 2 * CHANNELS)), atol=1e-9)
    assert shares == (pytest.approx(1), pytest.approx(1))  # nothing was asked


def test_a_part_corrects_the_mean_alone() -> None:
    candidate = layer_data().candidate(0.1, 3)
    assert candidate.part("mean and variance") is candidate
    part = candidate.part("mean")
    for whole, of_mean in zip(
        (candidate.constants, *candidate.without), (part.constants, *part.without), strict=True
    ):
        assert torch.equal(of_mean["back"][:, :CHANNELS], whole["back"][:, :CHANNELS])
        assert not of_mean["back"][:, CHANNELS:].any()
        assert whole["back"][:, CHANNELS:].any()


def test_the_ridge_is_the_one_that_explains_left_out_disturbances_best() -> None:
    data = layer_data()
    ridge, shares = data.best_ridge()
    assert ridge in RIDGES
    assert sum(shares) == max(sum(data.explained(each)) for each in RIDGES)
    parts = made_up()
    gaps, sizes = np.zeros(2), np.zeros(2)
    for each in KNOWN:  # what filters without a disturbance leave of it
        done = parts[3].numpy()
        matrix = least_squares(parts, ridge, (done != each).all(1))
        wanted = asked(parts[2], parts[0].repeat(COPIES, 1))
        here = done[:, 0] == each
        gap = wanted[here] - parts[2].double().numpy()[here] @ matrix
        for total, values in ((gaps, gap), (sizes, wanted[here])):
            total += [(half**2).sum() for half in np.split(values, 2, axis=1)]
    assert_close(shares, 1 - gaps / sizes, atol=1e-4)
