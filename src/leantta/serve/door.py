"""What every request passes: the token, whether the server stops, the counting, and errors as JSON.

Clients are told one line and never a stack trace; what is a bug is logged on the server's side.
"""

import hmac
import logging
import time
from collections.abc import Awaitable, Callable

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from leantta.errors import LeanTTAError
from leantta.serve.body import discard
from leantta.serve.refusal import RefusalError

logger = logging.getLogger(__name__)

Endpoint = Callable[[Request], Awaitable[Response]]

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the classes of a request's time."""


class Door:
    """Lets requests in, counts them, and turns what goes wrong into an answer."""

    def __init__(self, token: str | None, most_bytes: int, registry: CollectorRegistry) -> None:
        self._most_bytes = most_bytes  # of a body
        self._token = None if token is None else token.encode()
        self.stopping = False
        self.inside = 0
        self._requests = Counter(
            "leantta_requests",
            "Requests by what was answered.",
            ["model", "route", "code"],
            registry=registry,
        )
        self._seconds = Histogram(
            "leantta_request_seconds",
            "From the first byte of a request to its answer.",
            ["model", "route"],
            buckets=SECONDS,
            registry=registry,
        )

    @property
    def needs_token(self) -> bool:
        """Whether requests need a token."""
        return self._token is not None

    def work(self, route: str, endpoint: Endpoint) -> Endpoint:
        """Return an endpoint that needs the token, is counted, and is closed when the server stops."""

        async def answer(request: Request) -> Response:
            started = time.perf_counter()
            code = 500
            try:
                response = await self._answer(request, endpoint, working=True)
                code = response.status_code
                return response
            finally:
                model = getattr(request.state, "model", "")  # of those that there are: others make no label
                self._requests.labels(model, route, str(code)).inc()
                self._seconds.labels(model, route).observe(time.perf_counter() - started)

        return answer

    def look(self, endpoint: Endpoint) -> Endpoint:
        """Return an endpoint that needs the token, and tells something that is known already."""

        async def answer(request: Request) -> Response:
            return await self._answer(request, endpoint, working=False)

        return answer

    async def _answer(self, request: Request, endpoint: Endpoint, *, working: bool) -> Response:
        try:
            self._check_token(request)
            if not working:
                return await endpoint(request)
            if self.stopping:
                await discard(request, self._most_bytes)
                raise RefusalError(
                    503, "the server stops. Try again.", {"Retry-After": "1", "Connection": "close"}
                )
            self.inside += 1
            try:
                return await endpoint(request)
            finally:
                self.inside -= 1
        except ClientDisconnect:
            return told(499, "the client went away")  # nobody reads it, but it is counted
        except RefusalError as e:
            return told(e.status, str(e), e.headers)
        except LeanTTAError:  # the model file's fault; the message may name places of this machine
            logger.exception("a request failed")
            return told(500, "the model cannot compute this; the server's log has more.")

    def _check_token(self, request: Request) -> None:
        if self._token is None:
            return
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        matches = hmac.compare_digest(given.strip().encode(), self._token)
        if scheme.lower() != "bearer" or not matches:
            raise RefusalError(
                401, "this server needs its token: Authorization: Bearer ...", {"WWW-Authenticate": "Bearer"}
            )


def told(status: int, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """Return an error as the protocol has it."""
    return JSONResponse({"error": message}, status, headers)


async def told_of_http(_request: Request, error: Exception) -> Response:
    """Return the answer to a request that fits no route."""
    if isinstance(error, HTTPException):
        return told(error.status_code, f"{error.detail}.", dict(error.headers or {}))
    return told(500, "internal error; the server's log has more.")
