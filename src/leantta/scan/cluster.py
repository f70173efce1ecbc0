"""A scan on a Ray cluster: a model in each actor, two chunks on their way to it, a new actor for a dead one.

Actors get numbers of chunks and give back counts; inputs and results go through the file systems alone. So
nothing piles up in the driver or in Ray's store, and whoever dies takes only unfinished chunks along, which
another actor does. `leantta.scan.attempts` says what happens to the input that killed it.
"""

import logging
import os
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from leantta.errors import DataError, LeanTTAError, SettingError
from leantta.scan.answering import check_speaks, without_stderr
from leantta.scan.scoring import Done, Scorer, Work

WAITING = 2
"""Chunks that an actor has: one that it does, and the next."""

MOST_STILLBORN = 5
"""Actors that die one after the other before they have loaded the model; more, and the scan ends."""

POLL_S = 1.0
CONNECT_S = 10.0

STORE = 268_435_456
"""Bytes of Ray's store where we start Ray: it holds the model alone."""


class Actor:
    """What runs in a process of the cluster."""

    def __init__(self, model: bytes, work: Work) -> None:
        """Load the model, which came through Ray."""
        self.failed: LeanTTAError | None = None
        try:
            if not work.folder.is_dir():
                raise SettingError(
                    f"{work.folder} is not there on {os.uname().nodename}. The output must be in a folder "
                    f"that all nodes of the cluster share."
                )
            with TemporaryDirectory(prefix="leantta-scan-") as folder:  # an actor's end would not remove it
                path = Path(folder, "model.onnx")
                path.write_bytes(model)
                self.scorer = Scorer(path, work)
        except LeanTTAError as e:
            self.failed = e

    def ready(self) -> str | None:
        """Return why no chunk can be done here; None: it can."""
        return None if self.failed is None else str(self.failed)

    def do(self, chunk: int) -> Done | str:
        """Do a chunk; return why the scan must end if it must."""
        try:
            return self.scorer.do(chunk)
        except LeanTTAError as e:
            return str(e)


@dataclass(eq=False)
class _Member:
    """An actor, and what it was asked."""

    handle: Any
    is_ready: bool = False
    asked: dict[Any, int | None] = field(default_factory=dict)  # reference: chunk; None: whether it is ready


class Cluster:
    """Does chunks on Ray; an `Executor` of `leantta.scan.run`."""

    def __init__(self, address: str, actors: int | None, cores: int) -> None:
        """Take where Ray is (`local`: on this machine, started for this scan), and how much of it to use."""
        self.address, self.actors, self.cores = address, actors, cores

    def check(self) -> None:
        """Look whether there is a Ray to use, before an archive is listed for it.

        Raises:
            MissingExtraError: Ray is not installed.
            SettingError: nothing answers at the address.
        """
        _imported()
        if self.address != "local":
            _check_answers(self.address)

    def __call__(self, model: Path, work: Work, chunks: Iterator[int]) -> Iterator[Done]:
        """Give what became of each chunk, in the order in which they are done.

        Raises:
            MissingExtraError: Ray is not installed.
            SettingError: there is no cluster at the address, or it has too few cores.
            LeanTTAError: no worker can go on, as when the disk is full.
        """
        ray = _connected(self.address, self.cores * (self.actors or 1))
        try:
            yield from _Team(ray, self._size(ray), self.cores, ray.put(model.read_bytes()), work).do(chunks)
        finally:
            ray.shutdown()

    def _size(self, ray: Any) -> int:
        has = int(ray.cluster_resources().get("CPU", 0))
        wanted = self.cores * (self.actors or 1)
        if has < wanted:
            raise SettingError(
                f"{self.actors or 1} actors of {self.cores} cores were asked for; the Ray at "
                f"{self.address} has {has} cores."
            )
        return self.actors or has // self.cores


def _imported() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    return ray


