"""The body of a request, read within its limits of size and time and within the server's memory."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

import anyio
from starlette.requests import ClientDisconnect, Request

from leantta.serve.refusal import RefusalError, busy

_LONGEST_NUMBER = 15  # digits; so many bytes are on no disk
_DISCARD_SECONDS = 1.0


@dataclass(kw_only=True)
class Bodies:
    """How large one body may be, all that are held together, and how long one may take."""

    max_bytes: int
    timeout_s: float
    budget_bytes: int  # of all bodies that are held
    held_bytes: int = 0

    @contextlib.asynccontextmanager
    async def read(self, request: Request) -> AsyncIterator[bytes]:
        """Give the body of a request, and keep its room as long as it is used.

        Raises:
            RefusalError: it is too large, too slow, encoded, or there is no room now.
        """
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise RefusalError(415, "the body must not be compressed. Leave Content-Encoding out.")
        stated = request.headers.get("content-length")
        if stated is not None and (len(stated) > _LONGEST_NUMBER or int(stated) > self.max_bytes):
            await discard(request, self.max_bytes)
            raise self._too_large()
        room = self.max_bytes if stated is None else int(stated)
        if self.held_bytes + room > self.budget_bytes:
            raise busy("the server has no room for this body now. Try again a little later.")
        self.held_bytes += room
        try:
            yield await self._in_time(request)
        finally:
            self.held_bytes -= room

    async def _in_time(self, request: Request) -> bytes:
        try:
            with anyio.fail_after(self.timeout_s):
                return await self._all(request)
        except TimeoutError as e:
            raise _closing(408, f"the body did not arrive within {self.timeout_s:g} seconds.") from e

    async def _all(self, request: Request) -> bytes:
        parts: list[bytes] = []
        size = 0
        async for part in request.stream():
            size += len(part)
            if size > self.max_bytes:
                raise self._too_large()
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _too_large(self) -> RefusalError:
        return _closing(413, f"a body has at most {self.max_bytes:,} bytes.")


async def discard(request: Request, most_bytes: int) -> None:
    """Take a body that nobody reads, within limits: a client that still sends would not hear the answer."""
    size = 0
    with contextlib.suppress(ClientDisconnect), anyio.move_on_after(_DISCARD_SECONDS):
        async for part in request.stream():
            size += len(part)
            if size > most_bytes:
                return


def _closing(status: int, message: str) -> RefusalError:
    return RefusalError(status, message, {"Connection": "close"})
