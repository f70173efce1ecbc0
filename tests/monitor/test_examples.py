"""The folder of examples keeps the most shifted ones, and never more than it may."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantta.data.imagefiles import read_image
from leantta.errors import SettingError
from leantta.monitor.examples import Examples

PIXELS = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)


@settings(deadline=None, max_examples=20)
@given(st.lists(st.floats(1, 100, allow_nan=False), max_size=12, unique=True), st.integers(1, 4))
def test_the_most_shifted_are_kept(tmp_path_factory, shifts: list[float], most: int) -> None:
    folder = tmp_path_factory.mktemp("examples")
    examples = Examples(folder, most)
    for number, shift in enumerate(shifts):
        examples.offer(round(shift, 3), number, PIXELS)
    kept = sorted(float(path.name[5:13]) for path in folder.iterdir())
    assert kept == sorted(round(shift, 3) for shift in sorted(shifts)[-most:])[: len(kept)]
    assert len(kept) == min(most, len(shifts))


def test_pictures_are_as_they_were_and_are_gone_on_with(tmp_path: Path) -> None:
    kept = Examples(tmp_path, 1).offer(2.0, 1, PIXELS)
    assert kept is not None
    assert np.array_equal(read_image(kept), PIXELS)
    again = Examples(tmp_path, 1)
    assert again.offer(1.5, 2, PIXELS) is None
    assert again.offer(3.0, 3, PIXELS[..., :1]) is not None
    assert len(list(tmp_path.iterdir())) == 1


def test_none_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError):
        Examples(tmp_path, 0)
