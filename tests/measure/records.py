"""A small record of a benchmark, with values made up so that its figures are known."""

from typing import Any

from leantta.measure.record import BenchRecord, RowRecord

QUIET: dict[str, Any] = {
    "noisy": False,
    "reasons": [],
    "tail": 1.1,
    "drift": 0.01,
    "steal": 0.0,
    "others": 0.0,
}


def row(name: str, latency_ms: list[list[float]], **rest: Any) -> RowRecord:
    return RowRecord(name=name, summary=f"what {name} is", latency_ms=latency_ms, **rest)


def record(*rows: RowRecord, **changes: Any) -> BenchRecord:
    settings: dict[str, Any] = {"threads": 1, "batch": 1, "throughput_batch": 16, "sessions": 2, "rounds": 2}
    settings |= {"settle": 1, "cores": [3]}
    usual: dict[str, Any] = {
        "model": "resnet18",
        "base": rows[0].name,
        "settings": settings,
        "machine": {"cpu": "a processor"},
        "versions": {"python": "3.11"},
        "kernel": "native (scalar)",
        "command": "leantta bench",
        "started": "2025-01-31T12:00:00+00:00",
        "noise": QUIET,
        "energy": {"meter": None, "idle_watts": [], "unmeasurable": "no sensor"},
        "rows": rows,
    }
    return BenchRecord(**{**usual, **changes})


def fused(latency_ms: dict[str, float], series: str) -> list[RowRecord]:
    """The three rows of an engine, by which layers adapt."""
    return [
        row(f"{series}-{adapts}", [[value, value]], adapts=adapts, series=series)
        for adapts, value in latency_ms.items()
    ]
