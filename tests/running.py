"""What the fixture `run` gives a test: the command line, run inside this process."""

from collections.abc import Callable
from typing import NamedTuple


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]
