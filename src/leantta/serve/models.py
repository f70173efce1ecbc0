"""The model files that are served, by name; a file that is replaced takes over without losing a request.

A version is a file as it was read once: its session, its digest, its reader of plain files. A new version is
verified, loaded and warmed up before it takes the place; requests that the old one accepted it finishes.
"""

import asyncio
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from leantta.errors import ArtifactError, LeanTTAError, SettingError
from leantta.modalities.kinds import modality_for
from leantta.modalities.modality import FileReader
from leantta.runtime.container import DIGEST_KEY, read_container
from leantta.runtime.engines import NEXT_MEMORY, Port
from leantta.runtime.metadata import Info, read_info
from leantta.runtime.session import Session, load
from leantta.runtime.signature import expected_inputs, expected_outputs
from leantta.runtime.signing import signature_of
from leantta.runtime.verify import verify
from leantta.serve.batching import Limits, Worker
from leantta.serve.refusal import RefusalError
from leantta.serve.tally import Tally

logger = logging.getLogger(__name__)

_DIGITS = 12  # of the digest, as the version that clients see


class _Stamp(NamedTuple):
    """What tells that a file was replaced or written again."""

    inode: int
    modified_ns: int
    size: int


class _Read(NamedTuple):
    """A file that was read and found whole."""

    stamp: _Stamp
    digest: str
    session: Session


class Version:
    """One state of a model file, at work."""

    def __init__(self, name: str, read: _Read, limits: Limits, tally: Tally) -> None:
        self.name = name
        self.session = read.session
        self.digest = read.digest
        self.stamp = read.stamp
        self.info: Info = read.session.info
        self.inputs: tuple[Port, ...] = expected_inputs(self.info)
        self.outputs = tuple(port for port in expected_outputs(self.info) if port.name != NEXT_MEMORY)
        self.reader, self.no_reader = _reader(self.info)
        self.worker = Worker(read.session, limits, lambda outputs: tally.add(self.info, outputs))
        self._held = 0
        self._retired = False

    @property
    def short(self) -> str:
        """The version as clients see it: the beginning of the file's SHA-256."""
        return self.digest[:_DIGITS]

    @contextmanager
    def held(self) -> Iterator["Version"]:
        """Keep it at work while a request uses it, also if another version takes over meanwhile."""
        self._held += 1
        try:
            yield self
        finally:
            self._held -= 1
            self._stop_if_unused()

    def retire(self) -> None:
        """Stop once no request uses it any more."""
        self._retired = True
        self._stop_if_unused()

    def _stop_if_unused(self) -> None:
        if self._retired and not self._held:
            self.worker.stop()


class Models:
    """The versions that answer now. Made and used in one event loop."""

    def __init__(self, limits: Limits, threads: int | None, key: Path | None = None) -> None:
        self._limits = limits
        self._threads = threads
        self._key = key
        self._paths: dict[str, Path] = {}
        self._versions: dict[str, Version] = {}
        self._refused: dict[str, tuple[_Stamp | None, ...]] = {}  # no models, so that this is said once
        self.tallies: dict[str, Tally] = {}
        self.reloads = 0
        self.failed_reloads = 0

    @property
    def names(self) -> list[str]:
        """The names of the models, in the order in which they were given."""
        return list(self._versions)

    def load(self, paths: Sequence[Path]) -> None:
        """Load the files, each under the name of its file without the ending.

        Raises:
            SettingError: two files have one name, or one is not whole.
            LeanTTAError: a file is missing, damaged or not ours.
        """
        for path in paths:
            name = path.stem
            if name in self._paths:
                raise SettingError(
                    f"{self._paths[name]} and {path} would both be called {name!r}. Rename one."
                )
            self._paths[name] = path
            self.tallies[name] = Tally(name)
            self._versions[name] = self._version(name, _read(path, self._threads, self._key))

    def get(self, name: str | None, version: str | None = None) -> Version:
        """Return the version of a model that answers now; without a name, of the only one.

        Raises:
            RefusalError: there is no such model, or it has another version.
        """
        if name is None:
            if len(self._versions) > 1:
                raise RefusalError(400, f"say which model: ?model=NAME, one of {', '.join(self.names)}.")
            return next(iter(self._versions.values()))
        if name not in self._versions:
            raise RefusalError(404, f"no such model; there are {', '.join(self.names)}.")
        found = self._versions[name]
        if version is not None and version != found.short:
            raise RefusalError(404, f"the version of {name} is {found.short}.")
        return found

    def versions(self) -> list[Version]:
        """Return the versions that answer now."""
        return list(self._versions.values())

    async def follow(self, every_s: float) -> None:
        """Look for replaced files again and again, and let them take over."""
        while True:
            await asyncio.sleep(every_s)
            for name in self.names:
                await self._renew(name)

    async def _renew(self, name: str) -> None:
        path, old = self._paths[name], self._versions[name]
        stamps = _stamp(path), _stamp(signature_of(path))
        if stamps[0] in (None, old.stamp) or stamps == self._refused.get(name):
            return
        try:
            read = await asyncio.to_thread(_read, path, self._threads, self._key)
        except LeanTTAError as e:
            self._refused[name] = stamps
            self.failed_reloads += 1
            logger.warning("%s was changed and is not taken: %s The one before answers on.", path, e)
            return
        self._versions[name] = self._version(name, read)
        old.retire()
        self.reloads += 1
        logger.warning("%s was replaced: version %s answers now", path, self._versions[name].short)

    def _version(self, name: str, read: _Read) -> Version:
        return Version(name, read, self._limits, self.tallies[name])

    async def close(self) -> None:
        """Finish what was accepted, and close all files."""
        for version in self.versions():
            version.retire()
        for version in self.versions():
            await asyncio.to_thread(version.worker.join)


def _stamp(path: Path) -> _Stamp | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - Path.stat is the same, and slower
    except OSError:
        return None
    return _Stamp(status.st_ino, status.st_mtime_ns, status.st_size)


def _read(path: Path, threads: int | None, key: Path | None) -> _Read:
    """Return a file that computes what it computed when it was made, loaded and run once."""
    before = _stamp(path)
    container = read_container(path)
    for check in verify(path, key=key):
        if not check.ok:
            raise ArtifactError(f"{path} fails its {check.name}: {check.detail}")
    session = load(path, threads=threads, memory=read_info(container).memory is not None, key=key)
    session.run(session.info.selftest.images())  # the first run is slow
    session.reset()
    if before is None or before != _stamp(path):
        session.close()
        raise ArtifactError(f"{path} was changed while it was read.")
    return _Read(before, container.metadata[DIGEST_KEY], session)


def _reader(info: Info) -> tuple[FileReader | None, str]:
    """Return what reads plain files for a model; None and the reason if nothing does."""
    try:
        return modality_for(info.input.kind).reader(info), ""
    except SettingError as e:
        return None, str(e)
