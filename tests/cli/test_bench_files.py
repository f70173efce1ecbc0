"""`leantta bench` of files, as a user meets it who has the tool alone: tables, records, plots, errors."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from leantta import plugins
from leantta.measure.record import read_bench, write_bench
from leantta.progress import Bar
from measure.foreign import foreign
from measure.records import fused, record
from running import Done, Run
from runtime.artifacts import artifact

FEW = ("--rounds", 3, "--sessions", 2, "--processes", 1)

ALONE = (
    "import sys\n"
    "missing = 'torch', 'onnx', 'openvino', 'scipy', 'PIL', 'matplotlib', 'leantta_lab'\n"
    "for name in missing: sys.modules[name] = None\n"
    "from leantta.cli.main import main\n"
    "main()"
)


def failed(done: Done) -> str:
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]


def alone(*words: object) -> Done:
    """Run the command in a process that has numpy, onnxruntime and click."""
    done = subprocess.run(
        [sys.executable, "-c", ALONE, *map(str, words)], capture_output=True, text=True, check=False
    )
    return Done(done.returncode, done.stdout, done.stderr)


def test_files_of_anyone_are_compared_with_numpy_and_onnxruntime_alone(tmp_path: Path) -> None:
    files = [artifact(tmp_path / "ours.onnx"), foreign(tmp_path / "theirs.onnx")]
    output = tmp_path / "out" / "bench.json"
    done = alone("bench", *files, *FEW, "-o", output)
    assert done.returncode == 0, done.stderr
    header, ours, theirs, *_ = done.stdout.splitlines()
    assert header.split()[:3] == ["row", "median", "ms"]
    assert (ours.split()[0], theirs.split()[0]) == ("ours.onnx", "theirs.onnx")
    assert "1.000 [1.000, 1.000]" in ours
    assert "latency  [########################] 2/2" in done.stderr
    found = read_bench(output)
    assert found.base == "ours.onnx"
    assert [row.engine for row in found.rows] == ["onnxruntime", "plain"]
    assert all(len(row.latency_ms) == 2 and len(row.processes) == 1 for row in found.rows)
    assert found.versions.keys() >= {"numpy", "onnxruntime"}


def test_engines_side_by_side_and_the_record_shown_again(run: Run, tmp_path: Path) -> None:
    ours = artifact(tmp_path / "a.onnx", inlined=True)
    done = run(
        "bench", ours, "--engine", "onnxruntime,openvino", *FEW, "-o", "b.json", "--base", "a.onnx openvino"
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split("  ")[0] for line in done.stdout.splitlines()[1:3]]
    assert rows == ["a.onnx onnxruntime", "a.onnx openvino"]
    assert "ratio: to a.onnx openvino" in done.stdout
    again = run("bench", "--show", "b.json")
    assert again.stdout == done.stdout
    assert run("bench", "--show", "b.json", "--markdown").stdout.startswith("| row | median ms |")
    as_json = json.loads(run("bench", "--show", "b.json", "--json").stdout)
    assert [row["name"] for row in as_json["rows"]] == rows
    assert as_json["rows"][0]["calls"] == 6
    assert run("bench", "--show", "b.json", "--plot", "x.svg").stdout == done.stdout
    assert 'id="latency a.onnx openvino"' in Path("x.svg").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("gone.onnx",), "no model file at gone.onnx"),
        (("--show", "gone.json"), "no record at gone.json"),
        (("gone.onnx", "--threads", "0"), "threads must be at least 1, got 0"),
        (("gone.onnx", "--rounds", "0"), "rounds must be at least 1, got 0"),
    ],
)
def test_errors_are_one_line(run: Run, words: tuple[str, ...], message: str) -> None:
    assert message in failed(run("bench", *words))


def test_wrong_usage(run: Run) -> None:
    assert run("bench", "a.onnx", "--shape", "big").returncode == 2
    done = run("bench", "a.onnx", "--rows", "ours-*")
    assert done.returncode == 2
    assert "--rows, --weights and --keep are of a MODEL; only files were given." in done.stderr
    done = run("bench", "a.onnx", "--plot", "bench.jpg")
    assert done.returncode == 2
    assert "--plot writes .svg, .pdf, .png" in done.stderr


def test_a_plot_without_matplotlib_says_what_brings_it_before_anything_is_measured(tmp_path: Path) -> None:
    line = failed(alone("bench", artifact(tmp_path / "a.onnx"), "--plot", tmp_path / "a.svg"))
    assert line == "error: this needs the package 'matplotlib': pip install 'leantta[bench]'"


@pytest.mark.parametrize(
    "words",
    [("resnet18",), (), ("mine.py:build", "a.onnx"), ("--scaling",), ("--list",), ("--show", "scaling.json")],
)
def test_without_the_laboratory_its_benchmarks_say_what_brings_them(
    run: Run, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "brought", lambda _: {})
    Path("scaling.json").write_text('{"kind": "leantta scaling"}')
    assert "is part of the laboratory: pip install leantta-lab." in failed(run("bench", *words))


def test_a_record_of_a_network_is_shown_without_the_laboratory(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "brought", lambda _: {})
    write_bench(record(*fused({"none": 1.0, "all": 3.0}, "ours")), Path("b.json"))
    assert run("bench", "--show", "b.json").stdout.splitlines()[2].startswith("ours-all")
    line = failed(run("bench", "--show", "b.json", "--plot", "b.svg"))
    assert "the plot of the model 'resnet18' is part of the laboratory" in line


def test_the_help_teaches_by_examples(run: Run) -> None:
    help_text = run("bench", "--help").stdout
    assert "\n    leantta bench mine.onnx theirs.onnx --engine onnxruntime,openvino\n" in help_text
    assert help_text.count("[lab]") == 7  # what the mark means, and six options


class Interrupting(Bar):
    """A progress bar beside which somebody presses Ctrl-C in the second session."""

    def __call__(self, done: int, total: int) -> None:
        if (self.label, done) == ("latency", 1):
            raise KeyboardInterrupt
        super().__call__(done, total)


def test_an_interrupt_shows_what_was_measured_and_keeps_the_old_record(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leantta.cli.bench.Bar", Interrupting)
    output = tmp_path / "bench.json"
    output.write_text("the record of last week")
    done = run("bench", artifact(tmp_path / "a.onnx"), *FEW, "--output", output)
    assert done.returncode == 130
    assert done.stdout.splitlines()[1].startswith("a.onnx")
    assert "INTERRUPTED: what was measured until then." in done.stdout
    assert output.read_text() == "the record of last week"
    kept = read_bench(tmp_path / "bench.interrupted.json")
    assert kept.interrupted
    assert [len(row.latency_ms) for row in kept.rows] == [1]
