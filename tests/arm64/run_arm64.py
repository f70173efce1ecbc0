"""Run the golden files on arm64 without a board.

    python tests/arm64/run_arm64.py [FILE ...]

An arm64 Python from Debian, the aarch64 wheels of numpy and ONNX Runtime, our package and its cross-compiled
kernel run under qemu's user mode. check_files.py is what runs there; it compares logits, distances and shift
with those of this machine and with stored ones. Files given by name are checked as well as the golden ones.

What was made is kept under build/arm64. A folder there gets its name when it is finished, so a run that was
killed goes on where it was and nothing half-made is ever used.
"""

import argparse
import fcntl
import hashlib
import logging
import os
import platform
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from leantta.errors import MissingFileError
from leantta.files import existing

CHECKOUT = Path(__file__).resolve().parents[2]
BUILD = CHECKOUT / "build" / "arm64"
GOLDEN = CHECKOUT / "tests" / "runtime" / "golden"
NATIVE = CHECKOUT / "native"
CHECK = Path(__file__).with_name("check_files.py")

TOOLS = {  # what is called, and the Debian package it is in
    "qemu-aarch64-static": "qemu-user-static",
    "debootstrap": "debootstrap debian-archive-keyring",
    "dpkg-deb": "dpkg",
    "aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu",
    "g++": "g++",
    "cmake": "cmake make",
}
SEARCHED = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"  # where debootstrap is, not on every user's path
MIRROR = "http://deb.debian.org/debian"
SUITE, PYTHON = "bookworm", "3.11"
# ONNX Runtime 1.31 crashes at import under Debian 12's qemu 7.2; of what it requires it imports numpy only.
WHEELS = ("numpy==2.4.6", "onnxruntime==1.23.2")
PLATFORMS = (
    "manylinux_2_28_aarch64",
    "manylinux_2_27_aarch64",
    "manylinux_2_17_aarch64",
    "manylinux2014_aarch64",
)
CROSS = (
    "-DCMAKE_SYSTEM_NAME=Linux",
    "-DCMAKE_SYSTEM_PROCESSOR=aarch64",
    "-DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++",
)
LIBRARY = "libleantta_kernel.so"
CPUS = ("cortex-a53", "cortex-a76")  # without and with the dot-product instructions, which take other paths

log = logging.getLogger("arm64")


def check_tools() -> None:
    """Leave with the line that installs what is missing, if a tool is."""
    missing = [tool for tool in TOOLS if shutil.which(tool, path=SEARCHED) is None]
    if missing:
        packages = " ".join(TOOLS[tool] for tool in missing)
        raise SystemExit(f"{', '.join(missing)} not found. On Debian: apt-get install {packages}")


def call(*words: str | Path, path: Sequence[Path] = ()) -> None:
    """Run a command quietly, with `path` to import from; leave with the end of what it said if it fails."""
    settings = {**os.environ, "PATH": SEARCHED, "PYTHONPATH": os.pathsep.join(map(str, path))}
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=settings)
    if done.returncode:
        raise SystemExit(
            f"{' '.join(map(str, words))}\nfailed with {done.returncode}:\n{done.stdout[-3000:]}"
        )


def once(kind: str, made_of: Sequence[str], make: Callable[[Path], None]) -> Path:
    """Return the folder that `make` fills, filled now unless it was before from the same things."""
    digest = hashlib.sha256("\n".join(made_of).encode()).hexdigest()[:8]
    folder = BUILD / f"{kind}-{digest}"
    if not folder.is_dir():
        log.info("making %s ...", folder.relative_to(CHECKOUT))
        part = folder.with_suffix(".part")
        part.mkdir(parents=True, exist_ok=True)
        make(part)
        part.rename(folder)
    return folder


def make_root(mirror: str) -> Path:
    """Return a folder with the files of a small arm64 Debian with Python; nothing in it is configured."""

    def download(folder: Path) -> None:  # goes on with the packages that are there
        wanted = ("--download-only", "--arch=arm64", "--variant=minbase", "--include=python3")
        call("debootstrap", *wanted, SUITE, folder.resolve(), mirror)

    packages = once("packages", [SUITE, mirror], download)

    def unpack(folder: Path) -> None:
        for package in sorted(packages.rglob("*.deb")):
            call("dpkg-deb", "--extract", package, folder)

    return once("root", [SUITE, mirror], unpack)


