"""What a C header says of ONNX Runtime's interface, and the file in which we keep the facts that we rely on.

`python tests/native/ort_header.py onnxruntime_c_api.h` prints the lines of `ort_c_api_slots.txt` as that
header gives them. Only facts are kept: names in their order, and the types of the functions that we call.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
FACTS = HERE / "ort_c_api_slots.txt"
OURS = HERE.parents[1] / "native" / "ort_abi.h"

ENUMS: Mapping[str, tuple[str, str]] = {
    "ElementType": ("ONNXTensorElementDataType", "ONNX_TENSOR_ELEMENT_DATA_TYPE_"),
    "ErrorCode": ("OrtErrorCode", "ORT_"),
    "Characteristic": ("OrtCustomOpInputOutputCharacteristic", "INPUT_OUTPUT_"),
}
"""Our enums: what ONNX Runtime calls each, and what its constants begin with."""

_SAL = re.compile(r"\b_[A-Z][a-z]\w*_\b(\([^()]*\))?")  # such as _In_: notes for Microsoft's compiler
_MEMBER = re.compile(
    r"^(?P<returns>.+?)\s*\(\s*(?:ORT_API_CALL)?\s*\*\s*(?P<name>\w+)\s*\)\s*\((?P<takes>.*)\)"
)
_SINCE = re.compile(r"\\since\s+Version\s+1\.(\d+)", re.IGNORECASE)


class Slot(NamedTuple):
    """A member of a table of functions: `since` is the minor version that brought it, 0 if not said."""

    name: str
    type: str
    since: int = 0


class Interface(NamedTuple):
    """The two tables that a kernel and ONNX Runtime share, and the numbers that they pass."""

    api: Mapping[int, Slot]
    custom_op: tuple[Slot, ...]
    enums: Mapping[str, Mapping[str, int]]


def parse_header(text: str) -> Interface:
    """Return the interface that `onnxruntime_c_api.h` declares."""
    text = _uncommented(text)
    enums = set(re.findall(r"\benum\s+(\w+)\s*\{", text))
    return Interface(
        api=dict(enumerate(_members(_body(text, "struct OrtApi"), enums))),
        custom_op=tuple(_members(_body(text, "struct OrtCustomOp"), enums)),
        enums={
            ours: {name.removeprefix(prefix): value for name, value in _constants(text, theirs).items()}
            for ours, (theirs, prefix) in ENUMS.items()
        },
    )


def parse_ours(text: str) -> Interface:
    """Return the interface that `native/ort_abi.h` declares; a comment above each call names its slot."""
    slots: dict[int, Slot] = {}
    calls = list(re.finditer(r"\bcall<([^<>]+)>\((\d+)\)", text))
    for before, call in zip([None, *calls], calls, strict=False):
        between = text[before.end() if before else 0 : call.start()]
        names = re.findall(r"^ *// ([A-Z]\w*)(?:$|:)", between, re.MULTILINE)
        if len(names) != 1:
            raise ValueError(f"one comment must name the function at position {call[2]}; there are {names}")
        returns, takes = call[1].split("(*)", 1)
        slots[int(call[2])] = Slot(names[0], _signature(returns, takes.strip()[1:-1], set()))
    text = _uncommented(text)
    enums = {ours: _constants(text, ours) for ours in ENUMS}
    return Interface(
        api=slots,
        custom_op=tuple(_members(_body(text, "struct OrtCustomOp"), set())),
        enums={
            ours: {
                re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name[1:]).upper(): value for name, value in values.items()
            }
            for ours, values in enums.items()
        },
    )


def parse_facts(text: str) -> Interface:
    """Return the interface as the stored facts have it; a type is there where we call the function."""
    sections: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("["):
            sections[line.strip("[]")] = rows = []
        elif line and not line.startswith("#"):
            rows.append(line)
    tables = {name: [_fact(row) for row in sections[name]] for name in ("OrtApi", "OrtCustomOp")}
    for rows_ in tables.values():
        if [position for position, _ in rows_] != list(range(len(rows_))):
            raise ValueError("the positions are not 0, 1, 2 and so on")
    constants = {ours: dict(row.split() for row in sections[ours]) for ours in ENUMS}
    return Interface(
        api=dict(tables["OrtApi"]),
        custom_op=tuple(slot for _, slot in tables["OrtCustomOp"]),
        enums={ours: {name: int(value) for name, value in rows.items()} for ours, rows in constants.items()},
    )


def print_facts(header: Interface, ours: Interface) -> Iterator[str]:
    """Yield the lines of the facts: all names up to the last slot that we use, and types of those used."""
    yield "[OrtApi]"
    for position in range(max(ours.api) + 1):
        name, type_, since = header.api[position]
        used = f" {type_} since 1.{since}" if since else f" {type_}"
        yield f"{position} {name}{used if position in ours.api else ''}"
    yield "\n[OrtCustomOp]"
    for position, slot in enumerate(header.custom_op[: len(ours.custom_op)]):
        yield f"{position} {slot.name} {slot.type}"
    for name, constants in ours.enums.items():
        yield f"\n[{name}]"
        yield from (f"{key} {header.enums[name][key]}" for key in constants)


def differences(ours: Interface, real: Interface) -> list[str]:
    """Return what `ours` says otherwise than `real`, which may know more; nothing if they agree."""
    messages = [
        f"position {position} of OrtApi is {real.api.get(position)}, not {slot}"
        for position, slot in ours.api.items()
        if not _same(slot, real.api.get(position))
    ]
    for position, slot in enumerate(ours.custom_op):
        other = real.custom_op[position] if position < len(real.custom_op) else None
        if not _same(slot, other):
            messages.append(f"field {position} of OrtCustomOp is {other}, not {slot}")
    for name, constants in ours.enums.items():
        for key, value in constants.items():
            if real.enums[name].get(key) != value:
                messages.append(f"{name} {key} is {real.enums[name].get(key)}, not {value}")
    return messages


def _same(ours: Slot, real: Slot | None) -> bool:
    return real is not None and ours.name == real.name and (not ours.type or ours.type == real.type)


def _fact(row: str) -> tuple[int, Slot]:
    position, name, *rest = row.split(" ", 2)
    type_, _, since = (rest[0] if rest else "").partition(" since 1.")
    return int(position), Slot(name, type_, int(since or 0))


def _uncommented(text: str) -> str:
    """Return the text without its comments, of which only the version that brought a function is kept."""

    def version(comment: re.Match[str]) -> str:
        since = _SINCE.search(comment[0])
        return f"@since {since[1]} " if since else " "

    return re.sub(r"/\*.*?\*/|//[^\n]*", version, text, flags=re.DOTALL)


def _body(text: str, opening: str) -> str:
    """Return what stands between the braces of a struct or enum."""
    match = re.search(rf"{opening}\s*(?::\s*\w+\s*)?\{{(.*?)\}}", text, re.DOTALL)
    if match is None:
        raise ValueError(f"the header has no {opening!r}")
    return match[1]


def _members(body: str, enums: set[str]) -> Iterator[Slot]:
    for statement in body.split(";")[:-1]:
        versions = re.findall(r"@since (\d+)", statement)
        words = re.sub(r"@since \d+", "", statement).split()
        yield _member(" ".join(words), int(versions[-1]) if versions else 0, enums)


def _member(statement: str, since: int, enums: set[str]) -> Slot:
    if release := re.fullmatch(r"ORT_CLASS_RELEASE\((\w+)\)", statement):
        return Slot(f"Release{release[1]}", f"void (Ort{release[1]}*)", since)
    if status := re.match(r"ORT_API2_STATUS\((\w+),?(.*)\)", statement):
        return Slot(status[1], _signature("OrtStatus*", status[2], enums), since)
    if plain := re.match(r"ORT_API_T\(([^,]+), (\w+),?(.*)\)", statement):
        return Slot(plain[2], _signature(plain[1], plain[3], enums), since)
    if pointer := _MEMBER.match(statement):
        return Slot(pointer["name"], _signature(pointer["returns"], pointer["takes"], enums), since)
    type_, _, name = statement.rpartition(" ")
    return Slot(name, _type(type_, enums), since)


def _signature(returns: str, takes: str, enums: set[str]) -> str:
    plain = _SAL.sub("", takes)
    arguments = re.split(r",(?![^()]*\))", plain)  # not the commas of a function among the arguments
    return (
        f"{_type(returns, enums)} ({', '.join(_type(_unnamed(argument), enums) for argument in arguments)})"
    )


def _unnamed(argument: str) -> str:
    """Return an argument's type without its name, if it has one."""
    if "(*" in argument:
        return re.sub(r"\(\*\s*\w*\s*\)", "(*)", argument)
    return re.sub(r"(?<=[\s*])\w+\s*$", "", argument.strip())


def _type(text: str, enums: set[str]) -> str:
    """Return a type in one spelling: no `std::` or `struct`, enums as int, no space before `*`."""
    words = re.sub(r"\b(std::|(struct|enum)\b)", "", _SAL.sub("", text)).replace("OrtStatusPtr", "OrtStatus*")
    words = re.sub(r"\w+", lambda word: "int" if word[0] in enums else word[0], words)
    return re.sub(r"\s+(?=[*,)])", "", " ".join(words.split()))


def _constants(text: str, name: str) -> dict[str, int]:
    body = _body(text, rf"enum {name}\b")
    values: dict[str, int] = {}
    following = 0
    for entry in filter(None, (piece.strip() for piece in body.split(","))):
        constant, _, value = (part.strip() for part in entry.partition("="))
        values[constant] = following = int(value, 0) if value else following
        following += 1
    return values


if __name__ == "__main__":
    shown = print_facts(parse_header(Path(sys.argv[1]).read_text()), parse_ours(OURS.read_text()))
    sys.stdout.writelines(f"{line}\n" for line in shown)
