"""The kernel under other versions of ONNX Runtime, from the oldest that it takes to the newest there is."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import leantta
from leantta.runtime import kernel
from native.said import Said, install, say
from native.say import ENGINES
from native.swish import shifted
from reference import assert_close

VERSIONS = {"1.17.3": "numpy<2", "1.20.1": "numpy", "1.23.2": "numpy", "newest": "numpy"}
TOO_OLD = "1.16.3"
"""The last that has not all that the kernel asks for."""
SAME = 1e-4
"""Logits may differ by this: layers beside ours are sums of float32, whose order a version may change."""
SOURCE = Path(leantta.__file__).parents[1]
INSTALLED = Path(onnxruntime.__file__).parents[1]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.network,
    pytest.mark.skipif(not kernel.paths(), reason="this installation has no kernel: there was no compiler"),
]


@pytest.fixture(scope="module")
def cases(files: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The files, each with its inputs beside it."""
    folder = tmp_path_factory.mktemp("cases")
    for name, path in files.items():
        shutil.copy(path, folder / f"{name}.onnx")
        stored = np.load(path.with_suffix(".npz"))["images"] if name == "golden" else shifted(8)
        np.savez(folder / f"{name}.npz", images=stored)
    return sorted(folder.glob("*.onnx"))


@pytest.fixture(scope="module")
def current(cases: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Said:
    return say(cases, tmp_path_factory.mktemp("current"), [SOURCE, INSTALLED])


def assert_said(found: Said, wanted: Said, *, engines: Sequence[str]) -> None:
    assert set(found.arrays) == set(wanted.arrays)
    compared = {name: values for name, values in wanted.arrays.items() if name.split("/")[1] in engines}
    assert compared
    for name, values in compared.items():
        assert_close(found.arrays[name], values, atol=SAME * (1 + float(np.abs(values).max())))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_says_what_the_current_one_says(
    version: str, cases: list[Path], current: Said, tmp_path: Path
) -> None:
    wanted = "onnxruntime" if version == "newest" else f"onnxruntime=={version}"
    found = say(cases, tmp_path, [install(tmp_path / "site", wanted, VERSIONS[version]), SOURCE])
    assert version in (found.version, "newest")
    assert all(found.native.values())
    assert_said(found, current, engines=ENGINES)


def test_an_older_version_runs_standard_operators(cases: list[Path], current: Said, tmp_path: Path) -> None:
    packages = install(tmp_path / "site", f"onnxruntime=={TOO_OLD}", "numpy<2")
    found = say(cases, tmp_path, [packages, SOURCE])
    assert found.version == TOO_OLD
    assert not any(found.native.values())
    assert f"needs ONNX Runtime 1.17 or newer; this is {TOO_OLD}" in found.stderr
    assert_said(found, current, engines=["onnxruntime-portable"])
