"""The benchmark: rows take turns in one process, memory and start-up are those of fresh ones."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from leantta.errors import SettingError
from leantta.measure.candidates import Candidate, open_file
from leantta.measure.energy import Meter, find_meter, idle_watts, measure_block
from leantta.measure.figures import INTERVAL_METHOD
from leantta.measure.machine import cpu_time, judge_noise, load_average, pinned, usable_cores
from leantta.measure.probe import fresh_process
from leantta.measure.record import BenchRecord, RowRecord
from leantta.measure.running import (
    Running,
    calls_of,
    closing,
    load_for_session,
    prepare,
    strides,
    take_turns,
)
from leantta.progress import Progress, Progresses, silent
from leantta.records.provenance import provenance_now, time_now
from leantta.runtime.kernel import describe

SEED = 0

SLOW_PROCESSES = 1
"""Fresh processes at most of what takes seconds to start."""

THROUGHPUT_EVERY = 2
"""Throughput is measured in each second session."""

BLOCKS = 3
"""How often the energy of each row is measured."""

Rows = dict[str, RowRecord]


@dataclass(frozen=True, kw_only=True)
class BenchSettings:
    """How much is measured."""

    threads: int = 1
    batch: int = 1
    throughput_batch: int = 16
    sessions: int = 8  # each loads every file anew: where its memory lies is worth some percent
    rounds: int = 40  # of calls, in each session
    warm_up: int = 10  # rounds before those that count, in each session
    settle: int = 1  # calls before each that counts: a device runs one model again and again
    throughput_rounds: int = 1  # with the larger batch, in each second session
    processes: int = 5  # fresh ones per row, one for torch
    energy_seconds: float = 1.0  # of calls in a row, where energy can be measured

    def __post_init__(self) -> None:
        """Refuse numbers that mean nothing."""
        for name, value in asdict(self).items():
            least = 1 if name in ("threads", "batch", "throughput_batch", "sessions", "rounds") else 0
            if value < least:
                raise SettingError(f"{name} must be at least {least}, got {value}.")


def run_bench(
    candidates: Sequence[Candidate],
    settings: BenchSettings,
    *,
    model: str | None = None,
    base: str | None = None,
    about: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
    progress: Progresses = lambda _: silent,
) -> BenchRecord:
    """Return the record of the candidates measured side by side; `about` is added to its settings.

    One that cannot run here is recorded with the reason. A keyboard interrupt ends the measuring early: the
    record of the whole sessions so far is returned, marked as interrupted.

    Raises:
        SettingError: none of the candidates can run, or `base` is not one of them.
    """
    if base is not None and base not in [candidate.name for candidate in candidates]:
        raise SettingError(
            f"the base row {base!r} takes no part. Add it to --rows, or choose another --base."
        )
    started = time_now()
    rows, running = prepare(candidates, settings.threads, settings.batch, settings.throughput_batch, progress)
    if not running:
        raise SettingError(f"nothing can be measured here: {_reasons(rows)}.")
    against = base if base in running else next(iter(running))
    said = list(notes)
    if base not in (None, against):
        said.append(f"{base} is not available, so ratios are to {against}.")
    if settings.threads > len(usable_cores()):
        said.append(f"{settings.threads} threads were asked for, but there are {len(usable_cores())} cores.")
    before, load = cpu_time(), load_average()
    meter = find_meter()
    energy: dict[str, Any] = {"meter": None, "idle_watts": [], "unmeasurable": None}
    interrupted = False
    with pinned(settings.threads) as cores:
        try:
            _sessions(rows, running, against, settings, progress("latency"))
            _processes(rows, running, settings, progress("fresh processes"))
            if isinstance(meter, str):
                energy["unmeasurable"] = meter
            else:
                energy["meter"] = meter.name
                _energy(rows, running, meter, energy["idle_watts"], settings, progress("energy"))
        except KeyboardInterrupt:
            interrupted = True
            if not rows[against].latency_ms:
                raise
    return BenchRecord(
        **asdict(replace(provenance_now(), started=started)),
        model=model,
        base=against,
        settings={
            **asdict(settings),
            **(about or {}),
            "cores": cores,
            "seed": SEED,
            "interval": INTERVAL_METHOD,
        },
        kernel=describe(),
        noise={**judge_noise(rows[against].latency_ms, before, cpu_time()), "load_before": load},
        energy=energy,
        rows=tuple(rows.values()),
        notes=tuple(said),
        interrupted=interrupted,
    )


def _sessions(
    rows: Rows, running: Mapping[str, Running], base: str, settings: BenchSettings, progress: Progress
) -> None:
    """Add the times of each session to the rows."""
    random = np.random.default_rng(SEED)
    every: dict[str, int] = {}
    with closing(running):
        for number in range(settings.sessions):
            progress(number, settings.sessions)
            load_for_session(running, number, random)
            calls = calls_of(running)
            every = every or strides(calls, base)
            warm_up = take_turns(calls, settings.warm_up, every, random)
            latency = take_turns(calls, settings.rounds, every, random, settings.settle)
            throughput: dict[str, list[float]] = {}
            if settings.throughput_rounds and number % THROUGHPUT_EVERY == 0:
                batches = {
                    name: each.call(each.larger) for name, each in running.items() if each.larger is not None
                }
                take_turns(batches, 1, every, random)  # warms up
                throughput = take_turns(batches, settings.throughput_rounds, every, random)
            for name, each in running.items():
                rows[name] = replace(rows[name], every=every[name], loads=max(each.loads, 1))
                rows[name].warm_up_ms.append(warm_up[name])
                rows[name].latency_ms.append(latency[name])
                rows[name].throughput_ms.append(throughput.get(name, []))
    progress(settings.sessions, settings.sessions)


def _processes(
    rows: Rows, running: Mapping[str, Running], settings: BenchSettings, progress: Progress
) -> None:
    """Add what fresh processes took to the rows, the rows taking turns."""
    due = [
        (name, each)
        for number in range(settings.processes)
        for name, each in running.items()
        if number < SLOW_PROCESSES or not each.candidate.stays_open
    ]
    for done, (name, each) in enumerate(due):
        progress(done, len(due))
        opens = each.candidate.open
        opener = None if opens is open_file else f"{opens.__module__}:{opens.__name__}"
        try:
            rows[name].processes.append(
                fresh_process(
                    str(each.path), each.candidate.engine, settings.threads, each.inputs.shape, opener
                )
            )
        except RuntimeError as e:
            rows[name].notes.append(f"no memory and start-up: {e}")
    progress(len(due), len(due))


def _energy(
    rows: Rows,
    running: Mapping[str, Running],
    meter: Meter,
    idle: list[float],
    settings: BenchSettings,
    progress: Progress,
) -> None:
    """Add blocks of calls to the rows, and the power of the idle machine before each round of blocks."""
    with closing(running):
        load_for_session(running, 0, np.random.default_rng(SEED))
        calls = calls_of(running)
        for number in range(BLOCKS):
            idle.append(idle_watts(meter, settings.energy_seconds))
            for done, (name, call) in enumerate(calls.items()):
                progress(number * len(calls) + done, BLOCKS * len(calls))
                rows[name].energy.append(measure_block(meter, call, settings.energy_seconds)._asdict())
    progress(BLOCKS * len(calls), BLOCKS * len(calls))


def _reasons(rows: Rows) -> str:
    """Return why nothing can be measured, each reason once."""
    by_reason: dict[str, list[str]] = {}
    for name, row in rows.items():
        by_reason.setdefault((row.unavailable or "").rstrip("."), []).append(name)
    return "; ".join(f"{reason} ({', '.join(names)})" for reason, names in by_reason.items())
