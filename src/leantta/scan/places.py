"""Where an archive lies: files, folders and globs of this machine, and stores behind URLs.

A folder is looked into one level at a time, by name, so that no list of all files is ever held. Hidden files
do not count. URLs are those of pyarrow (s3://, gs://, hdfs://, file://); others need fsspec and its package.
"""

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol, cast
from urllib.parse import urlsplit

import pyarrow as pa
from pyarrow import fs as stores

from leantta.errors import DataError, MissingExtraError, MissingFileError, SettingError


class Found(NamedTuple):
    """A file or folder, and when it was changed, in seconds since 1970."""

    path: str
    is_folder: bool
    size: int
    modified: float | None


class Place(Protocol):
    """Somewhere with files and folders."""

    store: str | None  # the URL that opens it again; None: this machine

    def look(self, path: str) -> Found | None:
        """Return what is at a path, None if nothing is."""

    def inside(self, folder: str) -> list[Found]:
        """Return what lies in a folder, by name; raises OSError."""

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading; raises OSError."""


class Here:
    """The file system of this machine."""

    store: str | None = None

    def look(self, path: str) -> Found | None:
        """Return what is at a path, None if nothing is."""
        place = Path(path)
        if not place.exists():
            return None
        facts = place.stat()
        return Found(path, place.is_dir(), facts.st_size, facts.st_mtime)

    def inside(self, folder: str) -> list[Found]:
        """Return what lies in a folder; a dead link is a file without bytes, a link upwards is left out."""
        real = os.path.realpath(folder)
        found = []
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    facts = entry.stat()
                except OSError:  # a dead link: an input that cannot be read
                    found.append(Found(entry.path, False, 0, None))
                    continue
                is_folder = entry.is_dir()
                if is_folder and entry.is_symlink() and _above(os.path.realpath(entry.path), real):
                    continue
                found.append(Found(entry.path, is_folder, facts.st_size, facts.st_mtime))
        return sorted(found)

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading."""
        return Path(path).open("rb")


def _above(folder: str, other: str) -> bool:
    return other == folder or other.startswith(folder.rstrip(os.sep) + os.sep)


