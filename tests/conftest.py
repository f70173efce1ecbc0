import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from leantta.cli.main import main

CHECKOUT = Path(__file__).resolve().parents[1]


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


@pytest.fixture(scope="session")
def sample() -> Path:
    """The CIFAR-10 sample that the repository carries."""
    return CHECKOUT / "examples" / "cifar10_sample.npz"


@pytest.fixture(scope="session")
def weights() -> Path:
    """The checkpoint that the repository carries."""
    return CHECKOUT / "weights" / "resnet18_cifar10.safetensors"


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
