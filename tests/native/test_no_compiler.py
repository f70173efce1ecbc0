"""A wheel that is built without a C++ compiler installs, has no library, and says the same."""

import os
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

from leantta.runtime.session import load
from native.conftest import GOLDEN
from native.said import PIP, install, say
from reference import assert_close

CHECKOUT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.network]


@pytest.mark.parametrize("compiler", [True, False], ids=["with a compiler", "without"])
def test_a_wheel_has_the_kernel_if_there_was_a_compiler(compiler: bool, tmp_path: Path) -> None:
    settings = os.environ if compiler else {**os.environ, "CXX": "/nonexistent"}
    subprocess.run([*PIP, "wheel", "--no-deps", "-w", tmp_path, CHECKOUT], check=True, env=settings)
    (wheel,) = tmp_path.glob("leantta-*.whl")
    libraries = [name for name in zipfile.ZipFile(wheel).namelist() if "libleantta_kernel" in name]
    assert len(libraries) == compiler
    found = say([GOLDEN], tmp_path, [install(tmp_path / "site", wheel)])
    assert found.native == {GOLDEN.stem: compiler}
    assert ("there was no C++ compiler" in found.stderr) is not compiler
    stored = np.load(GOLDEN.with_suffix(".npz"))
    with load(GOLDEN) as session:
        tolerance = session.info.selftest.tolerance
    for name, values in found.arrays.items():
        if name.endswith("logits"):
            assert_close(values, stored["logits"], atol=tolerance)
