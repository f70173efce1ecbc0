"""What is published: versions that agree, wheels that install without a compiler, README's first commands."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

import leantta
import leantta_lab
import wheels
from arm64 import run_arm64

CHECKOUT = Path(__file__).resolve().parents[1]
README = (CHECKOUT / "README.md").read_text()
CHANGELOG = (CHECKOUT / "CHANGELOG.md").read_text()
WORKFLOW = yaml.safe_load((CHECKOUT / ".github" / "workflows" / "release.yml").read_text())
MOST_COMMANDS = 5


def test_one_version_is_everywhere() -> None:
    version = leantta.__version__
    assert leantta_lab.__version__ == version
    assert f'"leantta[convert,corrupt]=={version}"' in (CHECKOUT / "lab" / "pyproject.toml").read_text()
    assert yaml.safe_load((CHECKOUT / "CITATION.cff").read_text())["version"] == version
    assert re.findall(r"^## (\S+)", CHANGELOG, re.MULTILINE)[0] == version


@pytest.mark.skipif("GITHUB_REF_NAME" not in os.environ, reason="no tag is being released")
def test_the_tag_is_the_version() -> None:
    if os.environ.get("GITHUB_REF_TYPE") == "tag":
        assert os.environ["GITHUB_REF_NAME"] == f"v{leantta.__version__}"


def test_a_release_publishes_only_where_it_was_switched_on_and_without_a_token() -> None:
    publish = WORKFLOW["jobs"]["publish"]
    assert "vars.PUBLISH == 'true'" in publish["if"]
    assert publish["needs"] == "build"
    assert publish["permissions"] == {"id-token": "write"}
    assert "secrets." not in json.dumps(WORKFLOW)
    steps = [step.get("run", "") for step in WORKFLOW["jobs"]["build"]["steps"]]
    for named in re.findall(r"(?:tests|scripts)/\w+\.py", "\n".join(steps)):
        assert (CHECKOUT / named).exists(), named


def fake_wheel(folder: Path, tag: str, *names: str) -> Path:
    path = folder / f"leantta-1.0-py3-none-{tag}.whl"
    with zipfile.ZipFile(path, "w") as content:
        for name in names:
            content.writestr(name, "")
    return path


KERNEL = "leantta/lib/libleantta_kernel.so"


@pytest.mark.parametrize(
    ("tag", "names", "said"),
    [
        ("manylinux_2_27_x86_64", [], "has no kernel"),
        ("manylinux_2_36_x86_64", [KERNEL], "too few systems"),
        ("linux_x86_64", [KERNEL], "too few systems"),
        ("manylinux_2_27_aarch64", [KERNEL], "too few systems"),
    ],
)
def test_a_wheel_that_few_could_use_is_not_published(tmp_path: Path, tag: str, names, said: str) -> None:
    with pytest.raises(SystemExit, match=said):
        wheels.check_tool_wheel(fake_wheel(tmp_path, tag, *names), "x86_64")
    good = fake_wheel(tmp_path, "manylinux_2_17_x86_64.manylinux2014_x86_64", KERNEL)
    wheels.check_tool_wheel(good, "x86_64")


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All packages as they are published; LEANTTA_DIST may name a folder where they are already."""
    if "LEANTTA_DIST" in os.environ:
        return Path(os.environ["LEANTTA_DIST"])
    if shutil.which("aarch64-linux-gnu-g++") is None:
        pytest.skip("no compiler for aarch64: apt-get install g++-aarch64-linux-gnu")
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, CHECKOUT / "scripts" / "wheels.py", "-o", folder], check=True)
    return folder


@pytest.mark.slow
def test_everything_that_is_published_is_there(dist: Path) -> None:
    version = leantta.__version__
    names = {path.name for path in dist.iterdir()}
    assert {f"leantta-{version}.tar.gz", f"leantta_lab-{version}.tar.gz"} <= names
    assert f"leantta_lab-{version}-py3-none-any.whl" in names
    for machine in ("x86_64", "aarch64"):
        (wheel,) = dist.glob(f"leantta-{version}-py3-none-*_{machine}.whl")
        wheels.check_tool_wheel(wheel, machine)
        assert wheel.stat().st_size < 20e6


