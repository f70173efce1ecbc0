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
