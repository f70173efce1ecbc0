"""What the README says is so: its code runs as pasted, its figures come from records in the repository."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

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


def test_the_cost_is_that_of_the_benchmarks_record():
    record = json.loads((CHECKOUT / "results" / "eager_cost_resnet18.json").read_text())
    for measured in record["measurements"]:
        times = measured["times_ms"]
        for variant in ("all", "half"):
            ratio = median(a / b for a, b in zip(times[variant], times["eval"], strict=True))
            assert f"{ratio:.2f}x" in README, (variant, measured["batch"])


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
    done = subprocess.run([sys.executable, script, model], check=True, capture_output=True, text=True)
    assert done.stdout.strip() in INT8


@pytest.mark.parametrize("model", MODELS)
def test_the_cost_of_files_is_that_of_the_benchmarks_record(model):
    record = json.loads((CHECKOUT / "results" / f"artifact_cost_{model}.json").read_text())
    assert record["command"] in INT8
    raw = record["latency_ms"]
    ratio = median(a / b for a, b in zip(raw["ort"], raw["none"], strict=True))
    peaks = {name: median(values) for name, values in record["peak_rss_bytes"].items()}
    starts = {name: median(values) for name, values in record["start_ms"].items()}
    row = [
        model,
        f"{ratio:.2f}x",
        *(f"{peaks[f'leantta {name}'] / peaks['plain none']:.3f}x" for name in ("none", "half", "all")),
        f"{starts['plain']:.0f} ms",
        f"{starts['leantta']:.0f} ms",
    ]
    assert f"| {' | '.join(row)} |" in INT8
