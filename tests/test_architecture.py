"""Imports point down the ranks, the device side is torch-free, and files stay small."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import leantta

ROOT = Path(leantta.__file__).parent

RANKS = [
    ["errors"],
    ["files", "gates", "memory", "progress", "tables", "extras"],
    ["data", "functional", "graph"],
    ["evaluate", "models", "remembered", "runtime", "quantize"],
    ["baselines", "nn", "training"],
    ["report", "surgery"],
    ["methods"],
    ["study", "export"],
    ["demo", "measure"],
    ["reproduce"],
    ["cli"],
]
RANK_OF = {name: rank for rank, names in enumerate(RANKS) for name in names}
TORCH_FREE = [
    "errors",
    "files",
    "gates",
    "memory",
    "progress",
    "tables",
    "extras",
    "data",
    "evaluate",
    "report",
    "runtime",
    "measure",
    "cli",
]

MODULES = sorted(path for path in ROOT.rglob("*.py") if path.name not in ("__init__.py", "__main__.py"))


def module_name(path: Path) -> str:
    return ".".join(["leantta", *path.relative_to(ROOT).with_suffix("").parts])


def part_of(module: str) -> str:
    return module.split(".")[1]


def imports(path: Path, *, nested: bool) -> list[str]:
    tree = ast.parse(path.read_text())
    nodes = ast.walk(tree) if nested else tree.body
    found = []
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "leantta":
            found += [f"leantta.{alias.name}" for alias in node.names if alias.name != "__version__"]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("leantta."):
            found.append(node.module or "")
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.startswith("leantta.")]
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: module_name(path))
def test_imports_point_down(path):
    own = part_of(module_name(path))
    for target in imports(path, nested=True):
        other = part_of(target)
        assert other == own or RANK_OF[other] < RANK_OF[own], f"{own} imports {target}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: module_name(path))
def test_files_answer_one_question(path):
    assert len(path.read_text().splitlines()) <= 300
    assert path.stem not in ("utils", "helpers", "common", "misc")


def test_the_device_side_runs_without_torch_and_extras():
    names = [module_name(path) for path in MODULES if part_of(module_name(path)) in TORCH_FREE]
    needs_bench = ["leantta.data.corruptions", "leantta.report.page"]
    needs_torch = ["leantta.measure.torch_"]
    needing = [*needs_bench, *needs_torch]
    plain = [n for n in names if not any(n.startswith(p) for p in needing)]
    assert {
        "leantta.cli.main",
        "leantta.evaluate.loop",
        "leantta.report.show",
        "leantta.runtime.session",
    } <= set(plain)
    blocked = "['torch', 'safetensors', 'scipy', 'PIL', 'soundfile', 'onnx', 'openvino']"
    code = f"import sys\nfor name in {blocked}: sys.modules[name] = None\nimport leantta, {', '.join(plain)}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_public_names_are_listed_sorted_and_there():
    assert leantta.__all__ == sorted(leantta.__all__)
    assert set(leantta._HOMES) == set(leantta.__all__)
    for name in leantta.__all__:
        assert getattr(leantta, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'adopt'"):
        leantta.adopt  # noqa: B018 - the look-up is the test


def test_a_missing_extra_names_the_line_that_brings_it():
    code = "import sys; sys.modules['torch'] = None; import leantta; leantta.adapt"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'leantta[convert]'" in done.stderr.splitlines()[-1]
