"""Does partial fusion pay? Accuracy, size and latency with no, half of and all layers fused, from records.

    python benchmarks/fusion_table.py resnet18

reads results/MODEL_int8 (made by `leantta eval`) and results/bench_MODEL.json (made by `leantta bench`), and
prints a table in Markdown.
"""

import sys
from pathlib import Path

from leantta.measure.record import read_bench
from leantta.measure.table import figures_of
from leantta.report.show import load_records
from leantta.tables import markdown

RESULTS = Path(__file__).resolve().parents[1] / "results"
ROWS = {"all fused": "none", "half fused": "half", "none fused": "all"}  # -> what adapts


def fusion_table(model: str) -> str:
    """Return the table of a model, in Markdown."""
    cost = {row.name: row for row in figures_of(read_bench(RESULTS / f"bench_{model}.json"))}
    records = load_records([RESULTS / f"{model}_int8"])
    accuracy = {
        (str(record.stream["name"]), record.method): 100 * float(record.correct.mean()) for record in records
    }
    rows = []
    for label, adapt in ROWS.items():
        file = f"int8-{adapt}.onnx"
        figures = cost[f"ours-{adapt}"]
        assert figures.size_bytes is not None
        rows.append(
            [
                label,
                f"{accuracy['clean', file]:.1f}",
                f"{accuracy['abrupt', file]:.1f}",
                f"{figures.size_bytes / 1e6:.2f} MB",
                f"{figures.ratio.value:.2f}x",
            ]
        )
    return markdown([model, "clean", "corrupted", "size", "latency"], rows)


if __name__ == "__main__":
    print(fusion_table(sys.argv[1]))
