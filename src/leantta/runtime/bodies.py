"""Whether the functions in a file are those that the kernel computes.

A file carries each adaptive layer as a function in standard operators, and the kernel takes its place by its
name. So the name must mean that formula: of every function that the kernel has, the body in the file is
compared, by a digest, with those that LeanTTA has ever written. A file with another body runs as it says,
without the kernel.

The digest is taken of the fields of the body in the order of their numbers, without what means nothing: the
names of nodes, and notes for people. The function at the end of a file takes the distances of as many layers
as there are; a row of them counts as one name.
"""

from collections.abc import Mapping
from io import SEEK_END, FileIO

from leantta.errors import ArtifactError
from leantta.runtime.dead_channels import with_unexpected_dead
from leantta.runtime.known_bodies import KNOWN, WITH_DEAD
from leantta.runtime.wire import BYTES, VARINT, Wire, WireError

_FUNCTION_OF_MODEL = 25
_NAME = 1
_LONGEST = 262_144  # bytes of a body; ours have up to 8,000

_PARTS: Mapping[str, Mapping[int, str]] = {
    "function": {7: "node", 9: "opset"},
    "node": {5: "attribute"},
    "attribute": {},
    "opset": {},
}
_MEANINGLESS: Mapping[str, frozenset[int]] = {
    "function": frozenset({8, 14}),  # doc_string, metadata_props
    "node": frozenset({3, 6, 9}),  # name, doc_string, metadata_props
    "attribute": frozenset({13}),  # doc_string
    "opset": frozenset(),
}
_NAMES: Mapping[str, int] = {"function": 4, "node": 1}
"""The field with the inputs: an empty one has a meaning, any other empty text is as good as none."""


def changed_functions(path: str) -> tuple[str, ...]:
    """Return the functions of the file whose name the kernel knows, and that it would compute otherwise.

    Their body is none of ours, or is one of channels that are all alive, and some are dead.

    Raises:
        ArtifactError: the file cannot be read.
    """
    try:
        with FileIO(path) as file:
            wire = Wire(file, file.seek(0, SEEK_END))
            found = [
                (_name(wire, start, end), (start, end))
                for number, kind, _, start, end in wire.fields(0, wire.size)
                if (number, kind) == (_FUNCTION_OF_MODEL, BYTES)
            ]
            digests = {name: body_digest(wire, *place) for name, place in found if name in KNOWN}
            changed = [name for name, digest in digests.items() if digest not in KNOWN[name]]
            without = {
                name
                for name, digest in digests.items()
                if "Norm" in name and name not in changed and digest != KNOWN[name][WITH_DEAD]
            }
            return (*changed, *sorted(with_unexpected_dead(wire, without)))
    except (OSError, WireError) as e:
        raise ArtifactError(
            f"cannot load {path}: its functions cannot be read, {e}. Convert the model again."
        ) from e


def body_digest(wire: Wire, start: int, end: int) -> str:
    """Return the digest of the function between two places; one that is far too long has none.

    Raises:
        WireError: it is no function.
    """
    from _blake2 import blake2b  # as hashlib has it, without the 4 MB of OpenSSL

    if end - start > _LONGEST:
        return ""
    inputs = [wire.data(f[3], f[4]) for f in wire.fields(start, end) if f[0] == _NAMES["function"]]
    content = _canonical(wire, "function", start, end, _row(inputs)[1])
    return str(blake2b(content, digest_size=16).hexdigest())


def _name(wire: Wire, start: int, end: int) -> str:
    names = [
        wire.data(begin, stop) for number, kind, _, begin, stop in wire.fields(start, end) if number == _NAME
    ]
    return names[-1].decode(errors="replace") if names else ""


def _canonical(wire: Wire, kind: str, start: int, end: int, count: int) -> bytes:
    """Return the bytes of a message without what means nothing; `count` is how many distances there are."""
    fields: dict[int, list[bytes]] = {}
    for number, shape, value, begin, stop in wire.fields(start, end):
        if number in _MEANINGLESS[kind]:
            continue
        if shape == BYTES and number in _PARTS[kind]:
            content = _canonical(wire, _PARTS[kind][number], begin, stop, count)
        elif shape == VARINT:
            content = b"%d" % value
        else:
            content = wire.data(begin, stop)
        if content or number == _NAMES.get(kind):
            fields.setdefault(number, []).append(b"%d:" % shape + content)
    if kind in _NAMES and _NAMES[kind] in fields:
        fields[_NAMES[kind]] = _folded(fields[_NAMES[kind]], count)
    pieces = [(number, each) for number in sorted(fields) for each in fields[number]]
    return b"".join(b"%d:%d:" % (number, len(each)) + each for number, each in pieces)


def _folded(names: list[bytes], count: int) -> list[bytes]:
    """Return names with one for the row of all distances, if it is there as a whole."""
    first, length = _row([name.removeprefix(b"2:") for name in names])
    if not length or length != count:
        return names
    return [*names[:first], b"2:distance0...", *names[first + length :]]


def _row(names: list[bytes]) -> tuple[int, int]:
    """Return where the names distance0, distance1 and so on begin, and how many they are."""
    first = names.index(b"distance0") if b"distance0" in names else len(names)
    length = 0
    while names[first + length : first + length + 1] == [b"distance%d" % length]:
        length += 1
    return first, length
