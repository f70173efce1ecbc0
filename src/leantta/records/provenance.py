"""Where a record comes from: the recipe that decided it, the command, the machine, and the versions.

Every record has these fields, whatever else it holds. Two runs of one recipe give the same values; the hash
of the recipe is the name by which a record is found again.
"""

import hashlib
import json
import os
import platform
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_COMPUTING = ("leantta", "numpy", "scipy", "torch", "onnx", "onnxruntime", "openvino")


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Who made a record, on what, and when; `asdict` of it are the fields of every record file."""

    command: str
    machine: Mapping[str, Any]
    versions: Mapping[str, str]
    started: str


def provenance_now() -> Provenance:
    """Return the provenance of what is made in this process from now on."""
    return Provenance(
        command=command_line(), machine=describe_machine(), versions=loaded_versions(), started=time_now()
    )


def time_now() -> str:
    """Return the time in UTC, to the second, as records write it."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def canonical(value: object) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces, no NaN.

    >>> canonical({"b": 1, "a": [1.5, None]})
    '{"a":[1.5,null],"b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def recipe_sha256(recipe: Mapping[str, Any]) -> str:
    """Return the hash by which a recipe is known."""
    return hashlib.sha256(canonical(recipe).encode()).hexdigest()


def describe_machine() -> dict[str, str | int | None]:
    """Return the processor, the number of cores this process may use, and the platform."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only; elsewhere all cores
    return {
        "cpu": _cpu_name(),
        "cores": len(affinity(0)) if affinity else os.cpu_count(),
        "platform": platform.platform(),
    }


def loaded_versions() -> dict[str, str]:
    """Return the version of Python and of each computing package that is loaded; nothing is loaded for it."""
    versions = {"python": platform.python_version()}
    for name in _COMPUTING:
        if name in sys.modules:
            try:
                versions[name] = version(name)
            except PackageNotFoundError:  # run from a source tree that was not installed
                versions[name] = "unknown"
    return versions


def command_line() -> str:
    """Return what was typed to start this process, programs and files by their names.

    Where a file lies means nothing elsewhere, and may say more of a machine than its owner wants.
    """
    program = Path(sys.argv[0]).name
    words = [without_places(word) for word in sys.argv[1:]]
    return shlex.join(["leantta" if program == "__main__.py" else program, *words])


def without_places(word: str) -> str:
    """Return a word of a command with the names of files instead of their places.

    >>> [without_places(word) for word in ("/data/cifar10.npz", "har=../data/har.npz", "weights/a")]
    ['cifar10.npz', 'har=har.npz', 'weights/a']
    """
    name, equals, value = word.rpartition("=")
    outside = Path(value).is_absolute() or value.startswith(("../", "~/"))
    return f"{name}{equals}{Path(value).name}" if outside else word


def _cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = [line.partition(":") for line in info.read_text(errors="replace").splitlines()]
        fields = {name.strip(): value.strip() for name, _, value in lines}
        for key in ("model name", "Model", "Hardware"):  # x86; Raspberry Pi; older ARM boards
            if fields.get(key):
                return fields[key]
    return platform.processor() or platform.machine() or "unknown"
