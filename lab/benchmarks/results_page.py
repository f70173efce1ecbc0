"""Put the tables and figures of the records into the documents, each between its two marks.

    python lab/benchmarks/results_page.py

What `leantta reproduce TARGET` shows stands between `<!-- TARGET SCALE -->` and `<!-- end -->`, what
`leantta report` shows of chosen methods on CIFAR-10 between `<!-- report MODEL METHODS -->` and the end; what
is around them is written by hand. The pictures go to docs/results/figures.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from leantta.files import replacing
from leantta.plotting import Picture
from leantta.report.show import load_records, show
from leantta_lab.reproduce.target import Scale, Setting
from leantta_lab.reproduce.targets import TARGETS

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "results" / "reproduce"
FIGURES = ROOT / "docs" / "results" / "figures"
RESULTS = (ROOT / "docs" / "results.md", *sorted((ROOT / "docs" / "results").glob("*.md")))
PAGES = (ROOT / "README.md", *RESULTS, ROOT / "docs" / "int8.md")
TARGET = re.compile(r"(<!-- (?P<target>[\w-]+) (?P<scale>quick|full) -->\n).*?(<!-- end -->)", re.DOTALL)
REPORT = re.compile(r"(<!-- report (?P<model>\w+) (?P<methods>\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str, pictures: dict[str, Picture]) -> str:
    """Return a page with what the records say in every place; its pictures are added to those there are."""

    def fill(place: re.Match[str]) -> str:
        scale: Scale = "full" if place["scale"] == "full" else "quick"
        page = TARGETS[place["target"]].page(
            Setting(scale=scale, images={}, records=RECORDS, work=ROOT / "build", no_data="not run")
        )
        pictures.update({f"{picture.name}.svg": picture for picture in page.pictures})
        return f"{place[1]}{page.markdown(folder='figures/').strip()}\n{place[4]}"

    def report(place: re.Match[str]) -> str:
        return f"{place[1]}{accuracy(place['model'], place['methods'].split(','))}\n{place[4]}"

    return REPORT.sub(report, TARGET.sub(fill, text))


def accuracy(model: str, methods: Sequence[str]) -> str:
    """Return the table of methods, and of files as `half_paper.onnx`, over all full records of CIFAR-10."""
    records = [
        record
        for stream in ("clean", "abrupt")
        for record in load_records([RECORDS / "full"], f"{model}-cifar10-{stream}-*.jsonl")
    ]
    chosen = [
        record
        for method in methods
        for record in records
        if record.method in (method, f"{model}_cifar10_{method}")
    ]
    return show(chosen, by_family=False, markdown=True)


if __name__ == "__main__":
    pictures: dict[str, Picture] = {}
    files = {path: filled(path.read_text(encoding="utf-8"), pictures).encode() for path in PAGES}
    files |= {FIGURES / name: picture.drawn("svg") for name, picture in pictures.items()}
    for path, content in files.items():
        with replacing(path) as part:
            part.write_bytes(content)
        print(path.relative_to(ROOT))
