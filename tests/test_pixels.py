"""Bytes become the floats that a model takes, and behave as a tensor of them does."""

import torch

from leantta.disturbances.copies import disturbances_of
from leantta.pixels import Pixels, joined_inputs
from reference import assert_close

SCALE, OFFSET = torch.tensor([0.02, 0.03, 0.01]), torch.tensor([-2.0, -1.0, 0.5])


def held(count: int = 6, side: int = 16) -> Pixels:
    random = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (count, side, side, 3), generator=random, dtype=torch.uint8)
    return Pixels.of(images, SCALE, OFFSET)


def test_parts_are_those_of_the_floats() -> None:
    whole = held()
    exact = (whole.images.float() * SCALE + OFFSET).permute(0, 3, 1, 2)
    assert torch.equal(whole.floats(), exact)
    assert whole.shape == exact.shape
    order = torch.tensor([4, 1, 1])
    assert torch.equal(whole[order][1:].floats(), exact[order][1:])
    assert [len(part) for part in whole.split([1, 5])] == [1, 5]
    assert torch.equal(whole.chunk(2)[1].floats(), exact[3:])
    again = joined_inputs([whole[:2], whole[2:]])
    assert isinstance(again, Pixels)
    assert again.images is whole.images  # no byte was copied
    assert torch.equal(again.floats(), exact)


def test_copies_of_bytes_are_those_of_floats_rounded() -> None:
    whole = held()
    mean, std = (-OFFSET / SCALE / 255).tolist(), (1 / (255 * SCALE)).tolist()
    library = disturbances_of(whole.floats(), modality="image", mean=mean, std=std)
    assert library is not None
    rounded, exact = library.copies(whole, 3), library.copies(whole.floats(), 3)
    assert isinstance(rounded.inputs, Pixels)
    assert isinstance(exact.inputs, torch.Tensor)
    assert torch.equal(rounded.kinds, exact.kinds)
    levels = (rounded.inputs.floats() - exact.inputs) / SCALE.view(1, -1, 1, 1)
    assert_close(levels.numpy(), 0 * levels.numpy(), atol=0.51)
