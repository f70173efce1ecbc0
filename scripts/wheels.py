"""Builds what is published: source archives and wheels of the tool and the laboratory, into one folder.

    python scripts/wheels.py [--only sdist x86_64 aarch64 lab] [-o dist]

The wheels are made from the source archives, so these are known to build. A wheel of the tool runs with any
Python 3 on Linux with the glibc that its name says. auditwheel finds which one that is; one newer than LIMIT
is refused. The wheel for aarch64 is cross-compiled with Debian's g++-aarch64-linux-gnu. The folder is an
index: `pip install --find-links dist leantta`.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("sdist", "x86_64", "aarch64", "lab")
LIMIT = (2, 28)
"""The newest glibc that a wheel may need, that of RHEL 8. Debian and Ubuntu of 2020 have later ones."""

CROSS = (
    "CMAKE_SYSTEM_NAME=Linux",
    "CMAKE_SYSTEM_PROCESSOR=aarch64",
    "CMAKE_C_COMPILER=aarch64-linux-gnu-gcc",
    "CMAKE_CXX_COMPILER=aarch64-linux-gnu-g++",
)


def call(*words: str | Path, **settings: str) -> None:
    """Run a command with settings in its environment; leave with the end of what it said if it fails."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    environment = {**os.environ, "PATH": path, **settings}
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    if done.returncode:
        said = done.stdout[-3000:]
        raise SystemExit(f"{' '.join(map(str, words))}\nfailed with {done.returncode}:\n{said}")


def python(*words: str | Path, **settings: str) -> None:
    """Run a module of this Python."""
    call(sys.executable, "-m", *words, **settings)


def sdist(project: Path, folder: Path) -> Path:
    """Return the source archive of a project, made anew in `folder`."""
    python("build", "--quiet", "--sdist", "--outdir", folder, project)
    (path,) = folder.glob("*.tar.gz")
    return path


def unpacked(archive: Path, folder: Path) -> Path:
    """Return the folder in which a source archive lies open."""
    with tarfile.open(archive) as content:
        content.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def tool_wheel(archive: Path, machine: str, folder: Path) -> Path:
    """Return a wheel of the tool for a processor, named after the oldest glibc that its kernel runs with."""
    defined: Sequence[str] = ()
    settings = {}
    if machine != platform.machine():
        if shutil.which("aarch64-linux-gnu-g++") is None:
            raise SystemExit(
                "no compiler for aarch64. On Debian: apt-get install g++-aarch64-linux-gnu. "
                "Without it: --only sdist x86_64 lab"
            )
        defined = CROSS
        settings["_PYTHON_HOST_PLATFORM"] = f"linux-{machine}"
    made, repaired = folder / "made", folder / "repaired"
    options = [f"--config-setting=cmake.define.{line}" for line in defined]
    python("build", "--quiet", "--wheel", "--outdir", made, *options, unpacked(archive, folder), **settings)
    (wheel,) = made.glob("*.whl")
    python("auditwheel", "repair", "--wheel-dir", repaired, wheel)
    (path,) = repaired.glob("*.whl")
    check_tool_wheel(path, machine)
    return path


def check_tool_wheel(wheel: Path, machine: str) -> None:
    """Leave if a wheel has no kernel, is for another machine, or needs a newer glibc than LIMIT."""
    names = zipfile.ZipFile(wheel).namelist()
    if "leantta/lib/libleantta_kernel.so" not in names:
        raise SystemExit(f"{wheel.name} has no kernel: is there a C++ compiler?")
    tags = wheel.stem.split("-")[-1].split(".")
    wanted = [f"manylinux_{LIMIT[0]}_{minor}_{machine}" for minor in range(5, LIMIT[1] + 1)]
    if not set(tags) & set(wanted):
        raise SystemExit(f"{wheel.name} runs on too few systems: {wanted[-1]} or older is wanted")


def build(parts: Sequence[str], output: Path) -> list[Path]:
    """Build the parts, and return the files that are now in `output`."""
    output.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as work:
        folder = Path(work)
        tool = sdist(ROOT, folder / "sdist")
        files = [tool] if "sdist" in parts else []
        files += [tool_wheel(tool, name, folder / name) for name in ("x86_64", "aarch64") if name in parts]
        if {"sdist", "lab"} & set(parts):
            lab = sdist(ROOT / "lab", folder / "lab")
            files += [lab] if "sdist" in parts else []
        if "lab" in parts:
            python("build", "--quiet", "--wheel", "--outdir", folder / "wheel", unpacked(lab, folder))
            files += (folder / "wheel").glob("*.whl")
        return [Path(shutil.move(path, output / path.name)) for path in files]


def main() -> None:
    """Build what was asked for."""
    parser = argparse.ArgumentParser(description="Build the packages as they are published.")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="(default: all)")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "dist")
    given = parser.parse_args()
    for path in build(given.only, given.output):
        sys.stdout.write(f"{path.stat().st_size / 1e6:8.2f} MB  {path.name}\n")


if __name__ == "__main__":
    main()
