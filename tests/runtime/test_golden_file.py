"""A file of the first format, as it lies in the repository, stays readable and says what it said."""

from pathlib import Path

import numpy as np

import leantta
from leantta.runtime.verify import verify
from reference import assert_close

GOLDEN = Path(__file__).parent / "golden" / "format1.onnx"


def test_the_golden_file_says_what_it_said() -> None:
    stored = np.load(GOLDEN.with_suffix(".npz"))
    with leantta.load(GOLDEN) as session:
        found = session.run(stored["images"])
        tolerance = session.info.selftest.tolerance
    assert found.shift is not None
    assert_close(found.logits, stored["logits"], atol=tolerance)
    assert_close(found.shift, stored["shift"], atol=0.02)
    assert np.ptp(stored["logits"], axis=0).max() > 2 * tolerance  # else any file would pass


def test_the_golden_file_is_whole() -> None:
    assert all(check.ok for check in verify(GOLDEN))
