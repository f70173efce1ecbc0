"""What pyproject.toml lets pip install works: the oldest and the newest of everything, and other Pythons.

ONNX Runtime 1.17 and 1.18 were made for numpy 1 and fail at import beside numpy 2, which pip chose for them.
Python 3.13 is Debian 13's, in a folder of its own; neither Debian nor PyPI has a 3.10 or a 3.12, so those are
taken that are on the machine, on the path or where pyenv puts them.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

import pytest
import tomllib

import leantta

CHECKOUT = Path(__file__).resolve().parents[1]
SOURCE = Path(leantta.__file__).parents[1]
GOLDEN = CHECKOUT / "tests" / "runtime" / "golden"
CHECK = CHECKOUT / "tests" / "arm64" / "check_files.py"
REQUIRED: Sequence[str] = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["dependencies"]
OLDEST = {
    name: version
    for name, version in (re.match(r"(\w+)>=([\d.]+)", text).groups() for text in REQUIRED)  # type: ignore[union-attr]
}
RUNTIMES = (f"{OLDEST['onnxruntime']}.0", "1.20.1", "1.23.2", "newest")
NUMPYS = (f"{OLDEST['numpy']}.0", "newest")
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
OTHERS = [f"{name}=={OLDEST[name]}.0" for name in ("click", "pillow")]

pytestmark = [pytest.mark.slow, pytest.mark.network]


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The golden files, with what they say here and what they said when they were written."""
    folder = tmp_path_factory.mktemp("cases")
    for golden in GOLDEN.glob("*.onnx"):
        shutil.copy(golden, folder)
        shutil.copy(golden.with_suffix(".npz"), folder / f"{golden.stem}.stored.npz")
    subprocess.run([sys.executable, CHECK, "record", folder], check=True)
    return folder


def compared(command: Sequence[str | Path], folder: Path | str, path: str) -> str:
    """What the comparison of all files says; it fails if one differs."""
    done = subprocess.run(
        [*command, CHECK.name, "compare", folder],
        cwd=None if command[0] == "chroot" else CHECK.parent,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    assert "FAIL" not in done.stdout
    assert done.stdout.count("against stored") >= 2 * len(list(GOLDEN.glob("*.onnx")))
    return done.stdout


def pinned(name: str, version: str) -> list[str]:
    return [] if version == "newest" else [f"{name}=={version}"]


def test_the_oldest_that_are_allowed_are_tested() -> None:
    assert set(OLDEST) == {"numpy", "onnxruntime", "click", "pillow"}


@pytest.mark.parametrize("numpy", NUMPYS)
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_every_pair_that_pip_may_choose_gives_the_same_answers(
    runtime: str, numpy: str, cases: Path, tmp_path: Path
) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    ends = OTHERS if (runtime, numpy) == (RUNTIMES[0], NUMPYS[0]) else []
    pins = [*pinned("onnxruntime", runtime), *pinned("numpy", numpy), *ends]
    pip: list[str | Path] = [
        python,
        "-m",
        "pip",
        "--quiet",
        "--disable-pip-version-check",
        "install",
        "--only-binary=:all:",
    ]
    done = subprocess.run([*pip, *REQUIRED, *pins], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    compared([python], cases, str(SOURCE))
    listed: list[str | Path] = [python, "-m", "leantta", "run", "--help"]
    subprocess.run(listed, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(SOURCE)})


def python_of(version: str) -> Path | None:
    """A Python of that version that runs; pyenv's commands are there for versions that do not."""
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    own = sorted(home.glob(f"versions/{version}.*/bin/python"))
    on_path = shutil.which(f"python{version}")
    places = [*own, Path(on_path)] if on_path else own
    for place in places:
        said = subprocess.run([place, "--version"], capture_output=True, text=True)
        if said.stdout.startswith(f"Python {version}."):
            return place
    return None


@pytest.mark.parametrize("version", PYTHONS)
def test_every_python_that_is_here_gives_the_same_answers(version: str, cases: Path, tmp_path: Path) -> None:
    found = python_of(version)
    if found is None:
        pytest.skip(f"there is no Python {version} here")
    subprocess.run([found, "-m", "venv", tmp_path / "env"], check=True)
    python = tmp_path / "env" / "bin" / "python"
    pip: list[str | Path] = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    pip.append("--only-binary=:all:")
    done = subprocess.run([*pip, *REQUIRED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    compared([python], cases, str(SOURCE))
    for words in (["sample", str(tmp_path / "sample")], ["doctor"]):
        command: list[str | Path] = [python, "-m", "leantta", *words]
        subprocess.run(
            command, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(SOURCE)}
        )


@pytest.mark.skipif(
    os.getuid() != 0 or not shutil.which("debootstrap", path=f"{os.environ['PATH']}:/usr/sbin"),
    reason="making a Debian in a folder needs root and debootstrap",
)
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the wheels that are fetched are for x86-64")
@pytest.mark.parametrize(("suite", "version"), [("trixie", "3.13")])
def test_another_python_gives_the_same_answers(suite: str, version: str, cases: Path, tmp_path: Path) -> None:
    root = tmp_path / "debian"
    made: list[str | Path] = [
        *("debootstrap", "--variant=minbase", "--include=python3-minimal,libpython3-stdlib"),
        *(suite, root, "http://deb.debian.org/debian"),
    ]
    path = f"{os.environ['PATH']}:/usr/sbin"
    subprocess.run(made, check=True, capture_output=True, env={**os.environ, "PATH": path})
    fetch = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--target"]
    places = [
        "manylinux_2_28_x86_64",
        "manylinux_2_27_x86_64",
        "manylinux_2_17_x86_64",
        "manylinux2014_x86_64",
    ]
    kind = ["--only-binary=:all:", "--python-version", version, "--implementation", "cp"]
    tags = [word for place in places for word in ("--platform", place)]
    subprocess.run([*fetch, root / "site", *kind, *tags, *REQUIRED], check=True)
    shutil.copytree(SOURCE / "leantta", root / "source" / "leantta")
    shutil.copytree(cases, root / "cases")
    shutil.copy(CHECK, root / CHECK.name)
    inside: list[str | Path] = ["chroot", root, "/usr/bin/python3"]
    said = subprocess.run([*inside, "--version"], capture_output=True, text=True, check=True).stdout
    assert said.startswith(f"Python {version}.")
    compared(inside, "/cases", "/source:/site")