def make_site() -> Path:
    """Return a folder with the unpacked wheels."""

    def download(folder: Path) -> None:
        pip = (sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check")
        target = ("--only-binary=:all:", "--no-deps", f"--python-version={PYTHON}", "--implementation=cp")
        call(*pip, *target, *(f"--platform={name}" for name in PLATFORMS), "--dest", folder, *WHEELS)

    wheels = once("wheels", [PYTHON, *WHEELS], download)

    def unpack(folder: Path) -> None:
        for wheel in sorted(wheels.glob("*.whl")):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder)

    return once("site", [PYTHON, *WHEELS], unpack)


def build_native(folder: Path, *settings: str) -> Path:
    """Return a folder with the kernel and its tests, compiled by CMake, which knows what is up to date."""
    log.info("compiling %s ...", folder.relative_to(CHECKOUT))
    call("cmake", "-S", NATIVE, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", *settings)
    call("cmake", "--build", folder)
    return folder


def copy_package(folder: Path, kernel: Path) -> Path:
    """Return a folder to import leantta from: our Python files with that kernel."""
    shutil.rmtree(folder, ignore_errors=True)
    source = CHECKOUT / "src" / "leantta"
    for path in source.rglob("*.py"):
        copy = folder / "leantta" / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    (folder / "leantta" / "lib").mkdir()
    shutil.copy(kernel / LIBRARY, folder / "leantta" / "lib")
    return folder


def gather_cases(files: Sequence[Path]) -> Path:
    """Return a folder with the files, each with the outputs that the repository stores for it."""
    folder = BUILD / "cases"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for place, path in enumerate(files):
        copy = folder / f"{place:02d}_{path.name}"
        shutil.copyfile(path, copy)
        if path.with_suffix(".npz").exists():
            shutil.copyfile(path.with_suffix(".npz"), copy.with_suffix(".stored.npz"))
    return folder


def emulate(root: Path, cpu: str, *words: str | Path, path: Sequence[Path] = ()) -> None:
    """Run an arm64 program with `path` to import from, and leave if it fails."""
    settings = {"PYTHONPATH": os.pathsep.join(map(str, path))}  # and nothing of the host's
    qemu = shutil.which("qemu-aarch64-static", path=SEARCHED) or "qemu-aarch64-static"
    done = subprocess.run([qemu, "-cpu", cpu, "-L", root, *words], env=settings)
    if done.returncode:
        raise SystemExit(f"{Path(words[0]).name} failed with {done.returncode} on an emulated {cpu}.")


def main() -> None:
    """Do all steps in order."""
    parser = argparse.ArgumentParser(description="Check model files on an emulated arm64.")
    parser.add_argument(
        "files", nargs="*", type=Path, metavar="FILE", help="model files besides the golden ones"
    )
    parser.add_argument("--mirror", default=MIRROR, help="Debian mirror (default: %(default)s)")
    parser.add_argument("--cpu", action="append", help=f"what qemu emulates (default: {' and '.join(CPUS)})")
    given = parser.parse_args()
    logging.basicConfig(format="%(message)s", level=logging.INFO, stream=sys.stdout)
    try:
        files = [*sorted(GOLDEN.glob("*.onnx")), *(existing(path, "model file") for path in given.files)]
    except MissingFileError as e:
        raise SystemExit(str(e)) from e
    check_tools()
    BUILD.mkdir(parents=True, exist_ok=True)
    lock = (BUILD / "lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)  # a second run waits for the first
    root, site = make_root(given.mirror), make_site()
    cases = gather_cases(files)
    host = build_native(BUILD / "kernel-host")
    call(sys.executable, CHECK, "record", cases, path=[copy_package(BUILD / "package-host", host)])
    kernel = build_native(BUILD / "kernel", "-DLEANTTA_TESTS=ON", *CROSS)
    package = copy_package(BUILD / "package", kernel)
    python = root / "usr" / "bin" / f"python{PYTHON}"
    for cpu in given.cpu or CPUS:
        log.info("the kernel's own tests on an emulated %s:", cpu)
        for program in ("kernel_test", "depthwise_test"):
            emulate(root, cpu, kernel / program)
        log.info("%d model files on an emulated %s, against %s:", len(files), cpu, platform.machine())
        emulate(root, cpu, python, "-s", "-B", CHECK, "compare", cases, path=[package, site])


if __name__ == "__main__":
    main()
