"""Every block of commands or Python on a page of docs/ runs here as pasted, or says why it does not.

Before a block may stand `<!-- not run: REASON -->` or `<!-- run in: TESTS -->`; on top of a page
`<!-- commands of this page are not run: REASON -->`. A block without a word is run, all those of a page in
order and in one folder with what the pages take for granted: a model, photographs, weights. All commands are
checked against the command line, those that are not run too.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import pytest
from PIL import Image

import leantta
from leantta.cli.main import cli
from leantta.samples import FOLDER

CHECKOUT = Path(__file__).resolve().parents[1]
PAGES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("**/*.md"))]
PAGE_MARK = re.compile(r"<!-- commands of this page are not run: (?P<why>.+?) -->")
FENCED = re.compile(
    r"(?:<!-- (?P<mark>not run|run in): (?P<why>[^\n]+?) -->\n)?^```(?P<kind>sh|python)\n(?P<text>.*?)^```",
    re.MULTILINE | re.DOTALL,
)
INDENTED = re.compile(
    r"(?:<!-- (?P<mark>not run|run in): (?P<why>[^\n]+?) -->\n\n?)?"
    r"(?P<text>(?:^    (?:[A-Z_]+=\S+ )?(?:leantta|python|pip|make|scripts/\S+) .*\n)+)",
    re.MULTILINE,
)
MODEL = """
import torch
from torch import nn

def build():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2)
    )
"""


def named(page: Path) -> str:
    return str(page.relative_to(CHECKOUT).with_suffix(""))


class Block(NamedTuple):
    page: Path
    number: int
    kind: str
    text: str
    mark: str | None  # "not run", "run in" or nothing
    why: str

    def __str__(self) -> str:
        return f"{named(self.page)}-{self.number}-{self.kind}"


def blocks(page: Path) -> Iterator[Block]:
    """Give the blocks of a page in order."""
    text = page.read_text(encoding="utf-8")
    whole = PAGE_MARK.search(text)
    fences = re.sub(r"^```.*?^```", lambda m: "\n" * m[0].count("\n"), text, flags=re.MULTILINE | re.DOTALL)
    places = [*FENCED.finditer(text), *INDENTED.finditer(fences)]
    for number, place in enumerate(places):
        kind = place.groupdict().get("kind") or "sh"
        mark, why = place["mark"], place["why"] or ""
        if mark is None and whole is not None:
            mark, why = "not run", whole["why"]
        yield Block(page, number, kind, place["text"], mark, why)


ALL = [block for page in PAGES for block in blocks(page)]
MARKED = [block for block in ALL if block.mark]
RUN = {page: [block for block in ALL if block.page == page and not block.mark] for page in PAGES}


def commands(text: str) -> Iterator[list[str]]:
    """Give the `leantta` commands in lines of a shell."""
    for line in text.replace("\\\n", " ").splitlines():
        for part in re.split(r"&&|\|", line):
            words = shlex.split(part, comments=True)
            while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                words.pop(0)
            if words and Path(words[0]).name == "leantta":
                yield words[1:]


@pytest.mark.parametrize("block", [block for block in ALL if block.kind == "sh"], ids=str)
def test_commands_and_options_exist(block: Block) -> None:
    for words in commands(block.text):
        context = click.Context(cli)
        command = cli.get_command(context, words[0])
        assert command is not None, words
        command.make_context(words[0], words[1:], parent=context)  # exits at an option that is not there


@pytest.mark.parametrize("block", MARKED, ids=str)
def test_a_mark_gives_a_reason_or_a_test(block: Block) -> None:
    assert len(block.why) > 10
    for name in re.findall(r"(?:lab/)?tests/[\w/]+", block.why):
        assert (CHECKOUT / name).exists() or (CHECKOUT / f"{name}.py").exists(), name


@pytest.mark.parametrize("block", [b for b in ALL if b.kind == "python"], ids=str)
def test_python_is_python(block: Block) -> None:
    compile(block.text, str(block.page), "exec")


def test_blocks_are_found() -> None:
    assert len(ALL) > 60
    assert sum(map(len, RUN.values())) >= 10


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the pages take for granted: files in the folder, and names in Python."""
    import torch
    from safetensors.torch import save_file

    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    for name in ("cat", "dog"):
        folder = tmp_path / "photos" / name
        folder.mkdir(parents=True)
        for number in range(15):
            coarse = draw.integers(0, 255, (8, 8, 3), np.uint8)
            Image.fromarray(coarse).resize((120, 120)).save(folder / f"{number}.jpg")
    shutil.copy(tmp_path / "photos" / "cat" / "0.jpg", "cat.jpg")
    shutil.copytree(FOLDER, "sample", ignore=shutil.ignore_patterns("__*"))
    Path("my_model.py").write_text(MODEL)
    Path("names.txt").write_text("cat\ndog\n")
    names: dict[str, Any] = {"__name__": "page", "leantta": leantta}
    exec(MODEL, names)
    model = names["model"] = names["build"]().eval()
    save_file(model.state_dict(), "my.safetensors")
    images = torch.from_numpy(draw.normal(size=(120, 3, 24, 24)).astype(np.float32))
    names |= {"images": images, "source_images": images, "field_images": images[:40] * 0.5 + 1}
    return names | {"example": images[:2]}


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page, found in RUN.items() if found], ids=named)
def test_the_blocks_of_a_page_run_as_pasted(page: Path, scene: dict[str, Any]) -> None:
    settings = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for block in RUN[page]:
        if block.kind == "python":
            exec(compile(block.text, str(block), "exec"), scene)
            continue
        done = subprocess.run(["/bin/sh", "-ec", block.text], env=settings, capture_output=True, text=True)
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
