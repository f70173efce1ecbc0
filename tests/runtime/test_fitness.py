"""Whether a machine is fit: what is told of a healthy one, and of what can be wrong with one."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from leantta.extras import EXTRA_OF
from leantta.runtime import fitness
from leantta.runtime.fitness import Finding, findings

PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def by_name() -> dict[str, Finding]:
    return {each.name: each for each in findings()}


def test_this_machine_is_fit() -> None:
    found = by_name()
    assert all(each.ok for each in found.values())
    assert list(found)[:6] == ["Python", "numpy", "Pillow", "onnxruntime", "a session", "kernel"]
    assert {"processor", "memory", "extras"} <= set(found)
    assert "64-bit" in found["Python"].detail
    assert re.match(r"\d+\.\d+", found["onnxruntime"].detail)
    assert re.match(r"native \(\w+\)|portable", found["kernel"].detail)


def test_nothing_heavy_is_loaded_to_look() -> None:
    code = (
        "import sys\n"
        "for name in ('torch', 'onnx', 'scipy', 'openvino'): sys.modules[name] = None\n"
        "from leantta.runtime.fitness import findings\n"
        "assert all(each.ok for each in findings())\n"
        "assert not {'numpy', 'onnxruntime', 'PIL'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("package", "source", "step", "words"),
    [
        (
            "onnxruntime",
            "import os, signal\nos.kill(os.getpid(), signal.SIGILL)",
            "onnxruntime",
            "by signal 4",
        ),
        ("onnxruntime", "raise OSError('GLIBC_2.99 not found')", "onnxruntime", "GLIBC_2.99 not found"),
        ("onnxruntime", "__version__ = '1'", "a session", "InferenceSession"),
        ("numpy", "raise ImportError('wrong processor')", "numpy", "wrong processor"),
        ("PIL", "raise ImportError('no libjpeg')", "Pillow", "no libjpeg"),
    ],
)
def test_a_package_that_breaks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, source: str, step: str, words: str
) -> None:
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text(source)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = by_name()
    broken = [name for name, each in found.items() if not each.ok]
    assert broken[0] == step
    assert words in found[step].detail
    assert all("not tried" in found[name].detail for name in broken[1:])
    assert "kernel" not in found


def test_what_is_not_installed_comes_with_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitness, "TRIAL", "raise SystemExit(1)")
    monkeypatch.setattr(fitness, "_version", lambda _: None)
    found = by_name()
    assert found["numpy"] == Finding("numpy", False, "not installed: pip install numpy")
    extras = ",".join(dict.fromkeys(EXTRA_OF.values()))
    assert f"pip install 'leantta[{extras}]'" in found["extras"].detail


def test_a_version_that_crashes_elsewhere_is_refused_though_it_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitness, "_version", lambda package: "1.21.0" if package == "onnxruntime" else "9")
    found = by_name()["onnxruntime"]
    assert not found.ok
    assert "pip install 'onnxruntime!=1.21.0'" in found.detail


def test_versions_that_crash_are_excluded_when_installing() -> None:
    for package, versions in fitness.BROKEN.items():
        wanted = re.search(rf'^dependencies = .*"{package}([^"]*)"', PYPROJECT.read_text(), re.MULTILINE)
        assert wanted
        assert all(f"!={version}" in wanted[1].split(",") for version in versions)


def test_a_process_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        fitness, "TRIAL", 'print(\'["numpy", "2"]\', flush=True)\nimport time\ntime.sleep(60)'
    )
    monkeypatch.setattr(fitness, "PATIENCE", 3)
    found = by_name()
    assert found["numpy"].ok
    assert "no answer in 3 seconds" in found["Pillow"].detail


@pytest.mark.parametrize(
    ("running", "wide", "ok", "words"),
    [
        ((3, 10, 0), True, True, "64-bit"),
        ((3, 9, 18), True, False, "3.10 or newer"),
        ((3, 11, 2), False, False, "64-bit operating system"),
    ],
)
def test_which_python_will_do(running: tuple[int, int, int], wide: bool, ok: bool, words: str) -> None:
    found = fitness._python(running, wide)
    assert found.ok == ok
    assert words in found.detail


def test_processors_and_memory_are_read_as_linux_tells_them(tmp_path: Path) -> None:
    (tmp_path / "arm").write_text("processor\t: 0\nFeatures\t: fp asimd asimddp\n\nHardware\t: BCM2711\n")
    (tmp_path / "x86").write_text("model name\t: A\nflags\t\t: sse avx2 fma\n")
    assert fitness._features(tmp_path / "arm") == {"fp", "asimd", "asimddp"}
    assert fitness._features(tmp_path / "x86") == {"sse", "avx2", "fma"}
    assert fitness._features(tmp_path / "none") == set()
    (tmp_path / "mem").write_text("MemTotal:  1000 kB\nMemAvailable:   400 kB\n")
    assert fitness._memory("MemAvailable", tmp_path / "mem") == 400 * 1024
    assert fitness._memory("MemAvailable", tmp_path / "none") is None
