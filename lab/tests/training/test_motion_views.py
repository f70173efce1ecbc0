"""Views of training windows."""

import numpy as np

from leantta_lab.training.views import MOVE, moved_windows
from motion_files import made_up

WINDOWS = made_up(np.arange(60) % 6)


def test_a_view_is_the_window_moved_in_time_all_channels_alike() -> None:
    views = moved_windows(WINDOWS, np.random.default_rng(0))
    assert views.dtype == WINDOWS.dtype
    steps = set()
    for window, view in zip(WINDOWS, views, strict=True):
        fits = [
            step for step in range(-MOVE, MOVE + 1) if np.array_equal(np.roll(window, step, axis=1), view)
        ]
        assert len(fits) == 1
        steps.add(fits[0])
    assert len(steps) > 20
    assert min(steps) < -MOVE // 2
    assert max(steps) > MOVE // 2


def test_views_follow_from_the_generator_and_leave_the_windows() -> None:
    given = WINDOWS.copy()
    one, other = (moved_windows(given, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(given, WINDOWS)
