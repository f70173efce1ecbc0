import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from leantta.cli.main import main
from running import Done, Run

CHECKOUT = Path(__file__).resolve().parent

NEEDS_RAY = "lab/src/leantta_lab/reproduce/ray_pool.py"
collect_ignore = [] if find_spec("ray") else [NEEDS_RAY]  # its doctests import it


@pytest.fixture(scope="session")
def sample() -> Path:
    """The CIFAR-10 sample that the repository carries."""
    return CHECKOUT / "lab" / "src" / "leantta_lab" / "samples" / "cifar10_sample.npz"


@pytest.fixture(scope="session")
def weights() -> Path:
    """The checkpoint that the repository carries."""
    return CHECKOUT / "lab" / "src" / "leantta_lab" / "weights" / "resnet18_cifar10.safetensors"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `leantta` in an empty folder, inside this process: loading torch anew would take seconds."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["leantta", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            main()
        code = left.value.code
        return Done(code if isinstance(code, int) else 0, *capsys.readouterr())

    return run
