"""The command line run inside this process: what a user meets, without the seconds of loading torch."""

import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from leantta.cli.main import main


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys) -> Run:
    """Run `leantta` with the given words in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["leantta", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            main()
        code = left.value.code
        return Done(code if isinstance(code, int) else 0, *capsys.readouterr())

    return run
