"""How long reproductions took: a list in one JSON file, an entry for each that came to its end."""

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from leantta.errors import RecordError
from leantta.evaluate.machine import command_line, describe_machine
from leantta.measure.record import write_json

NAME = "run_times.json"


def note_time(folder: Path, *, seconds: float, workers: int, done: int, failed: int) -> None:
    """Add what a reproduction took to the list in its folder of records.

    Raises:
        StorageError: it cannot be written.
        RecordError: what is there is no such list.
    """
    entry = {
        "ended": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "command": command_line(),
        "seconds": round(seconds, 1),
        "processes": workers,
        "jobs": done,
        "failed": failed,
        "machine": describe_machine(),
    }
    write_json({"runs": [*times(folder), entry]}, folder / NAME)


def times(folder: Path) -> list[dict[str, Any]]:
    """Return what the reproductions took whose records are in a folder, the oldest first.

    Raises:
        RecordError: the file is something else.
    """
    path = folder / NAME
    try:
        return list(json.loads(path.read_text(encoding="utf-8"))["runs"])
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise RecordError(f"{path} is no list of times: {e!r}. Remove it.") from e
