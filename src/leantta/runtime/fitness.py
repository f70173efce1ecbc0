"""Whether a machine is fit to run model files: what is installed, what it has, and what to do about it.

Libraries of another processor end a process at once, with no error to catch. So the packages are tried in a
child process, step by step; the step after the last one that it reported is what broke.
"""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from leantta.extras import DISTRIBUTION_OF, EXTRA_OF
from leantta.records.provenance import describe_machine

OLDEST_PYTHON = (3, 10)

BROKEN = {"onnxruntime": ("1.21.0",)}
"""Versions that crash on some boards; pyproject.toml excludes them."""

FEATURES = (
    *("avx2", "fma", "f16c", "avx512f", "avx512_vnni", "avx_vnni"),
    *("neon", "asimd", "asimdhp", "asimddp", "i8mm"),
)
"""What the kernel and ONNX Runtime make use of, as /proc/cpuinfo calls it."""

ENOUGH = 200 * 1024 * 1024
"""Bytes of free memory below which a note is due: a small file needs about half of that."""

PATIENCE = 120
"""Seconds that importing may take on a slow card."""

STEPS = ("numpy", "Pillow", "onnxruntime", "a session")
"""What the child process tries, in this order."""

TRIAL = """
import json
def told(step, value):
    print(json.dumps([step, value]), flush=True)
import numpy
told("numpy", numpy.__version__)
import PIL.Image
told("Pillow", PIL.__version__)
import onnxruntime
told("onnxruntime", onnxruntime.__version__)
model = bytes.fromhex(
    "08073a370a100a017812017922084964656e746974791201675a0f0a0178120a0a08080112040a020801620f0a0179120a0a"
    "08080112040a02080142040a00100d"
)
session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
one = numpy.ones(1, numpy.float32)
assert session.run(None, {"x": one})[0][0] == 1
told("a session", "runs")
from leantta.runtime import kernel
told("kernel", kernel.describe())
told("registered", kernel.register(onnxruntime.SessionOptions()))
told("paths", list(kernel.paths()))
"""
"""It runs the smallest model there is, Identity, made with the onnx package."""


class Finding(NamedTuple):
    """One thing that was looked at."""

    name: str
    ok: bool  # False: `leantta run` would not work
    detail: str


def findings() -> list[Finding]:
    """Return what speaks for and against this machine, in the order in which it matters.

    >>> [each.name for each in findings()][:2]
    ['Python', 'numpy']
    """
    return [_python(sys.version_info[:3], sys.maxsize > 2**32), *_packages(), *_machine(), _extras()]


def _python(running: tuple[int, int, int], wide: bool) -> Finding:
    """Return whether this Python will do.

    >>> _python((3, 11, 2), False).ok
    False
    """
    name = ".".join(map(str, running))
    if not wide:
        return Finding(
            "Python",
            False,
            f"{name}, 32-bit; ONNX Runtime is made for 64-bit only: install a 64-bit operating system",
        )
    if running[:2] < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        return Finding("Python", False, f"{name}, 64-bit; {wanted} or newer is needed")
    return Finding("Python", True, f"{name}, 64-bit, {platform.system()} {platform.machine()}")


def _packages() -> Iterator[Finding]:
    """Yield whether what running needs can be loaded and works, and what the kernel is."""
    said, end = _tried()
    broken = False
    for step in STEPS:
        package = step if step != "a session" else "onnxruntime"
        installed = _version(package)
        if installed in BROKEN.get(package, ()):
            wrong = f"{installed} is known to crash on some boards: pip install '{package}!={installed}'"
            yield Finding(step, False, wrong)
        elif step in said:
            yield Finding(step, True, str(said[step]))
        elif broken:
            yield Finding(step, False, "not tried, as what comes before it does not work")
        elif installed is None:
            broken = True
            yield Finding(step, False, f"not installed: pip install {package}")
        else:
            broken = True
            yield Finding(
                step, False, f"{package} {installed} does not work here: {end}; try pip install -U {package}"
            )
    if "kernel" in said:
        ready = said.get("registered", False)
        ways = ", ".join(said.get("paths", ()))
        yield Finding(
            "kernel",
            True,
            f"{said['kernel']}{f'; this processor can: {ways}' if ways else ''}"
            if ready
            else f"{said['kernel']}; files run without it, more slowly. A C++ compiler (g++) and a new "
            "installation of leantta bring it",
        )


def _tried() -> tuple[dict[str, Any], str]:
    """Return what the child process reported, by step, and how it ended."""
    command = [sys.executable, "-c", TRIAL]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        output, code, errors = done.stdout, done.returncode, done.stderr.strip().splitlines()
    except subprocess.TimeoutExpired as e:
        seen = e.stdout or b""
        output = seen if isinstance(seen, str) else seen.decode(errors="replace")
        code, errors = 0, [f"no answer in {PATIENCE} seconds"]
    said = {}
    for line in output.splitlines():
        try:
            step, value = json.loads(line)
        except ValueError:  # a package that prints when it is loaded
            continue
        said[str(step)] = value
    end = (
        f"the process was ended by signal {-code}" if code < 0 else errors[-1] if errors else "no reason told"
    )
    return said, end


def _machine() -> Iterator[Finding]:
    machine = describe_machine()
    has = [name for name in FEATURES if name in _features()]
    known = f"; {', '.join(has)}" if has else ""
    yield Finding("processor", True, f"{machine['cpu']}, {machine['cores']} cores usable{known}")
    total, free = (_memory(key) for key in ("MemTotal", "MemAvailable"))
    if total is None or free is None:
        yield Finding("memory", True, "not known: the system does not say")
    else:
        note = "" if free >= ENOUGH else "; little for ONNX Runtime: end other programs first"
        yield Finding("memory", True, f"{total / 1e9:.1f} GB, {free / 1e9:.1f} GB of it free{note}")


def _extras() -> Finding:
    """Return which optional packages are there; nothing is loaded for it."""
    extras: dict[str, list[str]] = {}
    for package, extra in EXTRA_OF.items():
        extras.setdefault(extra, []).append(package)
    there, missing = [], []
    for extra, packages in extras.items():
        versions = {package: _version(package) for package in packages}
        if all(versions.values()):
            there.append(f"{extra} ({', '.join(f'{name} {number}' for name, number in versions.items())})")
        else:
            missing.append(extra)
    lines = [*there]
    if missing:
        lines.append(f"not installed: pip install 'leantta[{','.join(missing)}]'")
    return Finding("extras", True, "; ".join(lines))


def _version(package: str) -> str | None:
    try:
        return version(DISTRIBUTION_OF.get(package, package))
    except PackageNotFoundError:
        return None


def _features(cpuinfo: Path = Path("/proc/cpuinfo")) -> set[str]:
    """Return what the processor can do, as Linux tells it; nothing elsewhere."""
    try:
        lines = cpuinfo.read_text(errors="replace").splitlines()
    except OSError:
        return set()
    told = (line.partition(":") for line in lines)
    return {
        word for name, _, value in told if name.strip() in ("flags", "Features") for word in value.split()
    }


def _memory(key: str, meminfo: Path = Path("/proc/meminfo")) -> int | None:
    """Return a figure of the memory in bytes, as Linux tells it; elsewhere the whole, if it is known."""
    try:
        for line in meminfo.read_text().splitlines():
            name, _, value = line.partition(":")
            if name == key:
                return int(value.split()[0]) * 1024
    except (OSError, ValueError):
        pass
    if key == "MemTotal" and hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None
