"""A request that is not answered: the status, and one line that says why."""

from collections.abc import Mapping

from leantta.errors import LeanTTAError


class RefusalError(LeanTTAError):
    """What a client is told instead of an answer."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(" ".join(message.split()))
        self.status = status
        self.headers = dict(headers or {})


def busy(message: str, after_s: int = 1) -> RefusalError:
    """Return the refusal of a request that may be sent again a little later."""
    return RefusalError(429, message, {"Retry-After": str(after_s)})
