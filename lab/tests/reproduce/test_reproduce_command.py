"""`leantta reproduce` as a user meets it, with a small target in the place of the paper's."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # at run time another folder's conftest may be the one that is loaded
    from running import Done, Run

from leantta.evaluate.packs import SUFFIX, read_pack
from leantta.plotting import Picture, digest_in, digest_of
from leantta.tables import Table
from leantta_lab.reproduce.target import Page, Target
from reproduce.little_jobs import job

CHECKOUT = Path(__file__).resolve().parents[3]

SCRIPT = """
from leantta.cli.main import main
from leantta_lab.reproduce import targets
from leantta.tables import Table
from leantta_lab.reproduce.protocol import NONE
from leantta_lab.reproduce.run_jobs import accuracy_job
from leantta_lab.reproduce.run_table import Column, accuracy, answers, cell
from leantta.plotting import digest_in, digest_of
from leantta.tables import Table
from leantta.plotting import Picture
from leantta_lab.reproduce.target import Page, Target

COLUMNS = [
    Column(head=name, model="resnet18", dataset="cifar10", stream="one_cell", inputs={"quick": 160},
           corruption=name)
    for name in ("fog", "frost", "snow")
]

def page(setting):
    values = [cell(accuracy(answers(setting, column, NONE)), 50.0) for column in COLUMNS]
    return Page(parts=(Table(("run", "accuracy"), tuple(("a", value) for value in values)),))

def runs(setting):
    return [run for column in COLUMNS for run in column.runs(setting, NONE)]

def jobs(setting):
    return [accuracy_job(run) for run in runs(setting)]

if __name__ == "__main__":
    small = Target(title="A small table", summary="small", jobs=jobs, page=page, runs=runs)
    targets.TARGETS = {"small": small}
    main()
"""


def start(folder: Path, sample: Path) -> subprocess.Popen[str]:
    script = folder / "small.py"
    script.write_text(SCRIPT)
    words = ["reproduce", "small", "--images", f"cifar10={sample}", "--jobs", "1", "--output", "pages"]
    return subprocess.Popen(
        [sys.executable, script, *words],
        cwd=folder,
        env={**os.environ, "LEANTTA_WEIGHTS": str(CHECKOUT / "lab" / "src" / "leantta_lab" / "weights")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(folder: Path) -> dict[Path, tuple[int, bytes]]:
    """The finished records with the time of their last change."""
    found = {path: path.read_bytes() for path in folder.glob("results/reproduce/quick/*.jsonl")}
    return {
        path: (path.stat().st_mtime_ns, raw) for path, raw in found.items() if b'{"finished"' in raw[-100:]
    }


def test_killed_half_way_it_goes_on_and_repeats_nothing(tmp_path: Path, sample: Path) -> None:
    first = start(tmp_path, sample)
    while first.poll() is None and not finished(tmp_path):
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert first.returncode == -signal.SIGKILL
    time.sleep(0.5)  # its worker ends with it
    before = finished(tmp_path)
    assert 0 < len(before) < 3

    second = start(tmp_path, sample)
    output, errors = second.communicate()
    assert second.returncode == 0, errors
    pack = tmp_path / "results" / "reproduce" / "quick" / f"small{SUFFIX}"
    after = read_pack(pack)
    assert len(after) == 3
    assert {path.name: raw for path, (_, raw) in before.items()}.items() <= after.items()
    for raw in after.values():
        header = json.loads(raw.splitlines()[0])
        assert (header["recipe"]["threads"], header["recipe"]["model"]) == (1, "resnet18")
    title, _, header, *rows = output.splitlines()
    assert (title, header.split()) == ("A small table", ["run", "accuracy"])
    assert [row.endswith("(50.0)") for row in rows[:3]] == [True] * 3
    assert f"{len(before)} of 3 jobs, about" in errors
    assert "3 of 3 jobs" in errors.splitlines()[-1]
    packed = pack.read_bytes()

    third = start(tmp_path, sample)
    assert third.communicate()[0] == output
    assert pack.read_bytes() == packed  # nothing was made again
    assert (tmp_path / "pages" / "small.md").read_text().startswith("# A small table\n\n| run")
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} == {
        ".json",  # how long it took
        ".xz",
        ".md",
        ".py",
    }


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> dict[str, Target]:
    """Two targets in the place of the paper's: one that can run, one that cannot."""
    picture = Picture(name="a", caption="x", size=(2, 2), values=[1, 2], draw=lambda _: None)
    page = Page(parts=(picture, Table(("a", "b"), (("1", "x|y"),)), "A note."))
    lacking = Page(lacking=["no moon: give --moon"])
    found = {
        "table-good": Target(
            title="Good", summary="can run", jobs=lambda _: [job("a"), job("b")], page=lambda _: page
        ),
        "table-moon": Target(title="Moon", summary="cannot", jobs=lambda _: [], page=lambda _: lacking),
    }
    monkeypatch.setattr("leantta_lab.reproduce.targets.TARGETS", found)
    return found


