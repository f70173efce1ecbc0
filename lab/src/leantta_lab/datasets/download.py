"""Fetch a published archive, check it, unpack it.

The folder of a dataset appears only when everything went well: the bytes gather in `<file>.part` (a later
call goes on where it stopped), become `<file>` when the checksum is right, and are unpacked beside the place
they are then moved to. An archive fetched by hand and put at `<file>` is taken as it is, so a machine without
internet needs no other way.
"""

import gzip
import hashlib
import http.client
import shutil
import tarfile
import tempfile
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from leantta.errors import DownloadError, SettingError, StorageError
from leantta.progress import Progress, silent
from leantta_lab.datasets.archives import ARCHIVES, Archive

_BLOCK = 1 << 20
_TIMEOUT_S = 30


def download(dataset: str, folder: Path, progress: Progress = silent) -> Path:
    """Return the folder of a dataset of `ARCHIVES` under `folder`, fetching it first if need be.

    Raises:
        SettingError: there is no such dataset.
        DownloadError: it could not be fetched; the message says how to do it by hand.
        StorageError: it could not be written.
    """
    if dataset not in ARCHIVES:
        raise SettingError(f"unknown dataset {dataset!r}; known: {', '.join(ARCHIVES)}.")
    return fetch(ARCHIVES[dataset], folder, progress)


def fetch(archive: Archive, folder: Path, progress: Progress = silent) -> Path:
    """Return the folder that an archive unpacks to under `folder`; progress counts the bytes fetched.

    Raises:
        DownloadError: no connection, a broken transfer, a wrong checksum, or an archive that is not safe to
            unpack. StorageError: it could not be written.
    """
    target = folder / archive.folder
    if target.is_dir():
        return target
    local = folder / archive.file
    part = folder / f"{archive.file}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not local.exists():
            _transfer(archive, part, local, progress)
            _check(archive, part, local)
            part.replace(local)
        else:
            _check(archive, local, local)
        _unpack(archive, local, target)
        local.unlink()
    except (DownloadError, StorageError):
        raise
    except OSError as e:
        raise StorageError(
            f"cannot write {e.filename or target}: {e.strerror or e}. Free space or choose another."
        ) from e
    return target


def _by_hand(archive: Archive, local: Path) -> str:
    size = f"{archive.size_bytes / 1e6:.0f} MB"
    return f"By hand: fetch {archive.url} ({size}, md5 {archive.md5}), put it at {local} and run this again."


def _transfer(archive: Archive, part: Path, local: Path, progress: Progress) -> None:
    """Append what is missing of the archive to `part`."""
    if urlsplit(archive.url).scheme not in ("http", "https"):
        raise DownloadError(f"cannot fetch {archive.url}: only http and https addresses are fetched.")
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(archive.url, headers={"User-Agent": "leantta"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    response = _open(archive, request, local)
    if response is None:
        return
    with response:
        resumed = response.status == http.client.PARTIAL_CONTENT and _starts_at(response, have)
        have = have if resumed else 0
        length = response.headers.get("Content-Length")
        total = have + int(length) if length else archive.size_bytes
        with part.open("ab" if resumed else "wb") as f:
            for block in _blocks(response):
                f.write(block)
                have += len(block)
                progress(have, max(total, have))
    if have < total:
        raise DownloadError(
            f"the transfer of {archive.url} broke off at {have} of {total} bytes. "
            f"Run this again: it goes on from there. {_by_hand(archive, local)}"
        )


def _open(archive: Archive, request: urllib.request.Request, local: Path) -> http.client.HTTPResponse | None:
    """Return the answer to a request; nothing when the part is already as long as the archive."""
    try:
        response: http.client.HTTPResponse = urllib.request.urlopen(request, timeout=_TIMEOUT_S)
    except urllib.error.HTTPError as e:
        with e:  # it holds the connection
            if e.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
                return None
            raise DownloadError(
                f"cannot fetch {archive.url}: {e.code} {e.reason}. {_by_hand(archive, local)}"
            ) from e
    except (OSError, http.client.HTTPException) as e:
        reason = getattr(e, "reason", None) or e
        raise DownloadError(f"cannot fetch {archive.url}: {reason}. {_by_hand(archive, local)}") from e
    return response


def _starts_at(response: http.client.HTTPResponse, have: int) -> bool:
    return response.headers.get("Content-Range", "").startswith(f"bytes {have}-")


def _blocks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Yield the body; where the connection breaks it just ends, so that what came is kept."""
    while True:
        try:
            block = response.read(_BLOCK)
        except http.client.IncompleteRead as e:
            yield e.partial
            return
        except (OSError, http.client.HTTPException):
            return
        if not block:
            return
        yield block


def _check(archive: Archive, path: Path, local: Path) -> None:
    """Compare the checksum; our own part is removed when it fails, so that the next call starts afresh."""
    digest = hashlib.md5(usedforsecurity=False)  # the publishers give md5: it finds damage, not malice
    with path.open("rb") as f:
        while block := f.read(_BLOCK):
            digest.update(block)
    if digest.hexdigest() == archive.md5:
        return
    size = path.stat().st_size
    if path != local:
        path.unlink()
    raise DownloadError(
        f"{path} is not the archive it should be: {size} bytes with md5 {digest.hexdigest()}. "
        f"{_by_hand(archive, local)}"
    )


def _unpack(archive: Archive, local: Path, target: Path) -> None:
    """Unpack beside `target`, then move into place."""
    if not hasattr(tarfile, "data_filter"):  # Python 3.10.0 - 3.10.11 and 3.11.0 - 3.11.3
        raise DownloadError(
            f"this Python cannot unpack archives safely. Unpack {local} by hand so that {target} exists."
        )
    scratch = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{archive.folder}.", suffix=".part"))
    try:
        with tarfile.open(local) as tar:
            tar.extractall(scratch, filter="data")
        unpacked = scratch / archive.folder
        if not unpacked.is_dir():
            raise DownloadError(f"{local} has no folder {archive.folder}. {_by_hand(archive, local)}")
        unpacked.replace(target)
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error) as e:
        raise DownloadError(f"cannot unpack {local}: {e}. {_by_hand(archive, local)}") from e
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
