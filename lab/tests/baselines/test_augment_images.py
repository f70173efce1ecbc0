import colorsys
import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from leantta_lab.baselines.augment_images import (
    GAIN,
    NOISE,
    augmented,
    blurred,
    grey,
    moved,
    recoloured,
    turned_hue,
)
from reference import assert_close


def drawn(seed=0):
    return torch.Generator().manual_seed(seed)


def images(n=4, height=12, width=10):
    return torch.rand(n, 3, height, width, generator=drawn(9))


def still(n=1, **changed):
    usual = {"angle": 0.0, "right": 0.0, "down": 0.0, "scale": 1.0, **changed}
    mirrored = torch.full((n,), usual.pop("mirrored", False))
    return {**{name: torch.full((n,), float(value)) for name, value in usual.items()}, "mirrored": mirrored}


@pytest.mark.parametrize("view", [augmented, recoloured])
def test_views_are_images_and_every_row_draws_for_itself(view):
    x = images(1).expand(8, 3, 12, 10)
    before = x.clone()
    views = view(x, drawn())
    assert views.shape == x.shape
    assert views.isfinite().all()
    assert views.min() >= 0
    assert views.max() <= 1
    assert torch.equal(x, before)
    for i in range(8):
        for j in range(i):
            assert (views[i] - views[j]).abs().mean() > 0.01, (i, j)


@pytest.mark.parametrize("view", [augmented, recoloured])
def test_views_follow_the_generator_alone(view):
    torch.manual_seed(1)
    first = view(images(), drawn(5))
    torch.manual_seed(2)
    assert torch.equal(view(images(), drawn(5)), first)
    assert not torch.equal(view(images(), drawn(6)), first)


@pytest.mark.parametrize("fill", [0.0, 1.0, 0.5])
def test_images_of_one_colour_stay_finite(fill):
    views = augmented(torch.full((64, 3, 5, 5), fill), drawn())
    assert views.isfinite().all()
    assert (views[:, 0] - views[:, 1]).abs().max() < 10 * NOISE  # grey stays grey


@pytest.mark.parametrize("view", [augmented, recoloured])
@pytest.mark.parametrize("shape", [(500, 2, 40), (500, 1, 6, 8), (500, 20), (500, 4, 5, 5)])
def test_what_is_no_image_gets_noise_and_gain(shape, view):
    x = 7 * torch.randn(shape, generator=drawn(1)) - 30
    views = view(x, drawn())
    gain = views.flatten(1).norm(dim=1) / x.flatten(1).norm(dim=1)
    assert GAIN[0] - 0.01 < gain.min() < GAIN[0] + 0.01
    assert GAIN[1] - 0.01 < gain.max() < GAIN[1] + 0.01
    rest = views.flatten(1) - x.flatten(1) * gain[:, None]
    assert 0.9 < rest.std() / (NOISE * 7) < 1.1


def test_recoloured_images_are_sometimes_grey_inverted_and_mirrored():
    ramp = torch.linspace(0.2, 0.4, 8).expand(3, 8, 8) + torch.tensor([0.1, 0.0, 0.2]).view(3, 1, 1)
    views = recoloured(ramp.expand(1000, 3, 8, 8), drawn())
    is_grey = (views[:, 0] - views[:, 1]).abs().amax((1, 2)) < 1e-6
    is_inverted = views.mean((1, 2, 3)) > 0.62  # of the ramp's 0.4, times 1.4 at most
    falls = (views[..., -1] < views[..., 0]).all(2).all(1)
    assert 0.15 < is_grey.float().mean() < 0.25
    assert 0.1 < is_inverted.float().mean() < 0.25
    assert 0.4 < falls.float().mean() < 0.6  # by a mirror or by an inversion


def test_hues_turn_as_in_the_standard_library():
    x, turns = images(3), torch.tensor([0.06, -0.05, 0.4]).view(3, 1, 1, 1)
    found = turned_hue(x, turns)
    for row, turn, view in zip(x, turns.flatten().tolist(), found, strict=True):
        for pixel, new in zip(row.flatten(1).T.tolist(), view.flatten(1).T, strict=True):
            hue, saturation, value = colorsys.rgb_to_hsv(*pixel)
            assert_close(new, colorsys.hsv_to_rgb((hue + turn) % 1, saturation, value), atol=1e-5)


def test_grey_weighs_the_channels_as_the_eye_does():
    x = images(2)
    assert_close(grey(x)[:, 0], 0.299 * x[:, 0] + 0.587 * x[:, 1] + 0.114 * x[:, 2], atol=1e-6)


def test_nothing_moves_without_a_reason():
    assert_close(moved(images(1), **still()), images(1), atol=1e-5)


def test_mirrored_images_are_flipped():
    assert_close(moved(images(2), **still(2, mirrored=True)), images(2).flip(3), atol=1e-5)


@pytest.mark.parametrize("mirrored", [False, True])
def test_images_move_right_and_down_by_parts_of_their_size(mirrored):
    x = images(1)
    found = moved(x, **still(right=2 / 10, down=3 / 12, mirrored=mirrored))
    wanted = F.pad(x, (2, 0, 3, 0), mode="replicate")[:, :, :12, :10]
    assert_close(found, wanted.flip(3) if mirrored else wanted, atol=1e-5)


def test_a_quarter_turn_is_one_whatever_the_sides():
    x = images(1, 9, 9)
    assert_close(moved(x, **still(angle=math.pi / 2)), x.rot90(-1, (2, 3)), atol=1e-4)
    wide = images(1, 8, 14)
    found = moved(wide, **still(angle=math.pi / 2))[..., 3:11]
    assert_close(found, wide[..., 3:11].rot90(-1, (2, 3)), atol=1e-4)


def test_scaling_up_shows_the_middle():
    ramp = torch.linspace(-1, 1, 9).expand(1, 3, 9, 9).contiguous()
    assert_close(moved(ramp, **still(scale=2.0)), ramp / 2, atol=1e-5)


def test_blur_is_a_bell_of_five_pixels_along_both_sides():
    x, deviation = images(2), [0.5, 0.001]
    found = blurred(x, torch.tensor(deviation).view(2, 1, 1, 1))
    assert_close(found[1], x[1], atol=1e-6)
    bell = np.exp(-0.5 * (np.arange(-2, 3) / deviation[0]) ** 2)
    bell /= bell.sum()
    padded = np.pad(x[0].numpy(), ((0, 0), (2, 2), (2, 2)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (5, 5), axis=(1, 2))
    assert_close(found[0], np.einsum("chwij,i,j->chw", windows, bell, bell), atol=1e-5)