class Store:
    """An object store, or another file system behind a URL."""

    def __init__(self, url: str) -> None:
        """Open it.

        Raises:
            SettingError: the URL holds a password, or nothing knows such a URL.
            MissingExtraError: what knows it is not installed.
        """
        self.store: str | None = url
        self.files, self.path = _opened(url)
        self._scheme = url.partition("://")[0]

    def look(self, path: str) -> Found | None:
        """Return what is at a path, None if nothing is."""
        info = self.files.get_file_info(path)
        return None if info.type == stores.FileType.NotFound else self._found(info)

    def inside(self, folder: str) -> list[Found]:
        """Return what lies in a folder."""
        return sorted(
            self._found(info)
            for info in self.files.get_file_info(stores.FileSelector(folder))
            if info.path.strip("/") != folder.strip("/")  # some stores keep a folder as an object, too
        )

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading."""
        return cast(BinaryIO, self.files.open_input_file(path))

    @staticmethod
    def _found(info: Any) -> Found:
        modified = None if info.mtime is None else info.mtime.timestamp()
        return Found(info.path, info.type == stores.FileType.Directory, info.size or 0, modified)


def _opened(url: str) -> tuple[Any, str]:
    if urlsplit(url).password:
        raise SettingError(
            "a URL with a password would be kept in the output. Give keys in the environment, as "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or in the store's own configuration."
        )
    try:
        files, path = stores.FileSystem.from_uri(url)
    except pa.ArrowInvalid as e:
        return _with_fsspec(url, e)
    except (pa.ArrowException, OSError, ValueError) as e:
        raise SettingError(f"cannot open {url}: {_line(e)}") from e
    return files, path


def _with_fsspec(url: str, error: Exception) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ModuleNotFoundError:
        raise SettingError(
            f"pyarrow cannot open {url}: {_line(error)} For other stores: pip install fsspec, and its "
            f"package for that store."
        ) from error
    try:
        files, path = url_to_fs(url)
    except ImportError as e:
        raise MissingExtraError(f"cannot open {url}: {_line(e)}") from e
    except (OSError, ValueError) as e:
        raise SettingError(f"cannot open {url}: {_line(e)}") from e
    return stores.PyFileSystem(stores.FSSpecHandler(files)), str(path)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


@lru_cache(maxsize=64)
def place_of(store: str | None) -> Here | Store:
    """Return the place of a URL, or this machine."""
    return Here() if store is None else Store(store)


def is_url(text: str) -> bool:
    """Tell whether a text is a URL rather than a path."""
    return "://" in text


def shown(store: str | None, path: str) -> str:
    """Return what a person calls a file, as text that any file can hold.

    >>> shown("s3://birds/2024?region=eu-west-1", "birds/2024/a.flac")
    's3://birds/2024/a.flac'
    """
    if store is not None and not is_url(path):
        path = f"{store.partition('://')[0]}://{path}"
    return os.fsencode(path).decode("utf-8", "replace")


class Asked:
    """One argument: a file, a folder or a glob, somewhere."""

    def __init__(self, text: str) -> None:
        """Look at what a person typed.

        Raises:
            LeanTTAError: the URL cannot be opened.
        """
        self.text = text if is_url(text) else str(Path(text).absolute())
        place = place_of(text if is_url(text) else None)
        self.place: Place = place
        path = place.path if isinstance(place, Store) else os.path.normpath(self.text)
        there = self._looked(path)
        self.start = there
        self.pattern: tuple[str, ...] = ()
        self.path = path
        if there is None and any(letter in path for letter in "*?["):
            parts = path.split("/")
            first = next(i for i, part in enumerate(parts) if any(letter in part for letter in "*?["))
            self.path = "/".join(parts[:first]) or "/"
            self.pattern = tuple(
                part for i, part in enumerate(parts) if i >= first and parts[i - 1 : i + 1] != ["**", "**"]
            )
            self.start = self._looked(self.path)
        if self.start is None or (self.pattern and not self.start.is_folder):
            what = "folder for the glob" if self.pattern else "file, folder or glob"
            raise MissingFileError(f"no {what} at {text}. Check the path.")

    def _looked(self, path: str) -> Found | None:
        try:
            return self.place.look(path)
        except (OSError, ValueError, pa.ArrowException) as e:
            raise DataError(f"cannot look at {self.text}: {_line(e)}") from e

    def files(self) -> Iterator[Found]:
        """Give the files that are meant, each once.

        Raises:
            DataError: a folder cannot be looked into.
        """
        assert self.start is not None  # else it was refused
        if not self.start.is_folder:
            yield self.start
        else:
            yield from self._matching(self.path, self.pattern) if self.pattern else self._below(self.path)

    def has(self, place: Place, path: str) -> bool:
        """Tell whether a file is among those that are meant."""
        assert self.start is not None  # else it was refused
        if _kind(place.store) != _kind(self.place.store):
            return False
        if not self.pattern:
            return path == self.path or (self.start.is_folder and _above(self.path, path))
        inner = path[len(self.path.rstrip("/")) + 1 :].split("/")
        return _above(self.path, path) and _fits(inner, self.pattern, "**" in self.pattern)

    def _inside(self, folder: str) -> list[Found]:
        try:
            return [
                each for each in self.place.inside(folder) if not each.path.split("/")[-1].startswith(".")
            ]
        except (OSError, pa.ArrowException) as e:
            raise DataError(f"cannot look into {folder}: {_line(e)} Check its permissions.") from e

    def _below(self, folder: str) -> Iterator[Found]:
        for each in self._inside(folder):
            if each.is_folder:
                yield from self._below(each.path)
            else:
                yield each

    def _matching(self, folder: str, pattern: Sequence[str]) -> Iterator[Found]:
        first, rest = pattern[0], pattern[1:]
        if first == "**":
            if rest:
                yield from self._matching(folder, rest)
            for each in self._inside(folder):
                if each.is_folder:
                    yield from self._matching(each.path, pattern)
                elif not rest:
                    yield each
            return
        for each in self._inside(folder):
            if not fnmatchcase(each.path.split("/")[-1], first):
                continue
            if rest and each.is_folder:
                yield from self._matching(each.path, rest)
            elif not rest and not each.is_folder:
                yield each
            elif not rest and "**" not in self.pattern:
                yield from self._below(each.path)


def _fits(parts: Sequence[str], pattern: Sequence[str], whole: bool) -> bool:
    """Tell whether a path has a pattern, or, unless it must be the whole path, lies in a folder that has it.

    >>> _fits(["a", "b.jpg"], ["*", "*.jpg"], True), _fits(["a", "b", "c.jpg"], ["a*"], False)
    (True, True)
    >>> _fits(["a", "b"], ["**", "b"], True), _fits(["b", "c"], ["**", "b"], True)
    (True, False)
    """
    if not pattern:
        return not (whole and parts)
    if pattern[0] == "**":
        return any(_fits(parts[start:], pattern[1:], whole) for start in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _fits(parts[1:], pattern[1:], whole)


def _kind(store: str | None) -> tuple[str, str] | None:
    return None if store is None else (urlsplit(store).scheme, urlsplit(store).query)
