"""Records of benchmarks with known figures, where a reproduction looks for them."""

from dataclasses import asdict, replace
from typing import Any

from leantta.measure.record import RowRecord, write_bench
from leantta_lab.measure.analytic import Footprint
from leantta_lab.measure.rows import ROWS, choose_rows
from leantta_lab.reproduce.at_hand import checkpoint_sha256
from leantta_lab.reproduce.bench_jobs import bench_path, request_of
from leantta_lab.reproduce.target import Setting
from measure.records import record, row

FOOTPRINT = Footprint(parameters=1_000_000, norms=25_000, last_norm=0, layers=50_000)
PEAK = {"import_ms": 1.0, "load_ms": 1.0, "first_ms": 1.0, "peak_rss_bytes": 250e6}


def write_made_up(model: str, batch: int, setting: Setting, times: dict[str, float], **changes: Any) -> None:
    """Write the record that the job would; each row takes the time given for it, in ms, or 2 ms."""
    request = request_of(model, batch, setting.scale)
    rows: list[RowRecord] = [
        row(
            name,
            [[0.5 * times.get(name, 2.0), 1.5 * times.get(name, 2.0)]],
            adapts=ROWS[name].adapts,
            series=ROWS[name].series,
            processes=[PEAK],
        )
        for name in choose_rows(request.rows)
    ]
    found = record(*rows, model=model)
    settings = {
        **found.settings,
        **asdict(request.settings),
        "footprint": FOOTPRINT._asdict(),
        "weights_sha256": checkpoint_sha256(model, "cifar10"),
    }
    write_bench(replace(found, settings=settings, **changes), bench_path(model, batch, setting))
