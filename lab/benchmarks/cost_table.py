"""What adapting costs, in one small table: times as ratios to our int8 file that does not adapt.

    python lab/benchmarks/cost_table.py

reads results/bench_MODEL.json (made by `leantta bench`) for both models, and prints a table in Markdown.
"""

from pathlib import Path

from leantta.measure.record import read_bench
from leantta.measure.results import figures_of
from leantta.tables import markdown

RESULTS = Path(__file__).resolve().parents[2] / "results"
MODELS = ("resnet18", "mobilenet_v2")
ROWS = {
    "ours, nothing adapts": "ours-none",
    "**ours, first half adapts**": "ours-half",
    "**ours, all layers adapt**": "ours-all",
    "the same file without the kernel, half": "ours-half-portable",
    "the same file without the kernel, all": "ours-all-portable",
    "ONNX Runtime's own int8, nothing adapts": "onnxruntime-int8",
    "OpenVINO, nothing adapts": "openvino-none",
    "OpenVINO, first half adapts": "openvino-half",
    "OpenVINO, all layers adapt": "openvino-all",
    "torch int8 (x86), the paper's recipe, nothing adapts": "torch-x86-none",
    "torch int8 (x86), the paper's recipe, half": "torch-x86-half",
    "torch int8 (x86), the paper's recipe, all": "torch-x86-all",
    "torch float32, nothing adapts": "torch-fp32",
}


def cost_table() -> str:
    """Return the table, in Markdown."""
    by_name = [
        {figures.name: figures for figures in figures_of(read_bench(RESULTS / f"bench_{model}.json"))}
        for model in MODELS
    ]
    rows = []
    for label, name in ROWS.items():
        rows.append([label, *(f"{figures[name].ratio.value:.2f}x" for figures in by_name)])
    return markdown(["int8, one thread, batch 1", "ResNet18", "MobileNetV2"], rows)


if __name__ == "__main__":
    print(cost_table())
