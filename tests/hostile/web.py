"""Attacks on a running server: broken bodies, headers, paths and files."""

import random
from contextlib import ExitStack
from pathlib import Path

from hostile.attack import Attack, Try
from leantta.errors import DataError
from serve.broken import broken_request, hostile_server


def requests(folder: Path, stack: ExitStack) -> Try:
    server = stack.enter_context(hostile_server(folder))
    tried = 0

    def attempt(random_: random.Random) -> None:
        nonlocal tried
        tried += 1
        answer = broken_request(server, random_, tried)
        assert answer.status < 500, answer
        assert server.process.poll() is None
        if answer.status >= 400:
            raise DataError(f"answered {answer.status}.")

    return attempt


ATTACKS = (
    Attack(
        name="requests",
        reader="leantta serve",
        inputs="requests with broken bodies, files, headers, paths and methods",
        begin=requests,
        recorded=3_000,
    ),
)