def _connected(address: str, cores: int) -> Any:
    ray = _imported()
    local = address == "local"
    if not local:
        _check_answers(address)
    own = (
        {
            "num_cpus": max(cores, os.cpu_count() or 1),
            "include_dashboard": False,
            "object_store_memory": STORE,
        }
        if local
        else {}
    )
    try:
        with without_stderr():
            ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False, **own)
    except (ray.exceptions.RayError, ConnectionError, RuntimeError, ValueError, OSError) as e:
        raise _no_cluster(address, e) from e
    return ray


def _check_answers(address: str) -> None:
    """Look whether a cluster may be at an address.

    Raises:
        SettingError: nothing does, or it is no HOST:PORT.
    """
    if address.startswith("ray://"):
        raise SettingError(
            f"{address} is for Ray's client. Give HOST:PORT of the head node, as 10.0.0.1:6379."
        )
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise SettingError(f"{address} is no address of a cluster. Give HOST:PORT, as 10.0.0.1:6379.")
    try:
        check_speaks(host.strip("[]"), int(port), CONNECT_S)
    except (OSError, OverflowError) as e:
        raise _no_cluster(address, e) from e


def _no_cluster(address: str, error: Exception) -> SettingError:
    reason = " ".join(str(error).split())[:200].rstrip(".")
    return SettingError(
        f"no Ray cluster answers at {address}: {reason}. Give HOST:PORT of a head node (`ray start --head`), "
        f"or --ray alone for this machine. If it asks for a token: RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN."
    )


class _Team:
    """Actors that do chunks until there are none."""

    def __init__(self, ray: Any, size: int, cores: int, model: Any, work: Work) -> None:
        self.ray, self.size, self.model, self.work = ray, size, model, work
        self.kind = ray.remote(num_cpus=cores, max_restarts=0, scheduling_strategy="SPREAD")(Actor)
        self.members: list[_Member] = []
        self.again: deque[int] = deque()
        self.stillborn = 0

    def do(self, chunks: Iterator[int]) -> Iterator[Done]:
        """Give what became of each chunk."""
        more = True
        while True:
            while len(self.members) < self.size:
                self._hire()
            for member in self.members:
                while member.is_ready and len(member.asked) < WAITING:
                    chunk = self.again.popleft() if self.again else next(chunks, None) if more else None
                    if chunk is None:
                        more = False
                        break
                    member.asked[member.handle.do.remote(chunk)] = chunk
            if not more and not self.again and not self._busy():
                return
            yield from self._heard()

    def _hire(self) -> None:
        handle = self.kind.remote(self.model, self.work)
        self.members.append(_Member(handle, asked={handle.ready.remote(): None}))

    def _busy(self) -> bool:
        return any(chunk is not None for member in self.members for chunk in member.asked.values())

    def _heard(self) -> Iterator[Done]:
        """Wait for an answer, and give what is done."""
        asker = {reference: member for member in self.members for reference in member.asked}
        answered, _ = self.ray.wait(list(asker), num_returns=1, timeout=POLL_S)
        for reference in answered:
            member = asker[reference]
            if member not in self.members:  # it was found dead by another answer
                continue
            try:
                answer = self.ray.get(reference)
            except self.ray.exceptions.RayTaskError as e:
                raise e.as_instanceof_cause() from e  # a bug: it must be seen
            except self.ray.exceptions.RayError as e:
                self._bury(member, e)
                continue
            chunk = member.asked.pop(reference)
            if chunk is None:
                if answer is not None:
                    raise DataError(answer)
                member.is_ready, self.stillborn = True, 0
            elif isinstance(answer, str):
                raise DataError(answer)
            else:
                yield answer

    def _bury(self, member: _Member, error: Exception) -> None:
        """Let a dead actor go, and keep what it did not finish for another."""
        self.members.remove(member)
        self.again.extend(chunk for chunk in member.asked.values() if chunk is not None)
        with suppress(Exception):  # if it only cannot be reached, it must not go on here
            self.ray.kill(member.handle)
        if not member.is_ready:
            self.stillborn += 1
        if self.stillborn > MOST_STILLBORN:
            reason = " ".join(str(error).split())[:300]
            raise DataError(
                f"{self.stillborn} workers died one after the other before they had loaded the model: "
                f"{reason} Has each node enough memory, and leantta[ray] installed?"
            )
