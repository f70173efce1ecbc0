"""A watch: inputs come, the model answers, the monitor judges, and the log, a hook and MQTT are told."""

import json
import math
import shlex
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leantta.errors import LeanTTAError, SettingError
from leantta.monitor.examples import Examples
from leantta.monitor.log import Log
from leantta.monitor.monitor import Event, Monitor
from leantta.monitor.mqtt import Mqtt
from leantta.monitor.sources import Answer, Input
from leantta.runtime.session import Session

HOOK_S = 60


@dataclass(kw_only=True)
class Summary:
    """What a watch saw."""

    inputs: int = 0
    shifted: int = 0
    errors: int = 0
    alarms: int = 0


@dataclass(frozen=True, kw_only=True)
class Listeners:
    """Who is told; each may be left out."""

    log: Log | None = None
    examples: Examples | None = None
    mqtt: Mqtt | None = None
    hook: str | None = None  # a command that gets each event as JSON on its standard input
    tell: Callable[[str], None] = lambda _: None  # lines for people


def watch(
    session: Session, inputs: Iterable[Input], monitor: Monitor, to: Listeners, summary: Summary
) -> None:
    """Follow inputs to their end, counting in `summary`: a watch may be broken off at any moment.

    Raises:
        LeanTTAError: a source ends with an error, or the log cannot be written.
    """
    if to.hook is not None:
        _command(to.hook)  # here, so that a wrong one shows before the first alarm
    for each in inputs:
        answer, error = each.answer, each.error
        if error is None and answer is None and each.values is not None:
            try:
                answer = answered(session, each.values)
            except LeanTTAError as e:
                error = e
        if answer is None:
            summary.errors += 1
            to.tell(f"error: {error}")
            _log(to, {"path": each.name, "error": str(error)})
            continue
        event = monitor.see(answer.shift, answer.distances)
        summary.inputs += 1
        summary.shifted += not answer.shift <= 1
        _log(to, {"path": each.name, **_told(answer)})
        if to.mqtt is not None:
            to.mqtt.state(answer.label, answer.probability, answer.shift, drift=monitor.alarmed)
        if to.examples is not None and answer.shift > 1 and _is_picture(each):
            to.examples.offer(answer.shift, monitor.seen, each.values)  # type: ignore[arg-type] # it is one
        if event is not None:
            summary.alarms += event.kind == "alarm"
            _spread(event, to)


def answered(session: Session, values: npt.NDArray[Any]) -> Answer:
    """Return what the model says of one input.

    Raises:
        DataError: the model does not take it.
    """
    seen = session.predict_one(values)
    assert seen.shift is not None  # the monitor was made of a file that measures it
    return Answer(seen.label or "", seen.probability or 0.0, seen.shift, seen.distances)


def _told(answer: Answer) -> dict[str, Any]:
    distances = answer.distances or {}
    return {
        "label": answer.label,
        "probability": round(answer.probability, 4),
        "shift": round(answer.shift, 4) if math.isfinite(answer.shift) else None,
        **({"distances": {name: round(value, 3) for name, value in distances.items()}} if distances else {}),
    }


def _log(to: Listeners, line: dict[str, Any]) -> None:
    if to.log is not None:
        to.log.add(line)


def _spread(event: Event, to: Listeners) -> None:
    """Tell everybody of an event."""
    to.tell(str(event))
    if to.log is not None:
        to.log.event(event)
    told = asdict(event)
    if to.mqtt is not None:
        to.mqtt.event(told)
    if to.hook is not None:
        to.tell(_run_hook(to.hook, json.dumps(told)))


def _command(hook: str) -> list[str]:
    try:
        words = shlex.split(hook)
    except ValueError as e:
        raise SettingError(f"the hook {hook!r} is no command: {e}") from e
    if not words:
        raise SettingError("the hook is empty; give a command, such as 'notify-send drift'")
    return words


def _run_hook(hook: str, told: str) -> str:
    """Run the command with the event on its standard input; return what came of it. It may fail: we go on."""
    try:
        done = subprocess.run(
            _command(hook), input=told.encode(), timeout=HOOK_S, check=False, capture_output=True
        )
    except (OSError, subprocess.TimeoutExpired) as e:
        return f"error: the hook {hook!r} failed: {e}"
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        return f"error: the hook {hook!r} ended with {done.returncode}: {' '.join(last)}"
    return f"the hook {hook!r} was called"


def _is_picture(one: Input) -> bool:
    values = one.values
    return values is not None and values.dtype == np.uint8 and values.ndim == 3 and values.shape[-1] in (1, 3)
