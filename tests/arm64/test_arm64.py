"""The golden files on an emulated arm64, and that the program which compares them there can fail."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from arm64 import check_files, run_arm64
from leantta.runtime import kernel

HERE = Path(__file__).parent


@pytest.mark.slow
def test_golden_files_say_the_same_on_arm64() -> None:
    try:
        run_arm64.check_tools()
    except SystemExit as e:
        pytest.skip(str(e))
    done = subprocess.run([sys.executable, HERE / "run_arm64.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for cpu in run_arm64.CPUS:
        assert f"model files on an emulated {cpu}" in done.stdout
    assert "FAIL" not in done.stdout


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    """The golden files with what this machine says of them."""
    if kernel.library() is None:
        pytest.skip("this installation has no kernel: there was no C++ compiler")
    for path in run_arm64.GOLDEN.glob("*.onnx"):
        shutil.copyfile(path, tmp_path / path.name)
        if path.with_suffix(".npz").exists():
            shutil.copyfile(path.with_suffix(".npz"), tmp_path / f"{path.stem}.stored.npz")
    assert check_files.main("record", tmp_path) == 0
    return tmp_path


def test_this_machine_says_what_it_said(cases: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert check_files.main("compare", cases) == 0
    said = capsys.readouterr().out
    assert f"ok   kernel: native ({kernel.paths()[0]})" in said
    for way in ("portable", *kernel.paths()):
        for what in (", verified", " against native", " against portable", " against stored"):
            assert f"ok   format1: {way}{what}:" in said


@pytest.mark.parametrize("maker", ["native", "portable", "stored"])
@pytest.mark.parametrize("output", ["logits", "shift"])
def test_one_percent_of_error_fails(
    cases: Path, maker: str, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    beside = cases / f"format1.{maker}.npz"
    arrays = dict(np.load(beside))
    arrays[output] = arrays[output] * np.float32(1.01)
    np.savez(beside, allow_pickle=False, **arrays)
    capsys.readouterr()
    assert check_files.main("compare", cases) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if "FAIL" in line]
    assert len(lines) == 1 + len(kernel.paths())
    assert all(f"against {maker}:" in line for line in lines)


def test_one_input_that_the_kernel_says_otherwise_fails(cases: Path) -> None:
    beside = cases / "format1.native.npz"
    arrays = dict(np.load(beside))
    arrays["logits"][2] += 0.001  # within the file's tolerance
    np.savez(beside, allow_pickle=False, **arrays)
    assert check_files.main("compare", cases) == 1


def test_standard_operators_in_place_of_the_kernel_fail(
    cases: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kernel, "LIBRARIES", tmp_path / "none")
    assert check_files.main("compare", cases) == 1
    assert "FAIL kernel: portable" in capsys.readouterr().out


def test_inputs_may_be_rounded_otherwise_but_not_all() -> None:
    wanted = {"logits": np.ones((4, 3))}
    for others, share in ((0, 1.0), (2, 0.5), (4, 0.0)):
        found = {"logits": wanted["logits"] + 0.1 * (np.arange(4) < others)[:, None]}
        assert check_files.compare("", found, wanted, tolerance=0.2, least=share).ok
        assert not check_files.compare("", found, wanted, tolerance=0.2, least=share + 0.1).ok
        assert check_files.compare("", found, wanted, tolerance=0.05, least=share).ok == (others == 0)
    for bad in ({}, {"logits": np.ones((1, 3))}, {"logits": np.full((4, 3), np.nan)}):
        assert not check_files.compare("", bad, wanted, tolerance=0.2, least=0.0).ok


def test_a_folder_without_files_fails(tmp_path: Path) -> None:
    assert check_files.main("compare", tmp_path) == 1


def test_a_missing_tool_names_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(run_arm64, "SEARCHED", str(tmp_path))
    with pytest.raises(
        SystemExit, match=r"cmake not found\. On Debian: apt-get install .*g\+\+-aarch64-linux-gnu"
    ):
        run_arm64.check_tools()


def test_a_step_is_done_once_and_goes_on_after_a_kill(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(run_arm64, "CHECKOUT", tmp_path)
    monkeypatch.setattr(run_arm64, "BUILD", tmp_path / "build")
    seen: list[bool] = []

    def make(folder: Path) -> None:
        seen.append((folder / "first").exists())
        (folder / "first").touch()
        if len(seen) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_arm64.once("thing", ["a"], make)
    folder = run_arm64.once("thing", ["a"], make)
    assert (folder / "first").exists()
    assert run_arm64.once("thing", ["a"], make) == folder
    assert seen == [False, True]
    assert run_arm64.once("thing", ["b"], make) != folder
