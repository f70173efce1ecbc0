"""Imports point down the ranks, the device side is torch-free, and files stay small."""

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import leantta
import leantta_lab

ROOT = Path(leantta.__file__).parent
LAB = Path(leantta_lab.__file__).parent

RANKS = [
    ["errors"],
    ["allocation", "files", "memory", "outputs", "progress", "samples", "tables", "extras", "plugins"],
    ["records"],
    ["data", "digests", "functional", "pixels", "plotting"],
    ["decisions", "disturbances", "layer_memory"],
    ["filtering"],
    ["gates"],
    ["graph", "runtime"],
    ["modalities", "quantize"],
    ["models", "monitor", "play", "scan", "streams"],
    ["evaluate"],
    ["nn"],
    ["measure", "report", "serve", "surgery"],
    ["methods"],
    ["study", "export"],
    ["trial"],
    ["cli"],
]
LAB_RANKS = [
    ["datasets", "models", "samples"],
    ["baselines", "report", "training"],
    ["demo", "measure"],
    ["reproduce"],
    ["cli"],
]
RANK_OF = {
    f"{package}.{name}": rank
    for package, ranks in (("leantta", RANKS), ("leantta_lab", LAB_RANKS))
    for rank, names in enumerate(ranks)
    for name in names
}
TORCH_FREE = [
    "errors",
    "files",
    "gates",
    "memory",
    "outputs",
    "progress",
    "samples",
    "tables",
    "extras",
    "plugins",
    "data",
    "modalities",
    "streams",
    "records",
    "plotting",
    "evaluate",
    "measure",
    "monitor",
    "report",
    "runtime",
    "play",
    "scan",
    "serve",
    "cli",
]

PRIVATE = ("__init__.py", "__main__.py")
MODULES = sorted(path for path in ROOT.rglob("*.py") if path.name not in PRIVATE)
LAB_MODULES = sorted(path for path in LAB.rglob("*.py") if path.name not in PRIVATE)


def module_name(path: Path) -> str:
    top = LAB if path.is_relative_to(LAB) else ROOT
    return ".".join([top.name, *path.relative_to(top).with_suffix("").parts])


def part_of(module: str) -> str:
    return ".".join(module.split(".")[:2])


def imports(path: Path, *, nested: bool) -> list[str]:
    tree = ast.parse(path.read_text())
    nodes = ast.walk(tree) if nested else tree.body
    found = []
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module in ("leantta", "leantta_lab"):
            found += [f"{node.module}.{alias.name}" for alias in node.names if alias.name != "__version__"]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            ("leantta.", "leantta_lab.")
        ):
            found.append(node.module or "")
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.startswith("leantta")]
    return found


@pytest.mark.parametrize("path", [*MODULES, *LAB_MODULES], ids=module_name)
def test_imports_point_down(path):
    own = part_of(module_name(path))
    for target in imports(path, nested=True):
        other = part_of(target)
        if own.startswith("leantta_lab.") and not other.startswith("leantta_lab"):
            continue  # the laboratory stands on the whole tool
        assert other == own or RANK_OF[other] < RANK_OF[own], f"{own} imports {target}"


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_the_tool_never_imports_the_laboratory(path):
    assert not [target for target in imports(path, nested=True) if target.startswith("leantta_lab")]


@pytest.mark.parametrize("path", [*MODULES, *LAB_MODULES], ids=module_name)
def test_files_answer_one_question(path):
    assert len(path.read_text().splitlines()) <= 300
    assert path.stem not in ("utils", "helpers", "common", "misc")


def test_the_device_side_runs_without_torch_and_extras():
    plain = [name for name in map(module_name, MODULES) if name.split(".")[1] in TORCH_FREE]
    assert {
        "leantta.cli.main",
        "leantta.evaluate.loop",
        "leantta.report.show",
        "leantta.runtime.session",
    } <= set(plain)
    blocked = "['torch', 'safetensors', 'scipy', 'soundfile', 'onnx', 'openvino', 'leantta_lab']"
    code = f"import sys\nfor name in {blocked}: sys.modules[name] = None\nimport leantta, {', '.join(plain)}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_public_names_are_listed_sorted_and_there():
    assert leantta.__all__ == sorted(leantta.__all__)
    assert set(leantta._HOMES) == set(leantta.__all__)
    for name in leantta.__all__:
        assert getattr(leantta, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'adopt'"):
        leantta.adopt  # noqa: B018 - the look-up is the test


def test_what_pages_and_examples_import_is_public():
    checkout = Path(__file__).resolve().parents[1]
    for path in [checkout / "README.md", *checkout.glob("docs/**/*.md"), *checkout.glob("examples/*.py")]:
        inner = re.findall(r"^\s*(?:from|import) (leantta\.\S+)", path.read_text(), re.MULTILINE)
        assert not inner, f"{path.name} imports {inner}; make the name public in leantta/__init__.py"
        names = re.findall(r"\bleantta\.([a-zA-Z_]\w*)\(", path.read_text())
        assert set(names) <= set(leantta.__all__), path.name


def test_a_missing_extra_names_the_line_that_brings_it():
    code = "import sys; sys.modules['torch'] = None; import leantta; leantta.adapt"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'leantta[convert]'" in done.stderr.splitlines()[-1]


def test_no_two_test_files_have_one_name():
    """Pytest imports them by their names alone, and takes the second for the first."""
    checkout = Path(__file__).resolve().parents[1]
    files = [path for folder in ("tests", "lab/tests") for path in (checkout / folder).rglob("test_*.py")]
    names = Counter(path.name for path in files)
    assert [name for name, count in names.items() if count > 1] == []