def test_pages_are_printed_and_written_and_what_lacks_is_named(
    run: Run, table: Mapping[str, Target], tmp_path: Path
) -> None:
    done = run("reproduce", "all", "--jobs", 1, "--output", "out")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:6] == ["Good", "", "a  b", "1  x|y", "", "A note."]
    assert done.stderr.splitlines()[-1] == "left out: no moon: give --moon"
    assert digest_in((tmp_path / "out" / "a.svg").read_text()) == digest_of([1, 2])
    assert (tmp_path / "out" / "a.pdf").read_bytes().startswith(b"%PDF")
    written = (tmp_path / "out" / "table-good.md").read_text()
    assert "![x](a.svg)\n\n| a | b |\n|---:|---|\n| 1 | x\\|y |\n\nA note.\n" in written
    assert "- no moon: give --moon" in (tmp_path / "out" / "table-moon.md").read_text()
    assert len(table) == 2


def test_a_failure_is_named_and_the_exit_code_is_1(
    run: Run, table: dict[str, Target], tmp_path: Path
) -> None:
    good = table["table-good"]
    table["table-good"] = Target(
        title="Good", summary="", jobs=lambda _: [job("refuses"), job("a")], page=good.page
    )
    done = run("reproduce", "table-good", "--records", tmp_path / "records")
    assert done.returncode == 1
    assert "A note." in done.stdout
    assert done.stderr.splitlines()[-1] == "failed: refuses: the images are upside down"
    assert (tmp_path / "records" / "quick" / "a").exists()


def test_only_the_jobs_of_a_pattern_are_done(run: Run, table: Mapping[str, Target], tmp_path: Path) -> None:
    records = tmp_path / "records"
    done = run("reproduce", "all", "--only", "[b-z]*", "--records", records)
    assert done.returncode == 0, done.stderr
    assert [(records / "quick" / name).exists() for name in "ab"] == [False, True]
    done = run("reproduce", "all", "--only", "c", "--records", records)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no job of table-good, table-moon is called 'c'; one of the 2 is 'a'" in done.stderr
    assert len(table) == 2


def test_nothing_that_can_run_is_an_error_but_may_be_shown(run: Run, table: Mapping[str, Target]) -> None:
    done = run("reproduce", "table-moon")
    assert (done.returncode, done.stdout) == (1, "")
    assert "nothing of table-moon can be run here. no moon: give --moon. --show prints" in done.stderr
    assert run("reproduce", "table-moon", "--show").returncode == 0
    assert len(table) == 2


def test_the_list_has_done_and_left_at_both_scales(
    run: Run, table: Mapping[str, Target], tmp_path: Path
) -> None:
    folder = tmp_path / "results" / "reproduce" / "quick"
    folder.mkdir(parents=True)
    (folder / "a").touch()
    lines = run("reproduce", "--list", "--jobs", 1).stdout.splitlines()
    assert " ".join(lines[1].split()) == "table-good can run 1 of 2 1 s 0 of 2 2 s"
    assert lines[2].endswith("cannot run here")
    assert lines[3].startswith("all")
    assert len(table) == 2


def test_the_scale_is_quick_unless_it_is_full(run: Run, table: dict[str, Target]) -> None:
    scale = Target(
        title="S", summary="", jobs=lambda _: [], page=lambda setting: Page(parts=(setting.scale,))
    )
    table["table-good"] = scale
    said = [run("reproduce", "table-good", "--show", *more).stdout.split()[1] for more in ([], ["--full"])]
    assert said == ["quick", "full"]
    assert run("reproduce", "table-good", "--show", "--quick").stdout.split()[1] == "quick"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["reproduce"], "name what to reproduce: all, table-good, table-moon"),
        (["reproduce", "tabel-good"], "Did you mean 'table-good'?"),
        (
            ["reproduce", "table-good", "--images", "cifar10"],
            "'cifar10' is not NAME=PATH with a NAME of cifar10, cifar100, imagenet, har",
        ),
        (["reproduce", "table-good", "--images", "cifar10=nowhere.npz"], "no cifar10 images at nowhere.npz"),
        (["reproduce", "table-good", "--jobs", "0"], "0 is not in the range"),
    ],
)
@pytest.mark.usefixtures("table")
def test_wrong_words_are_explained(run: Run, words: list[str], message: str) -> None:
    done: Done = run(*words)
    assert done.returncode in (1, 2)
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_without_ray_the_line_that_installs_it_is_said(tmp_path: Path, sample: Path) -> None:
    words = ["reproduce", "table-clean", "--images", f"cifar10={sample}", "--ray", "local"]
    code = (
        "import sys\n"
        "sys.modules['ray'] = None\n"
        f"sys.argv = ['leantta', *{words}]\n"
        "from leantta.cli.main import main\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip().endswith("pip install 'leantta[ray]'")
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_command_starts_and_shows_records_without_torch(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "for name in ('torch', 'safetensors', 'onnx', 'scipy', 'PIL'): sys.modules[name] = None\n"
        "sys.argv = ['leantta', 'reproduce', 'all', '--show']\n"
        "from leantta.cli.main import main\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "no data (79.1)" in done.stdout
