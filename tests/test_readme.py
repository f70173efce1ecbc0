"""What the README says is so: its code runs as pasted, its figures come from records in the repository."""

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

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


@pytest.mark.parametrize(
    ("text", "model"), [(README, "resnet18"), (RESULTS, "resnet18"), (RESULTS, "mobilenet_v2")]
)
def test_tables_are_made_from_the_records(text, model):
    records = load_records([CHECKOUT / "results" / model])
    assert show(records, by_family=False, markdown=True) in text
    command = shlex.split(records[0].header.command)
    assert {shlex.join(shlex.split(r.header.command)) for r in records} == {shlex.join(command)}
    assert shlex.join(command) in text
