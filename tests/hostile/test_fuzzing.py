"""Coverage-guided fuzzing for a bounded time: the readers of model files, and the operators of the kernel."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import onnxruntime
import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
FUZZ = Path(__file__).with_name("fuzz_readers.py")
SECONDS = int(os.environ.get("LEANTTA_FUZZ_SECONDS", "60"))
COMPILER = next(filter(None, (shutil.which(name) for name in ("clang++", "clang++-14", "clang++-19"))), None)

pytestmark = pytest.mark.slow


def fuzzed(words: Sequence[str | Path], corpus: Path, seconds: int, **settings: str) -> str:
    """What a fuzzer says that must find nothing; its corpus has grown."""
    corpus.mkdir(exist_ok=True)
    begun = len(list(corpus.iterdir()))
    options = [f"-max_total_time={seconds}", "-timeout=30", "-rss_limit_mb=6000", "-max_len=20000"]
    done = subprocess.run(
        [*words, corpus, *options],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        cwd=corpus.parent,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(re.findall(r"^Done (\d+) runs", done.stderr, re.MULTILINE)[-1]) > 50
    assert len(list(corpus.iterdir())) > begun + 5, "the fuzzer sees no coverage"
    return done.stderr


@pytest.mark.network
@pytest.mark.parametrize("kind", ["wire", "metadata"])
def test_readers(kind: str, tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:", "--target"]
    if subprocess.run([*pip, packages, "atheris"], capture_output=True).returncode:
        pytest.skip("there is no atheris for this Python")
    fuzzed([sys.executable, FUZZ, kind], tmp_path / "corpus", SECONDS, PYTHONPATH=str(packages))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzz")
    settings = [f"-DCMAKE_CXX_COMPILER={COMPILER}", "-DLEANTTA_FUZZ=ON", "-DLEANTTA_SANITIZE=ON"]
    calls: list[list[str | Path]] = [
        ["cmake", "-S", CHECKOUT / "native", "-B", folder, *settings],
        ["cmake", "--build", folder, "--target", "fuzz_entry"],
    ]
    for words in calls:
        done = subprocess.run(words, capture_output=True, text=True)
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return folder / "fuzz_entry"


@pytest.mark.skipif(COMPILER is None or not shutil.which("cmake"), reason="clang++ and cmake are needed")
def test_operators_of_the_kernel(program: Path, tmp_path: Path) -> None:
    libraries = sorted((Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so.1*"))
    if not libraries:
        pytest.skip("this ONNX Runtime has no library of its own beside its Python module")
    # What ONNX Runtime keeps until the process ends is no leak; a short memory of what was freed is quicker.
    sanitizer = "detect_leaks=0:quarantine_size_mb=8:malloc_context_size=2"
    said = fuzzed(
        [program, "-len_control=0", "-detect_leaks=0"],
        tmp_path / "corpus",
        SECONDS,
        LEANTTA_ONNXRUNTIME=str(libraries[-1]),
        ASAN_OPTIONS=sanitizer,
        LEANTTA_FUZZ_COUNTS="1",
    )
    answered, of = map(int, re.findall(r"^answered (\d+) of (\d+)$", said, re.MULTILINE)[-1])
    assert 0 < answered < of  # it comes through to the kernel, and is refused, too
