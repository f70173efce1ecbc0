"""Benchmarks as jobs: the table of systems, the fused speeds and the scatter are made of their records."""

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from leantta.errors import MissingFileError
from leantta.measure.bench import BenchSettings
from leantta.measure.record import BenchRecord, read_bench, write_bench
from leantta.measure.request import BenchRequest, run_request
from leantta.progress import Progress
from leantta_lab.measure.rows import choose_rows
from leantta_lab.reproduce.at_hand import checkpoint_sha256
from leantta_lab.reproduce.target import Job, Scale, Setting

_FUSED: dict[Scale, tuple[str, ...]] = {
    "quick": ("ours-none", "ours-half", "ours-all", "torch-x86-*"),
    "full": ("ours-*", "plain-none", "torch-x86-*", "torch-qnnpack-*", "openvino-*"),
}
_SYSTEM: dict[Scale, tuple[str, ...]] = dict.fromkeys(("quick", "full"), ("ours-none", "ours-half"))

FUSED_ROWS: dict[str, dict[Scale, tuple[str, ...]]] = {
    "resnet18": _FUSED,
    "mobilenet_v2": _FUSED,
    "vggish": _SYSTEM,
}
"""The benchmarked models: rows with all, half and none of the layers fused, or what the systems need."""

BASELINE_ROWS = ("torch-realistic-tta", "torch-tent", "torch-eata")
PLAIN, HALF = "torch-fp32", "torch-fp32-half"
COTTA, COTTA_FEW = "torch-cotta", "torch-cotta-4"
"""CoTTA with 32 views of each image, and with 4."""

QUICK_ENOUGH = (("resnet18", 1), ("mobilenet_v2", 1))
"""Models and batch sizes at which 32 views can be quick; of many or large inputs they take too long."""

SETTINGS: dict[Scale, BenchSettings] = {
    "quick": BenchSettings(
        sessions=2, rounds=16, warm_up=2, throughput_rounds=0, throughput_batch=1, processes=1
    ),
    "full": BenchSettings(),
}
LARGER: dict[Scale, BenchSettings] = {
    "quick": replace(SETTINGS["quick"], sessions=1, rounds=4, warm_up=1, settle=0),
    "full": replace(SETTINGS["quick"], sessions=4, rounds=8, warm_up=1, settle=0),
}
SECONDS: dict[Scale, dict[tuple[str, int], float]] = {
    "quick": {
        ("resnet18", 1): 80,
        ("resnet18", 16): 25,
        ("resnet18", 64): 60,
        ("mobilenet_v2", 1): 110,
        ("mobilenet_v2", 16): 40,
        ("vggish", 1): 90,
    },
    "full": {
        ("resnet18", 1): 500,
        ("resnet18", 16): 90,
        ("resnet18", 64): 300,
        ("mobilenet_v2", 1): 900,
        ("mobilenet_v2", 16): 250,
        ("mobilenet_v2", 64): 900,
        ("vggish", 1): 900,
    },
}
"""Guesses on a quiet core. What is not in it is not measured: the paper's device could not run it either."""


def request_of(model: str, batch: int, scale: Scale) -> BenchRequest:
    """Return what is measured of a model at a batch size."""
    few = scale == "quick" and (model, batch) not in QUICK_ENOUGH
    cotta = COTTA_FEW if few else COTTA
    if batch > 1:
        several = (PLAIN, "torch-tent", "torch-eata", cotta)
        return BenchRequest(model=model, rows=several, settings=replace(LARGER[scale], batch=batch))
    rows = (*FUSED_ROWS[model][scale], PLAIN, HALF, *BASELINE_ROWS, cotta)
    return BenchRequest(model=model, rows=rows, settings=SETTINGS[scale])


def bench_job(model: str, batch: int, scale: Scale) -> Job:
    """Return the job that measures a model at a batch size."""
    return Job(
        name=f"bench {model} batch {batch}",
        run=partial(_run, model, batch),
        done=partial(is_done, model, batch),
        seconds=SECONDS[scale][model, batch],
        alone=True,
    )


def bench_path(model: str, batch: int, setting: Setting) -> Path:
    """Return where the record is."""
    return setting.folder / f"bench-{model}-batch{batch}.json"


def bench_record(model: str, batch: int, setting: Setting) -> BenchRecord | None:
    """Return the record of this scale; None if there is none.

    Raises:
        RecordError: the file is something else, or it is damaged.
    """
    try:
        return read_bench(bench_path(model, batch, setting))
    except MissingFileError:
        return None


def nearest_record(model: str, setting: Setting) -> tuple[BenchRecord | None, bool]:
    """Return the record at batch 1, else that of `leantta bench` beside the records; and if it is the first.

    Raises:
        RecordError: a file is something else, or it is damaged.
    """
    own = bench_record(model, 1, setting)
    if own is not None:
        return own, True
    try:
        return read_bench(setting.records.parent / f"bench_{model}.json"), False
    except MissingFileError:
        return None, False


def is_done(model: str, batch: int, setting: Setting) -> bool:
    """Tell whether the record is there, and is of the same rows, settings and checkpoint."""
    record = bench_record(model, batch, setting)
    if record is None or record.interrupted:
        return False
    from leantta.models.named import model_entry  # here, as it loads torch

    request = request_of(model, batch, setting.scale)
    return (
        [row.name for row in record.rows] == choose_rows(request.rows)
        and asdict(request.settings).items() <= dict(record.settings).items()
        and record.settings["weights_sha256"] == checkpoint_sha256(model, model_entry(model).trained_on)
    )


def _run(model: str, batch: int, setting: Setting, progress: Progress) -> None:
    request = request_of(model, batch, setting.scale)
    record = run_request(request, _Steps(request, progress))
    if record.interrupted:
        raise KeyboardInterrupt
    write_bench(record, bench_path(model, batch, setting))


class _Steps:
    """The stages of a benchmark as one progress: rows made, sessions, and rows in fresh processes."""

    def __init__(self, request: BenchRequest, progress: Progress) -> None:
        rows = len(choose_rows(request.rows))
        self.progress = progress
        self.total = rows * (1 + request.settings.processes) + request.settings.sessions
        self.ended = 0

    def __call__(self, label: str) -> Callable[[int, int], None]:
        """Return the progress of a stage."""
        del label

        def step(done: int, total: int) -> None:
            self.progress(min(self.ended + done, self.total), self.total)
            if done == total:
                self.ended += total

        return step
