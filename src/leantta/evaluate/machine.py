"""On what a record was made: the machine, and the versions of what computed."""

import os
import platform
import shlex
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_COMPUTING = ("leantta", "numpy", "scipy", "torch", "onnx", "onnxruntime", "openvino")


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
    """Return what was typed to start this process, the program by its name rather than its place."""
    program = Path(sys.argv[0]).name
    return shlex.join(["leantta" if program == "__main__.py" else program, *sys.argv[1:]])


def _cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = [line.partition(":") for line in info.read_text(errors="replace").splitlines()]
        fields = {name.strip(): value.strip() for name, _, value in lines}
        for key in ("model name", "Model", "Hardware"):  # x86; Raspberry Pi; older ARM boards
            if fields.get(key):
                return fields[key]
    return platform.processor() or platform.machine() or "unknown"
