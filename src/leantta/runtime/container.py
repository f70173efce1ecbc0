"""What an .onnx file holds, found without the onnx package and without reading its weights into memory.

`read_container` looks through the structure and refuses what a model of ours never has: weights in other
files, operators of unknown origin, operations with graphs of their own, functions that call functions, and
more of anything than a network has: ONNX Runtime, which would work on such a file for hours, never sees it. A
file carries two seals, a CRC-32 and a SHA-256, both taken with the
digits of both replaced by zeros. `check_crc` is quick and finds damage; `check_digest` names the file.
"""

import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from io import SEEK_END, FileIO
from os import PathLike, fspath
from typing import NamedTuple

from leantta.errors import ArtifactError, MissingFileError
from leantta.runtime.bounds import MAX_FIELDS, check_size
from leantta.runtime.wire import BYTES, VARINT, Field, Wire, WireError

INFO_KEY = "leantta"
DIGEST_KEY = "leantta.sha256"
CRC_KEY = "leantta.crc32"
SEALS: Mapping[str, int] = {DIGEST_KEY: 64, CRC_KEY: 8}
"""The notes that seal a file, with their numbers of hexadecimal digits."""

DOMAINS = ("", "ai.onnx", "com.microsoft", "leantta")
"""Where the operators of a file may come from; those of `leantta` are functions inside the file."""

_MAX_NAME_BYTES = 4_096
_MAX_METADATA_BYTES = 8_388_608
_MAX_NAMES = 10_000  # different operators, functions or notes
_CHUNK_BYTES = 262_144

