"""Links between the pages of the repository lead somewhere, and no page or record names a build machine."""

import re
from pathlib import Path

import pytest

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
    texts = [*PAGES, *CHECKOUT.glob("results/**/*.json*")]
    assert len(texts) > 100
    for path in texts:
        assert not re.search(r"\.\./shared|/work/|/root/|/home/\w", path.read_text()), path
