"""The running server: its socket, patience with slow clients, and a stop that finishes what was accepted."""

import asyncio
import logging
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from leantta.errors import SettingError
from leantta.serve.app import Service, Settings, make_app

LOCAL = ("127.0.0.1", "::1", "localhost")
_HEADER_SECONDS = 10.0
_MOST_CONNECTIONS = 1000
_STOP_SECONDS = 30.0


class PatientProtocol(H11Protocol):
    """Gives a client so many seconds for the head of a request; uvicorn would wait for ever."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait on while a head is not complete, from its first byte."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
        elif self._waiting is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(_HEADER_SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


class _Server(uvicorn.Server):
    """Stops when the requests that are inside are answered; until then, others hear that it stops."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - as uvicorn has it
        """Begin to stop; a second signal stops at once."""
        if self._service.door.stopping:
            self.force_exit = sig == signal.SIGINT
            self.should_exit = True
        self._service.door.stopping = True

    async def on_tick(self, counter: int) -> bool:
        """Tell whether it is time to go."""
        if self._service.door.stopping and not self._service.door.inside:
            self.should_exit = True
        return await super().on_tick(counter)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 is any that is free.

    Raises:
        SettingError: the address is not there, or taken.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)
    except OSError as e:
        listener.close()
        raise SettingError(
            f"cannot listen at {host} port {port}: {e.strerror or e}. Try another --port."
        ) from e
    return listener


def serve(
    paths: list[Path],
    listener: socket.socket,
    settings: Settings,
    token: str | None,
    started: Callable[[list[str]], None],
) -> None:
    """Serve model files until the process is told to stop; `started` is told their names.

    Raises:
        LeanTTAError: a file is missing, damaged or not ours.
    """

    async def run() -> None:
        app, service = make_app(paths, settings, token)
        config = uvicorn.Config(
            app,
            http=PatientProtocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=int(_STOP_SECONDS),
            h11_max_incomplete_event_size=32_768,
        )
        logging.getLogger("uvicorn").setLevel(logging.WARNING)
        started(service.models.names)
        await _Server(config, service).serve(sockets=[listener])

    with listener:
        asyncio.run(run())