# The messages that can hold weights or operators: the number of each such field, and the message in it.
_PARTS: Mapping[str, Mapping[int, str]] = {
    "model": {7: "graph", 8: "opset", 14: "note", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "graph": {1: "node", 5: "tensor", 15: "sparse tensor"},
    "function": {7: "step", 11: "attribute"},
    "node": {5: "attribute"},
    "step": {5: "attribute"},
    "attribute": {
        5: "tensor",
        6: "inner graph",
        10: "tensor",
        11: "inner graph",
        22: "sparse tensor",
        23: "sparse tensor",
    },
    "sparse tensor": {1: "tensor", 2: "tensor"},
}
_NOTHING: Mapping[int, str] = {}
# The fields of a message that are looked at for themselves.
_OWN: Mapping[str, frozenset[int]] = {
    "model": frozenset({1}),  # ir_version
    "function": frozenset({1, 10}),  # name, domain
    "node": frozenset({4, 7}),  # op_type, domain
    "step": frozenset({4, 7}),  # a node of a function
    "tensor": frozenset({13, 14}),  # external_data, data_location
    "opset": frozenset({1, 2}),  # domain, version
    "note": frozenset({1, 2}),  # key, value
}
_COUNTED = ("node", "step", "function")


class Container(NamedTuple):
    """The outside of a model file; its notes are ONNX's `metadata_props`."""

    path: str
    size: int
    ir_version: int
    opsets: Mapping[str, int]
    metadata: Mapping[str, str]
    seals_at: Mapping[str, int]  # where the digits of each seal begin; empty if it is not sealed


def read_container(path: str | PathLike[str]) -> Container:
    """Return what the file at `path` holds, after looking at every part of it.

    Raises:
        MissingFileError: there is nothing at `path`.
        ArtifactError: it is empty, cut off, damaged, not ONNX, or has parts that a model of ours never has.
    """
    try:
        with FileIO(fspath(path)) as file:
            return _Walk(fspath(path), file).container()
    except FileNotFoundError as e:
        raise MissingFileError(f"no model file at {path}. Check the path.") from e
    except ArtifactError:
        raise
    except (OSError, ValueError) as e:  # ValueError: no path at all, such as one with a zero byte
        raise ArtifactError(
            f"cannot read {path}: {getattr(e, 'strerror', None) or e}. Check the path."
        ) from e


def check_crc(container: Container) -> None:
    """Look whether the file is as it was made, by its CRC-32; a file without seals passes.

    Raises:
        ArtifactError: the file has changed since it was made.
    """
    if not container.seals_at:
        return
    value = 0
    for chunk in _blanked(container):
        value = zlib.crc32(chunk, value)
    _compare(container, CRC_KEY, f"{value:08x}")


def check_digest(container: Container) -> str | None:
    """Return the SHA-256 of the file if it is the one that the file carries; None if it carries none.

    Raises:
        ArtifactError: the file has changed since it was made.
    """
    if not container.seals_at:
        return None
    import hashlib  # here, as it costs 4 MB of memory, and loading a model does without

    hashed = hashlib.sha256()
    for chunk in _blanked(container):
        hashed.update(chunk)
    _compare(container, DIGEST_KEY, hashed.hexdigest())
    return hashed.hexdigest()


def _compare(container: Container, key: str, digits: str) -> None:
    stated = container.metadata[key]
    if digits != stated:
        raise ArtifactError(
            f"{container.path} is damaged: its {key.removeprefix('leantta.')} is {digits[:12]}, and it was "
            f"made with {stated[:12]}. Copy it again or convert the model again."
        )


def _blanked(container: Container) -> Iterator[memoryview]:
    """Yield the bytes of the file, a piece at a time, with zeros for the digits of the seals."""
    view = memoryview(bytearray(_CHUNK_BYTES))
    places = [(at, SEALS[key]) for key, at in container.seals_at.items()]
    try:
        with FileIO(container.path) as file:
            start = 0
            while count := file.readinto(view):
                for at, digits in places:
                    first, last = max(at - start, 0), min(at + digits - start, count)
                    if first < last:
                        view[first:last] = b"0" * (last - first)
                yield view[:count]
                start += count
    except OSError as e:
        raise ArtifactError(f"cannot read {container.path}: {e.strerror or e}. Check the file.") from e


class _Walk:
    """Goes through the messages of a file once and keeps what a `Container` needs."""

    def __init__(self, path: str, file: FileIO) -> None:
        self.path = path
        self.wire = Wire(file, file.seek(0, SEEK_END))
        self.ir_version = 0
        self.opsets: dict[str, int] = {}
        self.metadata: dict[str, str] = {}
        self.seals_at: dict[str, int] = {}
        self.operators: Counter[tuple[str, str]] = Counter()  # how often the graph has each
        self.inside: Counter[tuple[str, str]] = Counter()  # the same for the function that is looked at
        self.functions: dict[tuple[str, str], int] = {}  # how many nodes each has
        self.tensors = self.looked_at = 0

    def container(self) -> Container:
        path, size = self.path, self.wire.size
        if not size:
            raise ArtifactError(f"{path} is empty. Copy it again or convert the model again.")
        if not self.begins_well():
            raise ArtifactError(f"{path} is not an ONNX file: it does not begin like one. Check the path.")
        try:
            self.message("model", 0, size)
        except WireError as e:
            if e.cut_off:
                raise ArtifactError(
                    f"{path} is cut off: it ends at byte {size}, inside {e}. Copy it again."
                ) from e
            raise ArtifactError(f"{path} is damaged, or no ONNX file: at byte {e.at} it has {e}.") from e
        if self.seals_at and len(self.seals_at) != len(SEALS):
            raise ArtifactError(f"{path} is damaged: it has one of its two seals. Convert the model again.")
        self.check_operators()
        check_size(path, self.operators, self.functions, self.tensors)
        return Container(
            path=path,
            size=size,
            ir_version=self.ir_version,
            opsets=self.opsets,
            metadata=self.metadata,
            seals_at=self.seals_at,
        )

    def begins_well(self) -> bool:
        """Tell whether the file begins with the version of ONNX's format, as every ONNX file does."""
        try:
            number, kind, value, *_ = next(self.wire.fields(0, self.wire.size))
        except WireError:
            return False
        return (number, kind) == (1, VARINT) and 0 < value < 100

    def message(self, kind: str, start: int, end: int) -> None:
        """Look at a message and those inside it."""
        if kind == "inner graph":
            raise ArtifactError(
                f"{self.path} has an operation with a graph of its own, such as If or Loop: refused. "
                f"Convert the model again."
            )
        self.tensors += kind == "tensor"
        parts, wanted = _PARTS.get(kind, _NOTHING), _OWN.get(kind, _NOTHING)
        own: dict[int, Field] = {}
        for field in self.wire.fields(start, end):
            self.looked_at += 1
            if self.looked_at > MAX_FIELDS:
                raise WireError(f"more than {MAX_FIELDS:,} fields", field[3])
            number = field[0]
            if number in parts and field[1] == BYTES:
                self.message(parts[number], field[3], field[4])
            elif number in wanted:
                if number in own and kind != "tensor":
                    raise WireError(f"a {kind} that says a thing twice", field[3])
                own[number] = field
        if own or kind in _COUNTED:
            self.keep(kind, own)

    def keep(self, kind: str, own: Mapping[int, Field]) -> None:
        """Take what is wanted of a message."""
        if kind == "model":
            self.ir_version = own[1][2]
        elif kind == "tensor":
            self.check_place(own)
        elif kind == "node":
            self.operators[self.name(own, 7), self.name(own, 4)] += 1
        elif kind == "step":
            self.inside[self.name(own, 7), self.name(own, 4)] += 1
        elif kind == "function":
            self.keep_function((self.name(own, 10), self.name(own, 1)))
        elif kind == "opset":
            self.opsets[self.name(own, 1)] = own[2][2] if 2 in own else 0
        elif kind == "note":
            self.keep_note(self.name(own, 1), own.get(2))
        if max(len(self.operators), len(self.functions), len(self.opsets), len(self.metadata)) > _MAX_NAMES:
            raise WireError(f"more than {_MAX_NAMES:,} different names", 0)

    def keep_function(self, name: tuple[str, str]) -> None:
        if name[0] != "leantta" or name in self.functions:
            raise WireError(
                f"a function {name[1]!r} of {name[0] or 'ai.onnx'!r} that no model of ours has", 0
            )
        for domain, operator in self.inside:
            if domain == "leantta":
                raise WireError(f"a function {name[1]!r} that calls the function {operator!r}", 0)
        self.functions[name] = self.inside.total()
        self.operators.update(dict.fromkeys(self.inside, 0))
        self.inside.clear()

    def keep_note(self, key: str, value: Field | None) -> None:
        if key in self.metadata:
            raise WireError(f"the note {key!r} twice", value[3] if value else 0)
        room = _MAX_METADATA_BYTES - sum(map(len, self.metadata.values()))
        self.metadata[key] = self.wire.text(value, room) if value and value[1] == BYTES else ""
        if key in SEALS and value:
            if not re.fullmatch(f"[0-9a-f]{{{SEALS[key]}}}", self.metadata[key]):
                raise WireError(f"a {key} that is not {SEALS[key]} hexadecimal digits", value[3])
            self.seals_at[key] = value[3]

    def name(self, own: Mapping[int, Field], number: int) -> str:
        field = own.get(number)
        return self.wire.text(field, _MAX_NAME_BYTES) if field and field[1] == BYTES else ""

    def check_place(self, own: Mapping[int, Field]) -> None:
        location = own.get(14)
        if 13 in own or (location and (location[1] != VARINT or location[2])):
            raise ArtifactError(
                f"{self.path} keeps weights in another file, which is refused: a model of ours is one file. "
                f"Convert the model again."
            )

    def check_operators(self) -> None:
        for domain, operator in sorted(self.operators):
            if domain not in DOMAINS:
                raise ArtifactError(
                    f"{self.path} uses the operator {operator!r} of {domain!r}, which is not ONNX's own. "
                    f"Known: {', '.join(domain or 'ai.onnx' for domain in DOMAINS if domain != 'ai.onnx')}."
                )
            if domain == "leantta" and (domain, operator) not in self.functions:
                raise ArtifactError(
                    f"{self.path} uses the function {operator!r} of leantta but does not contain it. "
                    f"Convert the model again."
                )
