"""Does partial fusion pay? Accuracy, size and latency with no, half of and all layers fused, from records.

    python benchmarks/fusion_table.py resnet18

reads results/MODEL_int8 (made by `leantta eval`) and results/artifact_cost_MODEL.json (made by
benchmarks/artifact_cost.py), and prints a table in Markdown.
"""

import json
import statistics
import sys
from pathlib import Path

from leantta.report.show import load_records
from leantta.tables import markdown

RESULTS = Path(__file__).resolve().parents[1] / "results"
ROWS = {"all fused": "none", "half fused": "half", "none fused": "all"}  # -> what adapts


def fusion_table(model: str) -> str:
    """Return the table of a model, in Markdown."""
    cost = json.loads((RESULTS / f"artifact_cost_{model}.json").read_text())
    records = load_records([RESULTS / f"{model}_int8"])
    accuracy = {
        (str(record.stream["name"]), record.method): 100 * float(record.correct.mean()) for record in records
    }
    rows = []
    for label, adapt in ROWS.items():
        file = f"int8-{adapt}.onnx"
        pairs = zip(cost["latency_ms"][adapt], cost["latency_ms"]["none"], strict=True)
        rows.append(
            [
                label,
                f"{accuracy['clean', file]:.1f}",
                f"{accuracy['abrupt', file]:.1f}",
                f"{cost['size_bytes'][adapt] / 1e6:.2f} MB",
                f"{statistics.median(a / b for a, b in pairs):.2f}x",
            ]
        )
    return markdown([model, "clean", "corrupted", "size", "latency"], rows)


if __name__ == "__main__":
    print(fusion_table(sys.argv[1]))
