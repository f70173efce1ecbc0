"""Put the tables and figures of the records into the documents, each between its two marks.

    python lab/benchmarks/results_page.py

What `leantta reproduce TARGET` shows stands between `<!-- TARGET SCALE -->` and `<!-- end -->`, what
`leantta report` shows of chosen methods on CIFAR-10 between `<!-- report MODEL METHODS -->` and the end, and
our figures beside the paper's between `<!-- beside the paper -->` and the end; what is around them is written
by hand. The pictures go to docs/results/figures.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from leantta.files import replacing
from leantta.plotting import Picture
from leantta.report.groups import score
from leantta.report.show import load_records, show
from leantta_lab.reproduce.paper_tables import TABLE_ABRUPT_GRADUAL
from leantta_lab.reproduce.protocol import (
    FILTER,
    FILTER_INT8,
    LEAN,
    LEAN_INT8,
    NONE,
    NONE_INT8,
    PAPER_DATASETS,
    PAPER_MODELS,
    REMEMBERING,
)
from leantta_lab.reproduce.run_table import answers, tallies
from leantta_lab.reproduce.target import Scale, Setting
from leantta_lab.reproduce.targets import TARGETS

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "results" / "reproduce"
FIGURES = ROOT / "docs" / "results" / "figures"
RESULTS = (ROOT / "docs" / "results.md", *sorted((ROOT / "docs" / "results").glob("*.md")))
PAGES = (ROOT / "README.md", *RESULTS, ROOT / "docs" / "int8.md")
TARGET = re.compile(r"(<!-- (?P<target>[\w-]+) (?P<scale>quick|full) -->\n).*?(<!-- end -->)", re.DOTALL)
REPORT = re.compile(r"(<!-- report (?P<model>\w+) (?P<methods>\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
BESIDE = re.compile(r"(<!-- beside the paper -->\n).*?(<!-- end -->)", re.DOTALL)
OURS = {"None": NONE, "None, int8": NONE_INT8, "LeanTTA": LEAN, "LeanTTA, int8": LEAN_INT8}
MORE = {"shift filter": FILTER, "its int8 file": FILTER_INT8, "stream mode": REMEMBERING}
"""The rows that the paper has, and those that are only ours, as the headline calls them."""
SEEDS = ("", "¹", "²", "³", "⁴", "")
"""What a figure has behind it that is not of all five seeds: of how many it is."""


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

    def beside(place: re.Match[str]) -> str:
        return f"{place[1]}{beside_the_paper()}\n{place[2]}"

    return BESIDE.sub(beside, REPORT.sub(report, TARGET.sub(fill, text)))


def beside_the_paper() -> str:
    """Return the paper's first table, of the methods that see one image at a time, with ours beside it."""
    setting = Setting(scale="full", images={}, records=RECORDS, work=ROOT / "build", no_data="not run")
    columns = [column for section in TABLE_ABRUPT_GRADUAL.sections("full") for column in section.columns]
    rows = []
    for column in columns:
        data = PAPER_DATASETS[column.dataset].removesuffix("-C")
        cells = [f"{PAPER_MODELS[column.model]}, {data}, {column.stream}"]
        for row in (*OURS.values(), *MORE.values()):
            counted = tallies(answers(setting, column, row))
            ours = "not run" if (value := score(counted)) is None else str(value)
            cells.append(f"{ours}{SEEDS[len(counted)]}")
            if row in OURS.values():
                cells.append(f"{column.paper[row.key]:.1f}")
        rows.append(cells)
    heads = [word for name in OURS for word in (name, "paper")] + list(MORE)
    lines = [["network, data, stream", *heads], ["---", *["---:"] * len(heads)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


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
