"""What a model file says of itself, for people."""

import json
from os import PathLike
from typing import Any

from leantta.runtime.bodies import changed_functions
from leantta.runtime.container import INFO_KEY, Container, check_crc, read_container
from leantta.runtime.metadata import Info, read_info
from leantta.tables import render

SHOWN = 5
"""How many layers in float32 the table names."""

EXPECTED = {
    "expected_gain_known": "expected gain under shifts that it knows",
    "expected_gain_unknown": "expected gain under others",
    "expected_cost": "expected loss on clean inputs",
}
"""What fitting the shift filter told, by its key in the metadata."""


def facts_of(path: str | PathLike[str]) -> str:
    """Return tables of what the file at `path` says of itself.

    Raises:
        MissingFileError: there is nothing at `path`.
        ArtifactError: the file is damaged, not ours, or too new.
    """
    container, info = opened(path)
    rows = [
        ("model", f"{info.model}, {info.precision}{', portable' if info.portable else ''}"),
        ("size", f"{container.size / 1e6:.2f} MB"),
        ("input", f"{info.input.kind}, {' x '.join(map(str, info.input.shape))}"),
        *_images(info),
        ("outputs", _outputs(info)),
        ("gate", "none: nothing adapts" if info.gate is None else info.gate.described(info.gate)),
        ("layers", _layers(info)),
        *_functions(container),
        ("stream mode", "no" if info.memory is None else f"yes, remembers {info.memory.size} numbers"),
        *_int8(info),
        *expectations(info),
        ("made with", ", ".join(f"{name} {version}" for name, version in sorted(info.versions.items()))),
    ]
    table = render(["", "in the file"], rows)
    plan = [(row.layer, str(row.channels), row.action, row.reason) for row in info.plan]
    return f"{table}\n\n{render(['layer', 'channels', 'action', 'reason'], plan)}"


def metadata_of(path: str | PathLike[str]) -> dict[str, Any]:
    """Return the metadata of the file at `path` as it is written there.

    Raises:
        MissingFileError: there is nothing at `path`.
        ArtifactError: the file is damaged, not ours, or too new.
    """
    container, _ = opened(path)
    told: dict[str, Any] = json.loads(container.metadata[INFO_KEY])
    return told


def opened(path: str | PathLike[str]) -> tuple[Container, Info]:
    """Return a file that is whole and of our kind, and what it says."""
    container = read_container(path)
    check_crc(container)
    return container, read_info(container)


def _images(info: Info) -> list[tuple[str, str]]:
    """Return what happens to an image file before the model takes it."""
    if not info.input.is_image:
        return []
    how = info.input.preprocessing
    fitted = "scaled to cover the input, centre cut" if how is None else how.described()
    mean, std = (
        ", ".join(f"{each:.4g}" for each in values or ()) for values in (info.input.mean, info.input.std)
    )
    return [("image files", fitted), ("mean, std", f"{mean}; {std}")]


def _outputs(info: Info) -> str:
    """Return the number of scores, or what each output is."""
    if info.format == 1:
        return f"{info.outputs}"
    each = (f"{head.name} ({', '.join(map(str, head.shape))}) {head.role}" for head in info.heads)
    return "; ".join(each)


def _functions(container: Container) -> list[tuple[str, str]]:
    """Return what is to be known of the functions in the file, if anything is."""
    changed = changed_functions(container.path)
    return [
        (
            "functions",
            f"{', '.join(changed)}: none that LeanTTA writes for such layers, so without the kernel",
        )
    ] * bool(changed)


def _layers(info: Info) -> str:
    return f"{len(info.layers)} of {len(info.plan)} adapt"


def _int8(info: Info) -> list[tuple[str, str]]:
    """Return how the file was made int8, and what stays in float32; files made before do not say."""
    told = info.calibration or {}
    rows = []
    if isinstance(remedies := told.get("int8"), list):
        rows.append(("int8", ", ".join(map(str, remedies))))
    if isinstance(agreement := told.get("agreement"), int | float):
        count = told.get("held_out")
        rows.append(("against torch", f"same decision on {100 * agreement:.1f} % of {count} inputs held out"))
    if isinstance(share := told.get("float_share"), int | float) and "int8" in told:
        left = told.get("in_float")
        which = [f"{name} ({why})" for name, why in left.items()] if isinstance(left, dict) else []
        named = f": {', '.join(which[:SHOWN])}{', ...' if len(which) > SHOWN else ''}" if which else ""
        rows.append(("in float32", f"{100 * share:.2g} % of the multiply-adds{named}"))
    return rows


def expectations(info: Info) -> list[tuple[str, str]]:
    """Return what fitting told of gain and cost, in points with its 95 % interval, and its notes."""
    calibration = info.calibration or {}
    rows = [("source images", str(calibration["images"]))] if "images" in calibration else []
    if "field_images" in calibration:
        rows.append(("field images", str(calibration["field_images"])))
    for key, name in EXPECTED.items():
        value = calibration.get(key)
        if isinstance(value, list) and len(value) == 2 and all(isinstance(v, int | float) for v in value):
            mean, half = (100 * float(v) for v in value)
            rows.append((name, f"{mean:+.1f} [{mean - half:+.1f}, {mean + half:+.1f}] points"))
    notes = calibration.get("notes")
    rows += [("note", str(note)) for note in notes] if isinstance(notes, list) else []
    return rows
