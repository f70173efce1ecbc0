"""The kernel's own test programs, in C++: built plain, with sanitizers, and with AVX-512 emulated."""

import functools
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from leantta.runtime import kernel

NATIVE = Path(__file__).resolve().parents[2] / "native"
SIMDE = Path("/usr/include/simde/x86/avx512.h")
COMPILER = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")

pytestmark = pytest.mark.skipif(
    not (shutil.which("cmake") and COMPILER), reason="cmake and g++ or clang++ are needed"
)


class Build(NamedTuple):
    """A way to build, and what must be there for it."""

    settings: tuple[str, ...]
    needs: tuple[Callable[[], str | None], ...] = ()


@functools.cache
def lacks_sanitizers() -> str | None:
    flags = ("-fsanitize=address,undefined", "-x", "c++", "-", "-o", os.devnull)
    code = "int main() { return 0; }"
    done = subprocess.run([str(COMPILER), *flags], input=code, text=True, capture_output=True)
    return "the compiler has no sanitizers" if done.returncode else None


def lacks_emulation() -> str | None:
    if platform.machine() != "x86_64" or "avx2" not in kernel.paths():
        return "the emulation of AVX-512 is for x86-64 with AVX2"
    return None if SIMDE.exists() else "no SIMDe headers: apt-get install libsimde-dev"


BUILDS = {
    "plain": Build(()),
    "sanitized": Build(("-DLEANTTA_SANITIZE=ON",), (lacks_sanitizers,)),
    "emulated": Build(("-DLEANTTA_SIMDE=ON",), (lacks_emulation,)),
    "emulated and sanitized": Build(
        ("-DLEANTTA_SIMDE=ON", "-DLEANTTA_SANITIZE=ON"), (lacks_sanitizers, lacks_emulation)
    ),
}
CASES = {"plain": 2000, "emulated": 2000, "sanitized": 500}
FEW, MANY = 50, 20000
GROUPS = ("sums", "answer", "apply", "batches", "formulas", "large batches in threads", "limits", "functions")


def build(name: str, folder: Path) -> Path:
    """Build the programs and return their folder; skip where that cannot be."""
    for lacks in BUILDS[name].needs:
        if reason := lacks():
            pytest.skip(reason)
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    settings = ["-DLEANTTA_TESTS=ON", *BUILDS[name].settings]
    call("cmake", *generator, "-S", NATIVE, "-B", folder, *settings)
    call("cmake", "--build", folder, "--parallel", "2", "--target", "kernel_test", "depthwise_test")
    return folder


def call(*words: str | Path) -> str:
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stdout[-4000:]}"
    return done.stdout


def paths_of(output: str) -> list[str]:
    found = re.search(r"^paths: (.*)$", output, re.MULTILINE)
    assert found, output
    return found[1].split()


@pytest.mark.parametrize("name", CASES)
def test_paths_agree_and_follow_the_formulas(name: str, tmp_path: Path) -> None:
    if name == "plain" and not lacks_emulation() and "avx512" not in kernel.paths():
        pytest.skip("the emulated build runs all of it, and more")
    folder = build(name, tmp_path)
    told = call(folder / "kernel_test", str(CASES[name]))
    emulated = {"avx512", "avx512_vnni"} if name == "emulated" else set()
    assert emulated | set(kernel.paths()) <= set(paths_of(told))
    for group in GROUPS:
        assert re.search(rf"^{group}: \d+ cases$", told, re.MULTILINE), told
    tested = re.findall(r"^(\w+): [1-9]\d* cases$", call(folder / "depthwise_test"), re.MULTILINE)
    assert emulated | set(kernel.paths()) <= set(tested)
    assert_faults_are_found(folder / "kernel_test")


def assert_faults_are_found(program: Path) -> None:
    """A test program that finds nothing proves nothing, so it has paths with faults to look for."""
    faults = call(program, "faults").splitlines()
    assert len(faults) > 5
    for fault in faults:
        told = failing(program, FEW, 1, fault)
        found = re.search(r"to repeat it: kernel_test 1 (\d+)$", told)
        assert found, told
        assert found[0] in failing(program, 1, found[1], fault)


def failing(program: Path, *words: object) -> str:
    """What a run says that must end with the code of a difference."""
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 1, words
    return done.stdout.rstrip()


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILDS)
def test_many_more_cases_agree(name: str, tmp_path: Path) -> None:
    count = MANY // 5 if "sanitized" in name else MANY
    folder = build(name, tmp_path)
    for program in ("kernel_test", "depthwise_test"):
        call(folder / program, str(count), "1000000")
