"""Whether what is at an address speaks as Ray does: Ray itself would try for minutes, telling of each."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""With which a client of HTTP/2 begins, and so of gRPC: the preface, and an empty frame of settings."""

SETTINGS = 4
HEAD_BYTES = 9  # of a frame; the fourth byte is its kind


def check_speaks(host: str, port: int, seconds: float) -> None:
    """Return if a server of gRPC is there.

    Raises:
        OSError: nothing is there, it does not answer in time, or with something else.
        OverflowError: there is no such port.
    """
    with socket.create_connection((host, port), timeout=seconds) as connection:
        if os.environ.get("RAY_USE_TLS", "0") not in ("", "0"):
            return  # the words would have to be encrypted
        connection.sendall(HELLO)
        answer = b""
        while len(answer) < HEAD_BYTES and (more := connection.recv(HEAD_BYTES - len(answer))):
            answer += more
    if len(answer) < HEAD_BYTES or answer[3] != SETTINGS:
        raise OSError("what is there speaks otherwise than Ray")


@contextmanager
def without_stderr() -> Iterator[None]:
    """Drop what is written to standard error, also by C++: a line for each try, before the exception."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(nowhere)
        os.close(kept)
