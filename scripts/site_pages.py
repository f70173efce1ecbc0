"""What mkdocs is told beside the pages of docs/: pages from elsewhere in the repository, where links lead.

Pages link as files of the repository do, so that they can be read there. On the site a page from outside of
docs/ has a name of its own, and any other file that is linked is copied to files/. A link to a folder has
nowhere to lead there and becomes plain text.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
WEIGHTS = "lab/src/leantta_lab/weights"
PAGES = {
    "README.md": "index.md",
    **{name: name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")},
    "lab/README.md": "lab.md",
    **{
        f"{WEIGHTS}/{path.name}": f"weights/{path.name.replace('README', 'index')}"
        for path in sorted((ROOT / WEIGHTS).glob("*.md"))
    },
}
"""Where a page of the repository stands on the site; those of docs/ stand where they are there."""

HOMES = {name: path for path, name in PAGES.items() if path != "README.md"}
LINK = re.compile(r"(?P<text>!?\[[^\]]*\])\((?P<path>[^)\s#:]+)(?P<part>#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from elsewhere, and the files that pages link to."""
    for name, path in HOMES.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / path)))
    for page in list(files.documentation_pages()):
        home = home_of(page.src_uri)
        for link in LINK.finditer((ROOT / home).read_text(encoding="utf-8")):
            target = target_of(home, link["path"])
            name = f"files/{target}"
            outside = not target.startswith("docs/") and target not in PAGES
            if outside and (ROOT / target).is_file() and files.get_file_from_path(name) is None:
                files.append(File.generated(config, name, abs_src_path=str(ROOT / target)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page with the links that lead out of docs/ changed."""
    del config, files
    return relinked(markdown, page.file.src_uri)


def relinked(markdown: str, name: str) -> str:
    """Return the text of the page `name` with links as the site has them."""
    home = home_of(name)

    def changed(link: re.Match[str]) -> str:
        target = target_of(home, link["path"])
        if target.startswith("docs/"):
            place = target.removeprefix("docs/")
        elif (ROOT / target).is_dir():
            return link["text"].strip("[]")
        else:
            place = PAGES.get(target, f"files/{target}")
        here = posixpath.relpath(place, posixpath.dirname(name) or ".")
        return f"{link['text']}({here}{link['part'] or ''})"

    return LINK.sub(changed, markdown)


def home_of(name: str) -> str:
    """Return where a page of the site lies in the repository."""
    return HOMES.get(name, f"docs/{name}")


def target_of(home: str, path: str) -> str:
    """Return the path in the repository that a link on a page means."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(home), path))
