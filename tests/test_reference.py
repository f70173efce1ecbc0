import numpy as np
import pytest

from reference import assert_close


def test_the_comparison_can_fail():
    values = np.array([1.0, 2.0])
    assert_close(values, values, atol=0)
    with pytest.raises(AssertionError, match="largest difference"):
        assert_close(values * 1.01, values, atol=1e-3)
    with pytest.raises(AssertionError):
        assert_close(values[None], values, atol=1)
    with pytest.raises(AssertionError, match="not finite"):
        assert_close(values * np.nan, values, atol=1)
