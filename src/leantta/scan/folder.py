"""The output folder of a scan: whose it is, what was asked, and which chunks are done.

scan.json                      what was asked, of which model file; written whole
listing/000000.parquet         what there is to do
parts/000000/000000000.parquet what was found, a file for each chunk
attempts/000000000             a chunk that somebody works on, or died of
"""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from leantta.errors import RecordError, StorageError
from leantta.files import check_folder
from leantta.records.json_file import read_json, write_json
from leantta.records.provenance import provenance_now
from leantta.scan.listing import PER_SHARD, Listed
from leantta.scan.scoring import ATTEMPTS, LISTING, PARTS

KIND, FORMAT = "scan", 1
MANIFEST = "scan.json"
_LOCK = ".lock"
_OWN = (MANIFEST, LISTING, PARTS, ATTEMPTS, _LOCK)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All that decides what is in the output; a scan that is taken up again must have the same."""

    model: str  # the file's name
    artifact_sha256: str
    inputs: tuple[str, ...]
    column: str | None
    engine: str
    chunk: int


_WORDS: Mapping[str, str] = {
    "model": "the model file",
    "artifact_sha256": "the content of the model file",
    "inputs": "the inputs",
    "column": "--column",
    "engine": "--engine",
    "chunk": "--chunk",
}


class Output:
    """The folder of one scan."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep others from scanning into the folder; what ends the process lets go.

        Raises:
            StorageError: it cannot be written.
            RecordError: somebody else scans into it.
        """
        check_folder(self.path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / _LOCK).open("a")
        except OSError as e:
            raise StorageError(f"cannot write {self.path}: {e.strerror or e}. Choose another place.") from e
        with lock:
            try:
                import fcntl
            except ModuleNotFoundError:  # Windows
                yield
                return
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as e:
                raise RecordError(f"another scan is writing {self.path}. Wait for it, or stop it.") from e
            except OSError:  # some network file systems have no locks; parts are safe without
                pass
            yield

    def check_free(self) -> None:
        """Look whether the folder is a scan's, or free for one; nothing is written.

        Raises:
            RecordError: it holds something else.
        """
        if not self.path.exists() or (self.path / MANIFEST).exists():
            return
        if not self.path.is_dir():
            raise RecordError(f"{self.path} is a file. Give a folder for the output.")
        foreign = sorted(each.name for each in self.path.iterdir() if each.name not in _OWN)
        if foreign:
            raise RecordError(
                f"{self.path} holds {len(foreign)} entries that are no scan, e.g. {foreign[0]}. "
                f"Give an empty folder, or one that is not there yet."
            )

    def agree(self, settings: Settings) -> Listed | None:
        """Take up the scan that the folder holds; return its listing, None if there is none yet.

        Raises:
            RecordError: it is a scan with other settings; the message says which.
        """
        if not (self.path / MANIFEST).exists():
            return None
        kept = read_json(self.path / MANIFEST, KIND, FORMAT)
        if kept["listing"] is None:  # it ended before there was anything to keep
            return None
        now = _plain(settings)
        for name, words in _WORDS.items():
            was = kept["settings"].get(name)
            if was != now[name]:
                raise RecordError(
                    f"{self.path} holds a scan in which {words} differed: {_short(was)} there, "
                    f"{_short(now[name])} now. Give another folder, or --restart to throw that scan away."
                )
        return Listed(**kept["listing"])

    def clear(self) -> None:
        """Throw away what a scan left."""
        (self.path / MANIFEST).unlink(missing_ok=True)
        for name in (LISTING, PARTS, ATTEMPTS):
            shutil.rmtree(self.path / name, ignore_errors=True)

    def write(self, settings: Settings, about: Mapping[str, Any], listed: Listed | None) -> None:
        """Write the manifest: before the listing, so that the folder is known for a scan's, and after it."""
        content = {
            "kind": KIND,
            "format": FORMAT,
            **asdict(provenance_now()),
            "settings": _plain(settings),
            **about,
            "listing": None if listed is None else listed._asdict(),
        }
        write_json(content, self.path / MANIFEST)

    def finished(self, chunks: int) -> bytearray:
        """Return for each chunk whether its part is there; what dead workers left half done is removed."""
        done = bytearray(chunks)
        for number in range(-(-chunks // PER_SHARD)):
            folder = self.path / PARTS / f"{number:06d}"
            if not folder.is_dir():
                continue
            for part in folder.iterdir():
                if part.name.startswith("."):
                    with suppress(OSError):
                        part.unlink()
                elif part.stem.isdigit() and int(part.stem) < chunks:
                    done[int(part.stem)] = 1
        return done


def _plain(settings: Settings) -> dict[str, Any]:
    return {**asdict(settings), "inputs": list(settings.inputs)}


def _short(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
