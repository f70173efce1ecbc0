"""scripts/code_map.py on a small package: what is reached, what is not, and whether a page is up to date."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "code_map.py"
TOY = {
    "__init__.py": '"""A toy."""\n',
    "cli.py": '''"""The command."""
import numpy
from typing import TYPE_CHECKING
from toy import shapes, tables
from toy.shapes import Square
if TYPE_CHECKING:
    from toy.types_only import Unused

def run(size: "Unused") -> None:
    from toy.late import late
    shape = Square(size)
    tables.ROWS[shape.area()]
    late()

def other(): ...
''',
    "shapes/__init__.py": '"""Shapes with an area.\n\nMore."""\nfrom toy.shapes.square import Square\n',
    "shapes/square.py": '''"""Squares."""
from toy.shapes.base import Base

class Square(Base):
    def __init__(self, size):
        self.size = size
    def area(self):
        return self.rounded(self.size)
    def unused(self):
        from toy.unused import unused
        unused()
''',
    "shapes/base.py": '''"""What all shapes can do."""
class Base:
    def rounded(self, value):
        def inner():
            return value
        return inner()
    def never(self): ...
''',
    "late.py": '"""Imported late."""\nimport toy.deep\n\ndef late():\n    import torch\n    toy.deep.deep()',
    "deep.py": '"""Named as an attribute of a module."""\n\ndef deep(late=None):\n    return late\n',
    "tables.py": '"""A table."""\nfrom toy.rows import row\n\nROWS = {1: row}\n',
    "rows.py": '"""What a table leads to."""\n\ndef row(): ...\n',
    "types_only.py": '"""For type checkers."""\n\nclass Unused: ...\n',
    "unused.py": '"""Only an unused method names this."""\n\ndef unused(): ...\n',
}
PAGE = """# Page

<!-- figures: made by scripts/code_map.py -->
<!-- end of figures -->
between
<!-- modules: made by scripts/code_map.py -->
old
<!-- end of modules -->
after
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    for name, text in TOY.items():
        path = tmp_path / "toy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "ranks.py").write_text('RANKS = [["deep", "rows"], ["late"], ["cli"]]\n')
    return tmp_path / "toy"


def code_map(toy: Path, *words: object) -> subprocess.CompletedProcess[str]:
    usual = ["--root", toy, "--ranks", toy.parent / "ranks.py", "--entry", "run=toy.cli:run"]
    command = [sys.executable, SCRIPT, *usual, *words]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


def reached(toy: Path, *words: object) -> dict[str, list[str]]:
    lines = code_map(toy, "--show", "run", *words).stdout.splitlines()
    return {module: names.split(", ") for module, _, names in (line.partition(": ") for line in lines)}


def test_what_is_named_is_reached(toy: Path):
    assert reached(toy) == {
        "toy.cli": ["run"],
        "toy.deep": ["deep"],  # by a nested import, then as an attribute of a module
        "toy.late": ["late"],
        "toy.shapes.base": ["rounded", "inner"],  # a base class; the method is named in the class below it
        "toy.shapes.square": ["__init__", "area"],  # through a re-export
        "toy.tables": [""],  # a table counts as a file, its rows are not followed
    }


def test_one_row_of_a_table_can_be_an_entry_point(toy: Path):
    assert reached(toy, "--entry", "run=toy.tables:ROWS") == {"toy.rows": ["row"], "toy.tables": [""]}


def test_the_figures(toy: Path):
    shown = code_map(toy).stdout
    lines = sum(len(text.splitlines()) for text in TOY.values())
    assert f"| toy | {len(TOY)} | {lines} |" in shown
    assert "| run | 6 | 7 | 9 |" in shown  # all files are imported but `types_only` and the package itself


def test_modules_are_sorted_by_rank_with_what_they_need(toy: Path):
    rows = [line for line in code_map(toy).stdout.splitlines() if line.startswith("| `toy")]
    assert "| `toy.shapes/` | - | Shapes with an area. | - |" in rows
    assert rows[-4:] == [
        "| `toy.deep` | 0 | Named as an attribute of a module. | - |",
        "| `toy.rows` | 0 | What a table leads to. | - |",
        "| `toy.late` | 1 | Imported late. | (torch) |",
        "| `toy.cli` | 2 | The command. | numpy |",
    ]


def test_a_page_is_written_checked_and_found_out_of_date(toy: Path):
    page = toy.parent / "page.md"
    page.write_text(PAGE)
    assert code_map(toy, "--page", page, "--check").returncode == 1
    assert code_map(toy, "--page", page, "--write").returncode == 0
    text = page.read_text()
    assert "old" not in text
    assert text.startswith("# Page\n\n<!-- figures")
    assert text.endswith("<!-- end of modules -->\nafter\n")
    assert code_map(toy, "--page", page, "--check").returncode == 0
    (toy / "late.py").write_text('"""Imported late."""\n\ndef late(): ...\n')
    checked = code_map(toy, "--page", page, "--check")
    assert checked.returncode == 1
    assert "code_map.py --write" in checked.stderr


def test_a_page_without_a_place_and_an_unknown_entry_are_errors(toy: Path):
    page = toy.parent / "page.md"
    page.write_text("# Page\n")
    no_place = code_map(toy, "--page", page, "--check")
    assert no_place.returncode == 2
    assert "no place for figures" in no_place.stderr
    unknown = code_map(toy, "--entry", "x=toy.cli:walk")
    assert unknown.returncode == 2
    assert "'x=toy.cli:walk'" in unknown.stderr


def test_the_tables_of_the_architecture_page_are_true() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
