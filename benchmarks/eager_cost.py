"""What adaptation costs in eager torch: time and peak memory against the same model in eval mode, as ratios.

    python benchmarks/eager_cost.py [--model resnet18] [--output results/eager_cost.json]

Models take turns in one run after a warm-up, and every raw value is kept. Peak memory is that of a fresh
process per model. Machines are noisy: read the ratios, not the times.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor, nn

from leantta.evaluate.machine import describe_machine, loaded_versions
from leantta.files import replacing
from leantta.models.table import MODELS, build
from leantta.surgery.apply import adapt

VARIANTS = ("eval", "all", "half", "none")  # none: every BatchNorm fused
BATCHES = (1, 64)


def variant(name: str, model_name: str) -> tuple[nn.Module, Callable[[int], Tensor]]:
    """Return the model of a variant and a maker of inputs."""
    torch.manual_seed(0)
    model = build(model_name)
    shape = MODELS[model_name].input_shape
    example = torch.randn(2, *shape)
    return (model if name == "eval" else adapt(model, example, name)), lambda n: torch.randn(n, *shape)


def times_ms(model_name: str, batch: int, rounds: int) -> dict[str, list[float]]:
    """Return the time of each call in each round, the variants taking turns."""
    models = {name: variant(name, model_name)[0] for name in VARIANTS}
    x = variant("eval", model_name)[1](batch)
    raw: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for round_number in range(rounds + 3):  # the first three warm up
        for name, model in models.items():
            start = time.perf_counter()
            model(x)
            if round_number >= 3:
                raw[name].append((time.perf_counter() - start) * 1e3)
    return raw


def peak_rss_bytes(model_name: str, name: str, batch: int) -> int:
    """Return the peak memory of a fresh process that loads the finished variant and runs it."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "model.pt"
        model, inputs = variant(name, model_name)
        torch.save((model, inputs(batch)), file)
        command = [sys.executable, __file__, "--peak", str(file)]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def high_water_mark_bytes() -> int:
    """Return the peak memory of this process; getrusage would count that of its parent before exec, too."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def main() -> None:
    """Measure, print the ratios and keep the raw values."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--model", default="resnet18", choices=sorted(MODELS))
    parser.add_argument("--rounds", type=int, default=60, help="calls per variant at batch 1; fewer at 64")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--peak", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    torch.set_grad_enabled(False)
    if chosen.peak:
        model, x = torch.load(chosen.peak, weights_only=False)  # written by this script a moment ago
        for _ in range(3):
            model(x)
        print(high_water_mark_bytes())
        return
    record: dict[str, object] = {
        "benchmark": "eager_cost",
        "model": chosen.model,
        "threads": torch.get_num_threads(),
        "machine": describe_machine(),
        "versions": loaded_versions(),
        "command": " ".join(["python benchmarks/eager_cost.py", *sys.argv[1:]]),
        "measurements": (measurements := []),
    }
    print(f"{chosen.model}, {torch.get_num_threads()} threads; ratios to the same model in eval mode")
    for batch in BATCHES:
        raw = times_ms(chosen.model, batch, chosen.rounds if batch == 1 else max(chosen.rounds // 5, 5))
        peaks = {name: peak_rss_bytes(chosen.model, name, batch) for name in VARIANTS}
        measurements.append({"batch": batch, "times_ms": raw, "peak_rss_bytes": peaks})
        for name in VARIANTS:
            pairs = [a / b for a, b in zip(raw[name], raw["eval"], strict=True)]
            low, _, high = statistics.quantiles(pairs, n=4)
            print(
                f"batch {batch:2d}  {name:5s} {statistics.median(raw[name]):8.2f} ms"
                f"  time x{statistics.median(pairs):.2f} (quartiles {low:.2f}-{high:.2f})"
                f"  peak memory x{peaks[name] / peaks['eval']:.3f}"
            )
    if chosen.output:
        with replacing(chosen.output) as part:
            part.write_text(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