def newcomer(dist: Path, home: Path) -> dict[str, str]:
    """Return the environment of somebody who has Python, our packages as an index, and no compiler."""
    tools = home / "tools"
    tools.mkdir()
    (tools / "python3").symlink_to(Path(sys.base_prefix) / "bin" / "python3")
    kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or "proxy" in name}
    return {**kept, "PATH": str(tools), "HOME": str(home), "PIP_FIND_LINKS": str(dist), "LANG": "C.UTF-8"}


@pytest.mark.slow
def test_the_first_commands_of_the_readme_lead_to_a_prediction(dist: Path, tmp_path: Path) -> None:
    pasted = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)[0]
    lines = pasted.strip().splitlines()
    assert len(lines) <= MOST_COMMANDS
    assert any(line.startswith("pip install leantta") for line in lines)
    place = tmp_path / "empty"
    place.mkdir()
    settings = newcomer(dist, tmp_path)
    assert all(shutil.which(name, path=settings["PATH"]) is None for name in ("cc", "g++", "cmake"))
    done = subprocess.run(["/bin/sh", "-ec", pasted], cwd=place, env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = README.split(pasted)[1].split("```text\n")[1].split("```")[0]
    assert without_times(shown) == without_times(done.stdout[done.stdout.index("path  ") :])
    packages = {path.name for path in place.glob(".venv/lib/python*/site-packages/*")}
    assert "leantta" in packages
    assert not packages & {"torch", "onnx", "scipy", "leantta_lab"}
    (kernel,) = place.glob(f".venv/lib/python*/site-packages/{KERNEL}")
    assert kernel.stat().st_size > 0


def without_times(table: str) -> list[list[str]]:
    """Return the cells of a table of `leantta run`, the latencies left out."""
    return [line.split()[:-1] for line in table.strip().splitlines()]


@pytest.mark.slow
def test_the_source_archive_installs_where_there_is_a_compiler(dist: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    archive = dist / f"leantta-{leantta.__version__}.tar.gz"
    subprocess.run([python, "-m", "pip", "install", "--quiet", archive], check=True)
    done = subprocess.run([python, "-m", "leantta", "doctor"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "native" in done.stdout


@pytest.mark.slow
def test_the_aarch64_wheel_predicts_in_an_empty_environment(dist: Path, tmp_path: Path) -> None:
    try:
        run_arm64.check_tools()
    except SystemExit as e:
        pytest.skip(str(e))
    run_arm64.BUILD.mkdir(parents=True, exist_ok=True)
    root, board = run_arm64.make_root(run_arm64.MIRROR), tmp_path / "board"
    engine = next(name for name in run_arm64.WHEELS if name.startswith("onnxruntime"))

    def emulated(*words: str | Path) -> str:
        qemu = shutil.which("qemu-aarch64-static", path=run_arm64.SEARCHED) or "qemu-aarch64-static"
        command = [qemu, "-cpu", "cortex-a53", "-L", root, *words]
        done = subprocess.run(command, capture_output=True, text=True, env={})
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    version = f"python{run_arm64.PYTHON}"
    emulated(root / "usr" / "bin" / version, "-m", "venv", "--without-pip", board)
    site = board / "lib" / version / "site-packages"
    assert not list(site.iterdir())
    # pip of this machine chooses the wheels by their names, as it would there
    names = [f"--platform={name}" for name in run_arm64.PLATFORMS]
    chosen = ("--only-binary=:all:", f"--python-version={run_arm64.PYTHON}", "--implementation=cp", *names)
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--find-links", dist, "--target", site)
    subprocess.run([*pip, *chosen, "leantta", engine], check=True)

    def leantta_there(*words: str | Path) -> str:
        return emulated(board / "bin" / "python", "-B", "-m", "leantta", *words)

    leantta_there("sample", board / "sample")
    assert "native (neon)" in leantta_there("verify", board / "sample" / "sample.onnx")
    said = leantta_there("run", "--json", board / "sample" / "sample.onnx", board / "sample" / "photos")
    here = subprocess.run(
        [sys.executable, "-m", "leantta", "run", "--json", *("sample.onnx", "photos")],
        cwd=CHECKOUT / "src" / "leantta" / "samples",
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found, wanted = ([json.loads(line) for line in text.splitlines()] for text in (said, here))
    assert [each["label"] for each in found] == [each["label"] for each in wanted]
    for each, own in zip(found, wanted, strict=True):
        assert each["shift"] == pytest.approx(own["shift"], abs=0.01 * (1 + own["shift"]))
        assert each["probability"] == pytest.approx(own["probability"], abs=0.01)
