"""Which sound files a path means."""

from pathlib import Path

from leantta.errors import DataError, LeanTTAError
from leantta.files import existing

SUFFIXES = (".flac", ".mp3", ".ogg", ".wav")
"""Endings of the files that count as sound, in lower case."""


def find_sounds(path: Path) -> tuple[Path, ...]:
    """Return the sound file at `path`, or those in the folder at `path` and its folders, by name.

    Hidden files and folders do not count.

    Raises:
        MissingFileError: there is nothing at `path`.
        DataError: the file is no sound by its ending, or the folder has none.
    """
    known = ", ".join(SUFFIXES)
    try:
        if not existing(path, "sound file or folder of sound files").is_dir():
            if path.suffix.lower() not in SUFFIXES:
                raise DataError(f"{path} does not end like a sound file. Known endings: {known}.")
            return (path,)
        found = tuple(sorted(each for each in path.rglob("*") if _counts(each, path)))
    except OSError as e:
        if isinstance(e, LeanTTAError):
            raise
        raise DataError(f"cannot look into {path}: {e.strerror or e}. Check the path.") from e
    if not found:
        raise DataError(f"no sound file in {path} or its folders. Known endings: {known}. Check the folder.")
    return found


def holds_sounds(path: Path) -> bool:
    """Tell whether `path` is a sound file by its ending, or a folder in which one is found."""
    if path.is_dir():
        return any(_counts(each, path) for each in path.rglob("*"))
    return path.suffix.lower() in SUFFIXES


def _counts(file: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    return file.suffix.lower() in SUFFIXES and not hidden and file.is_file()
