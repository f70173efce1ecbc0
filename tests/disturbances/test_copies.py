"""Disturbed copies of a model's inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from leantta.data.logmel import BANDS
from leantta.disturbances.copies import Disturbances, disturbances_of
from leantta.disturbances.library.camera import CAMERA
from leantta.disturbances.library.disturbance import mixed
from leantta.disturbances.library.motion import MOTION
from leantta.disturbances.library.sound import SOUND
from leantta.errors import DataError, SettingError
from leantta.export.source import read_source
from leantta.pixels import floats
from motion_files import made_up
from reference import assert_close

MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.25, 0.3)


def images(count: int = 30) -> Tensor:
    """Samples as a camera gives them, from 0 to 1."""
    return torch.rand(count, 3, 12, 12, generator=torch.Generator().manual_seed(0))


def beside(values: tuple[float, ...]) -> Tensor:
    return torch.tensor(values).view(-1, 1, 1)


def of(inputs: Tensor, **settings: Any) -> Disturbances:
    found = disturbances_of(inputs, **settings)
    assert found is not None
    return found


def test_inputs_leave_their_normalization_for_the_library_and_return_to_it() -> None:
    inputs = (images() - beside(MEAN)) / beside(STD)
    before = inputs.clone()
    copies = of(inputs, mean=MEAN, std=STD).copies(inputs, seed=4)
    wanted = mixed(images(), CAMERA, torch.Generator().manual_seed(4))
    assert_close(copies.inputs, (wanted.samples - beside(MEAN)) / beside(STD), atol=1e-4)
    kinds = [CAMERA.kinds.index(each.kind) for each in CAMERA.values()]
    first, second = (places.tolist() for places in wanted[1:])
    assert copies.kinds[:, 0].tolist() == [kinds[place] for place in first]
    assert copies.kinds[:, 1].tolist() == [-1 if place == -1 else kinds[place] for place in second]
    assert torch.equal(inputs, before)
    assert int(copies.kinds[:, 0].min()) >= 0
    assert set(copies.kinds[:, 1].tolist()) > {-1}


def test_the_seed_decides() -> None:
    given = of(images())
    first, again, other = (given.copies(images(), seed) for seed in (1, 1, 2))
    assert torch.equal(floats(first.inputs), floats(again.inputs))
    assert torch.equal(first.kinds, again.kinds)
    assert not torch.equal(floats(first.inputs), floats(other.inputs))
    assert not torch.equal(first.kinds, other.kinds)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_copies_have_the_precision_of_the_inputs(dtype: torch.dtype) -> None:
    inputs = images().to(dtype)
    copies = floats(of(images(), mean=MEAN, std=STD).copies(inputs, 0).inputs)
    assert copies.dtype is dtype
    assert copies.shape == inputs.shape


def test_without_a_mean_the_ends_of_each_channel_are_those_of_the_range() -> None:
    """Otherwise noise of a camera would be far too weak or too strong."""
    inputs = (
        images() * torch.tensor([2.0, 10, 0.1])[:, None, None] + torch.tensor([5.0, -3, 0])[:, None, None]
    )
    guessed = of(inputs)
    assert guessed.library is CAMERA
    samples = inputs * guessed.std[:, None, None] + guessed.mean[:, None, None]
    assert_close(samples.amin((0, 2, 3)), np.zeros(3), atol=1e-5)
    assert_close(samples.amax((0, 2, 3)), np.ones(3), atol=1e-5)
    copies = floats(guessed.copies(inputs, 0).inputs)
    assert_close(copies.amin((0, 2, 3)), inputs.amin((0, 2, 3)), atol=1e-3)
    assert_close(copies.amax((0, 2, 3)), inputs.amax((0, 2, 3)), atol=1e-3)


def test_a_channel_that_never_changes_is_no_division_by_zero() -> None:
    inputs = images()
    inputs[:, 1] = 0.5
    assert floats(of(inputs).copies(inputs, 0).inputs).isfinite().all()


def test_values_beyond_the_range_are_set_to_its_end() -> None:
    inputs = (images() - beside(MEAN)) / beside(STD)
    inputs[:, :, 0] = 100
    copies = floats(of(inputs, mean=MEAN, std=STD).copies(inputs, 0).inputs)
    assert copies.max() <= (1 - 0.3) / 0.2 + 1e-3
    assert copies.isfinite().all()


def test_motion_has_no_range_and_is_taken_as_it_is() -> None:
    windows = torch.from_numpy(made_up(np.arange(24) % 6))
    guessed = of(windows)
    assert guessed.library is MOTION
    copies = guessed.copies(windows, 3)
    wanted = mixed(windows, MOTION, torch.Generator().manual_seed(3))
    assert_close(floats(copies.inputs), wanted.samples, atol=0)
    mean, std = windows.mean((0, 2)), windows.std((0, 2))
    normal = (windows - mean[:, None]) / std[:, None]
    apart = of(normal, modality="motion", mean=mean.tolist(), std=std.tolist()).copies(normal, 3)
    assert_close(floats(apart.inputs) * std[:, None] + mean[:, None], wanted.samples, atol=1e-3)


def test_what_nothing_is_known_of_has_none() -> None:
    assert disturbances_of(torch.zeros(2, 3)) is None
    assert disturbances_of(torch.zeros(2, 3, 4, 5, 6)) is None
    assert disturbances_of(images(), modality="smell") is None
    assert of(torch.zeros(2, 1, 30, BANDS), modality="sound").library is SOUND


def test_other_inputs_are_refused() -> None:
    with pytest.raises(SettingError, match=r"for inputs with 3 axes, and the model takes \(30, 3, 12, 12\)"):
        Disturbances(MOTION).copies(images(), 0)
    inputs = images()
    inputs[3, 0, 0, 0] = torch.nan
    with pytest.raises(DataError, match="NaN"):
        of(images()).copies(inputs, 0)


def test_a_conversion_knows_what_may_happen_to_its_inputs() -> None:
    pixels = (255 * images().permute(0, 2, 3, 1)).byte().numpy()
    for kind in ("tensor", "image"):
        found = read_source(pixels, (MEAN, STD), None, kind).disturbances()
        assert found is not None
        assert found.library is CAMERA
        assert_close(found.mean, MEAN, atol=1e-7)
        assert_close(found.std, STD, atol=1e-7)
    plain = read_source(images().numpy(), None, None, "tensor").disturbances()
    assert plain is not None
    assert plain.library is CAMERA
    windows = made_up(np.arange(24) % 6)
    signal = read_source(windows, ((0.5,) * 9, (2.0,) * 9), None, "tensor").disturbances()
    assert signal is not None
    assert signal.library is MOTION
    assert_close(signal.std, np.full(9, 2.0), atol=0)
    heard = np.random.default_rng(0).normal(size=(20, 1, 96, BANDS)).astype(np.float32)
    sound = read_source(heard, None, "silence", "tensor").disturbances()
    assert sound is not None
    assert sound.library is SOUND
    volumes = np.random.default_rng(0).normal(size=(20, 1, 4, 4, 4)).astype(np.float32)
    assert read_source(volumes, None, None, "tensor").disturbances() is None
