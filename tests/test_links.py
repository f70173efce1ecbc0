"""Links between the pages of the repository lead somewhere, and no page or record names a build machine."""

import re
import subprocess
from pathlib import Path

import pytest

from leantta.evaluate.packs import SUFFIX, read_pack

CHECKOUT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "lab/*.md", "lab/src/**/*.md")
    for path in CHECKOUT.glob(pattern)
)


def anchor(heading: str) -> str:
    """Return what a link to a heading is called."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading.strip().lower())).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if link.startswith(("http:", "https:")):
            continue
        place, _, part = link.partition("#")
        target = page.parent / place if place else page
        assert target.exists(), link
        if part:
            headings = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
            assert part in map(anchor, headings), link


def test_nothing_names_a_place_of_the_machine_that_made_it() -> None:
    texts = {str(path): path.read_text() for path in (*PAGES, *CHECKOUT.glob("results/**/*.json*"))}
    for pack in CHECKOUT.glob(f"results/**/*{SUFFIX}"):
        texts |= {f"{pack}: {name}": raw.decode() for name, raw in read_pack(pack).items()}
    assert len(texts) > 1000
    for place, text in texts.items():
        assert not re.search(r"\.\./shared|/work/|/root/|/home/\w", text), place


def test_no_file_is_there_twice() -> None:
    listed = subprocess.run(["git", "ls-files", "-sz"], cwd=CHECKOUT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    entries = [entry.partition("\t") for entry in listed.stdout.decode().split("\0") if entry]
    assert len(entries) > 500
    same: dict[str, list[str]] = {}
    for about, _, path in entries:
        if not path.endswith("py.typed"):  # empty, one for each package
            same.setdefault(about.split()[1], []).append(path)
    assert not [paths for paths in same.values() if len(paths) > 1]


def test_records_of_runs_are_packed() -> None:
    """`leantta reproduce all --full --pack` moves those that another process left as files."""
    assert not list(CHECKOUT.glob("results/reproduce/*/*.jsonl"))
    assert list(CHECKOUT.glob(f"results/reproduce/*/*{SUFFIX}"))
