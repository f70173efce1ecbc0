"""Put the tables and figures of the records into docs/results.md, each between its two marks.

    python benchmarks/results_page.py

A table stands between `<!-- TARGET SCALE -->` and `<!-- end -->`; what is around them is written by hand. The
pictures go to docs/figures.
"""

import re
from pathlib import Path

from leantta.files import replacing
from leantta.reproduce.target import Scale, Setting
from leantta.reproduce.targets import TARGETS

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "results.md"
FIGURES = ROOT / "docs" / "figures"
PLACE = re.compile(r"<!-- (?P<target>[\w-]+) (?P<scale>quick|full) -->\n.*?<!-- end -->", re.DOTALL)


def filled(text: str) -> tuple[str, dict[str, str]]:
    """Return a page with what the records say in every place, and the pictures by their names."""
    pictures: dict[str, str] = {}

    def fill(place: re.Match[str]) -> str:
        scale: Scale = "full" if place["scale"] == "full" else "quick"
        setting = Setting(scale=scale, images={}, records=ROOT / "results" / "reproduce", work=ROOT / "build")
        page = TARGETS[place["target"]].page(setting)
        pictures.update(page.pictures)
        shown = page.markdown.replace("no data", "not run")  # the page does without images
        for name in page.pictures:
            shown = shown.replace(f"({name})", f"(figures/{name})")
        return f"<!-- {place['target']} {place['scale']} -->\n{shown.strip()}\n<!-- end -->"

    return PLACE.sub(fill, text), pictures


if __name__ == "__main__":
    page, pictures = filled(PAGE.read_text(encoding="utf-8"))
    for path, content in ((PAGE, page), *((FIGURES / name, text) for name, text in pictures.items())):
        with replacing(path) as part:
            part.write_text(content, encoding="utf-8")
        print(path.relative_to(ROOT))
