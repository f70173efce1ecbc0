"""README's table: ResNet18's default file beside the same network converted without adapting.

    python lab/benchmarks/default_file.py

Accuracy is from the records of `leantta reproduce table-abrupt-gradual table-clean --full`; time and size are
from results/bench_default_resnet18_avx512.json. Both times `leantta convert resnet18 --calibration
cifar10.npz` made the default file, with `--adapt none` the other; they were made anew, so their bytes differ.
"""

from pathlib import Path

from leantta.evaluate.metrics import Tally, paired_difference, tally
from leantta.evaluate.record import Record
from leantta.measure.record import read_bench
from leantta.measure.results import figures_of
from leantta.report.show import load_records
from leantta.streams.stream import Domain
from leantta.tables import markdown

RESULTS = Path(__file__).resolve().parents[2] / "results"
EVALUATED = ("resnet18_cifar10_none.onnx", "resnet18_cifar10_ends_filter.onnx")
TIMED = ("resnet18_none.onnx", "resnet18_default.onnx")


def is_strongest(domain: Domain) -> bool:
    """Keep the strongest corruptions."""
    return domain.severity == 5


def pair(stream: str) -> list[Record]:
    """Return the full records of a stream: the file that does not adapt, and the default file."""
    found = load_records([RESULTS / "reproduce" / "full"], f"resnet18-cifar10-{stream}-*.onnx-*.jsonl")
    by_method = {record.method: record for record in found}
    return [by_method[method] for method in EVALUATED]


def table() -> str:
    """Return the table in Markdown, with what it was measured on below it."""
    bench = read_bench(RESULTS / "bench_default_resnet18_avx512.json")
    figures = {row.name: row for row in figures_of(bench)}
    clean, shifted = pair("clean"), pair("abrupt")
    strongest = [_percent(tally(record, is_strongest)) for record in shifted]
    fixed, own = (figures[name] for name in TIMED)
    rows = [
        ["right on shifted inputs", *map(_right, shifted), _points(shifted)],
        ["right at the strongest shifts", *strongest, ""],
        ["right on clean inputs", *map(_right, clean), _points(clean)],
        [
            "time for one image",
            *(f"{row.median_ms:.2f} ms" for row in (fixed, own)),
            f"{own.ratio.value:.2f}x",
        ],
        ["size of the file", *(f"{(row.size_bytes or 0) / 1e6:.1f} MB" for row in (fixed, own)), ""],
    ]
    about = (
        f"{len(shifted[0].labels):,} shifted and {len(clean[0].labels):,} clean images; differences with "
        f"their 95 % interval. One core of {bench.machine['cpu']}, kernel {bench.kernel}."
    )
    return f"{markdown(['', 'not adapting', '**adapting**', ''], rows)}\n\n{about}"


def _right(record: Record) -> str:
    return _percent(tally(record))


def _percent(found: Tally | None) -> str:
    assert found is not None
    return f"{100 * found.accuracy:.1f} %"


def _points(records: list[Record]) -> str:
    before, after = records
    gain = paired_difference(before, after)
    return f"{100 * gain.value:+.1f} [{100 * gain.low:+.1f}, {100 * gain.high:+.1f}]"


if __name__ == "__main__":
    print(table())
