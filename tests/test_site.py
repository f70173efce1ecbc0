"""The site has every page and public name, builds without a warning, and loads nothing from elsewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import leantta
from site_pages import HOMES, PAGES, relinked

CHECKOUT = Path(__file__).resolve().parents[1]
DOCS = CHECKOUT / "docs"
NAV = (CHECKOUT / "mkdocs.yml").read_text().split("\nnav:\n")[1]


def test_every_page_is_in_the_navigation_and_is_there() -> None:
    listed = re.findall(r"- (\S+\.md)$", NAV, re.MULTILINE)
    assert len(set(listed)) == len(listed)
    own = {str(path.relative_to(DOCS)) for path in DOCS.glob("**/*.md")}
    assert own <= set(listed)
    assert set(listed) - own <= set(HOMES)


def test_every_public_name_is_in_the_api() -> None:
    named = re.findall(r"^::: leantta\.(\w+)$", (DOCS / "api.md").read_text(), re.MULTILINE)
    assert sorted(named) == leantta.__all__


@pytest.mark.parametrize(
    ("page", "link", "wanted"),
    [
        ("device.md", "[a](performance.md#x)", "[a](performance.md#x)"),
        ("results/sound.md", "[a](../sound.md)", "[a](../sound.md)"),
        ("compatibility.md", "[a](../CHANGELOG.md)", "[a](CHANGELOG.md)"),
        ("CHANGELOG.md", "[a](docs/int8.md#b)", "[a](int8.md#b)"),
        ("weights/index.md", "[a](motion_cnn_har.md)", "[a](motion_cnn_har.md)"),
        ("lab.md", "[a](src/leantta_lab/weights/README.md)", "[a](weights/index.md)"),
        ("results.md", "[a](../README.md)", "[a](index.md)"),
        ("serving.md", "[a](../examples/serving/kserve.yaml)", "[a](files/examples/serving/kserve.yaml)"),
        ("serving.md", "[a](../examples/serving/)", "a"),
        ("serving.md", "[a](https://example.org/x)", "[a](https://example.org/x)"),
    ],
)
def test_links_lead_to_the_same_place_on_the_site(page: str, link: str, wanted: str) -> None:
    assert relinked(link, page) == wanted


def test_pages_from_elsewhere_are_there() -> None:
    assert all((CHECKOUT / path).is_file() for path in PAGES)


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path / "site")
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    pages = list((tmp_path / "site").glob("**/*.html"))
    assert len(pages) > 40
    loaded = re.compile(
        r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?https?:|<link\b[^>]*\bhref=["']?https?:"""
    )
    for page in pages:
        outside = loaded.findall(page.read_text())
        assert not outside, f"{page.name}: {outside}"
