"""Images in tar files, as webdataset keeps them: KEY.jpg with KEY.cls or KEY.json beside it.

One pass over the headers finds where each image lies; later it is read from there alone. KEY.cls holds a
class, by number or name; KEY.json an object with label and domain.
"""

import json
import tarfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from leantta.data.collection.collection import Collection, Layout
from leantta.data.collection.rows import Row, collected
from leantta.data.collection.search import KNOWN
from leantta.data.imagefiles import SUFFIXES, Pixels, decode_image
from leantta.errors import DataError

ENDING = ".tar"
LONGEST = 65_536
"""Bytes of a label file, at most."""


class Place(NamedTuple):
    """Where the bytes of an image lie."""

    shard: int
    start: int
    size: int


def open_tars(
    path: Path, shards: Sequence[Path], layout: Layout | None, classes: Sequence[str] | None
) -> Collection:
    """Return the images in tar files.

    Raises:
        DataError: a file is no plain tar or is cut short, there is no image, or labels do not fit.
    """
    rows: list[Row] = []
    places: list[Place] = []
    for number, shard in enumerate(shards):
        for row, start in _members(shard):
            rows.append(row)
            places.append(Place(number, start, row.size))
    if not rows:
        raise DataError(f"no image in {path}. {KNOWN} Check the tar file.")
    return collected(path, layout or "tars", rows, classes, partial(_read, tuple(shards), places, rows))


def _members(shard: Path) -> Iterator[tuple[Row, int]]:
    """Give each image with what its neighbours say of it, and where its bytes begin."""
    images: dict[str, tuple[str, int, int]] = {}
    said: dict[str, dict[str, str]] = {}
    try:
        with tarfile.open(shard, "r:") as tar:
            while (member := tar.next()) is not None:
                tar.members = []  # type: ignore[attr-defined] # else it keeps the headers of all
                stem, ending = _split(member.name)
                if not member.isfile() or stem.rpartition("/")[2].startswith("."):
                    continue
                if ending in SUFFIXES:
                    if stem in images:
                        raise DataError(f"{shard} has two images with the key {stem!r}. Keys must differ.")
                    images[stem] = (member.name, member.offset_data, member.size)
                elif ending in (".cls", ".json") and member.size <= LONGEST:
                    content = tar.extractfile(member)
                    assert content is not None  # it is a file
                    said.setdefault(stem, {}).update(_said(content.read(), ending, f"{shard}: {member.name}"))
    except (tarfile.TarError, OSError, EOFError) as e:
        raise DataError(
            f"cannot read {shard} as a tar file: {e}. It must be whole and uncompressed; copy or unpack it."
        ) from e
    for stem, (name, start, size) in images.items():
        about = said.get(stem, {})
        yield Row(name, f"{shard.name}/{name}", size, about.get("label"), about.get("domain")), start


def _split(name: str) -> tuple[str, str]:
    """Return key and ending; the key goes to the first dot of the name, as webdataset has it."""
    folder, slash, file = name.rpartition("/")
    key, dot, ending = file.partition(".")
    return f"{folder}{slash}{key}", f"{dot}{ending.lower()}"


def _said(content: bytes, ending: str, where: str) -> dict[str, str]:
    try:
        text = content.decode("utf-8").strip()
        if ending == ".cls":
            return {"label": text} if text else {}
        value = json.loads(text)
    except ValueError as e:
        raise DataError(f"{where} is no {'label' if ending == '.cls' else 'JSON'} in UTF-8: {e}.") from e
    if not isinstance(value, dict):
        raise DataError(f'{where} is not an object such as {{"label": 3, "domain": "night"}}.')
    return {key: str(value[key]) for key in ("label", "domain") if value.get(key) is not None}


def _read(shards: tuple[Path, ...], places: Sequence[Place], rows: Sequence[Row], number: int) -> Pixels:
    place = places[number]
    shard = shards[place.shard]
    try:
        with shard.open("rb") as file:
            file.seek(place.start)
            data = file.read(place.size)
    except OSError as e:
        raise DataError(f"cannot read {shard}: {e.strerror or e}. Check the file.") from e
    return decode_image(data, str(shard.parent / rows[number].key))
