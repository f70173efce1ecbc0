"""What the README says is so: its code runs as pasted, its figures come from records in the repository."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

from leantta.measure.record import read_bench
from leantta.measure.table import figures_of
from leantta.report.show import load_records, show

CHECKOUT = Path(__file__).resolve().parents[1]
README = (CHECKOUT / "README.md").read_text()
RESULTS = (CHECKOUT / "docs" / "results.md").read_text()


def block(language: str, number: int = 0) -> str:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)[number]


def test_the_first_screen_has_what_a_newcomer_needs():
    first = "\n".join(README.splitlines()[:40])
    for wanted in ("make demo", "make test", "pip install", "leantta eval", "| method |", "leantta.adapt("):
        assert wanted in first


def test_the_eight_lines_run_as_pasted():
    code = block("python")
    assert len([line for line in code.splitlines() if line]) == 8
    done = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shown = ast.literal_eval(README.split("```python")[1].split("```text\n")[1].split("```")[0])
    assert ast.literal_eval(done.stdout) == pytest.approx(shown, abs=0.01)


TABLES = [
    (README, "resnet18"),
    *((RESULTS, name) for name in ("resnet18", "mobilenet_v2", "resnet18_calibrated")),
]


@pytest.mark.parametrize(("text", "folder"), TABLES, ids=["readme", "resnet18", "mobilenet_v2", "calibrated"])
def test_tables_are_made_from_the_records(text, folder):
    records = load_records([CHECKOUT / "results" / folder])
    assert show(records, by_family=text is RESULTS, markdown=True) in text
    commands = {record.header.command for record in records}
    assert len(commands) == 1
    assert commands.pop() in text


MODELS = ("resnet18", "mobilenet_v2")
INT8 = (CHECKOUT / "docs" / "int8.md").read_text()


@pytest.mark.parametrize("model", MODELS)
def test_int8_loses_at_most_half_a_point(model):
    records = load_records([CHECKOUT / "results" / model, CHECKOUT / "results" / f"{model}_int8"])
    assert show(records, by_family=False, markdown=True) in INT8
    assert all(record.header.command in INT8 for record in records)
    accuracy = {r.method: 100 * r.correct.mean() for r in records if r.stream["name"] == "abrupt"}
    for fp32, int8 in (("none", "none"), ("leantta:half", "half"), ("leantta:all", "all")):
        assert abs(accuracy[f"int8-{int8}.onnx"] - accuracy[fp32]) <= 0.5


@pytest.mark.parametrize("model", MODELS)
def test_the_fusion_table_is_made_from_records(model):
    script = CHECKOUT / "benchmarks" / "fusion_table.py"
    assert printed(script, model) in INT8


PERFORMANCE = (CHECKOUT / "docs" / "performance.md").read_text()


def printed(*command: object) -> str:
    done = subprocess.run([sys.executable, *map(str, command)], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_the_cost_is_made_from_records():
    assert printed(CHECKOUT / "benchmarks" / "cost_table.py") in README


@pytest.mark.parametrize("model", MODELS)
def test_the_tables_of_the_benchmark_are_made_from_records(model):
    path = CHECKOUT / "results" / f"bench_{model}.json"
    record = read_bench(path)
    assert f"`{record.command}`" in README
    assert record.command in PERFORMANCE
    assert printed("-m", "leantta", "bench", "--show", path, "--markdown") in PERFORMANCE


def test_the_scaling_is_made_from_its_record():
    path = CHECKOUT / "results" / "scaling.json"
    assert json.loads(path.read_text())["command"] in PERFORMANCE
    assert printed("-m", "leantta", "bench", "--show", path, "--markdown") in PERFORMANCE


def test_the_goals_are_compared_with_records():
    rows = [
        {row.name: row for row in figures_of(read_bench(CHECKOUT / "results" / f"bench_{model}.json"))}
        for model in MODELS
    ]
    compared = {
        "all layers adapt, against nothing adapting": ("ours-all", "ours-none"),
        "first half adapts": ("ours-half", "ours-none"),
        "first half, against ONNX Runtime's own int8 that does not adapt": ("ours-half", "onnxruntime-int8"),
        "all layers, against the same": ("ours-all", "onnxruntime-int8"),
        "all layers, against OpenVINO adapting all": ("ours-all", "openvino-all"),
    }
    for label, (own, other) in compared.items():
        cells = [f"{each[own].ratio.value / each[other].ratio.value:.3f}" for each in rows]
        assert re.search(rf"\| {re.escape(label)} \| [^|]+ \| {' [|] '.join(cells)} \|", PERFORMANCE), label


def test_what_was_tried_is_in_a_record():
    record = json.loads((CHECKOUT / "results" / "kernel_cost.json").read_text())
    assert record["command"] in PERFORMANCE
    for row in record["passes"]:
        if (row["rows"], row["channels"]) == (1024, 96) and "scalar" not in row["pass"]:
            assert f"| {row['pass']} | {median(row['ns']):.3f} |" in PERFORMANCE
    for kind, values in record["nodes_us"].items():
        assert f"| {kind} | {median(values):.2f} |" in PERFORMANCE
