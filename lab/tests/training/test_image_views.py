import numpy as np
import pytest

from leantta_lab.training.views import GREY, SHIFT, augmented


def views(cutout: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    images = np.random.default_rng(5).integers(1, 256, (50, 12, 10, 3), dtype=np.uint8)
    images[images == GREY] += 1
    return images, augmented(images, np.random.default_rng(seed), cutout)


def test_each_view_is_a_shifted_and_perhaps_mirrored_image():
    images, found = views(cutout=0)
    assert found.shape == images.shape
    assert found.dtype == np.uint8
    seen = set()
    for image, view in zip(images, found, strict=True):
        padded = np.pad(image, ((SHIFT, SHIFT), (SHIFT, SHIFT), (0, 0)))
        fits = {
            (top, left, mirrored)
            for top in range(2 * SHIFT + 1)
            for left in range(2 * SHIFT + 1)
            for mirrored in (False, True)
            for window in [padded[top : top + 12, left : left + 10]]
            if np.array_equal(window[:, ::-1] if mirrored else window, view)
        }
        assert len(fits) == 1
        seen |= fits
    assert {mirrored for _, _, mirrored in seen} == {False, True}
    assert len(seen) > 30


def test_cutout_blanks_one_square():
    _, plain = views(cutout=0)
    _, cut = views(cutout=4)
    for before, after in zip(plain, cut, strict=True):
        rows, columns = np.nonzero((after != before).any(axis=2))
        assert 1 <= rows.size <= 16
        square = after[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
        assert (square == GREY).all()
        assert max(square.shape[:2]) <= 4


@pytest.mark.parametrize("cutout", [0, 4])
def test_a_seed_repeats(cutout):
    np.testing.assert_array_equal(views(cutout)[1], views(cutout)[1])
    assert not np.array_equal(views(cutout)[1], views(cutout, seed=1)[1])
