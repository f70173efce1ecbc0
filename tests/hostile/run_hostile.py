"""Give at least 100,000 hostile inputs to all readers and paths, and keep what came of them as a record.

    python tests/hostile/run_hostile.py [NAME ...]

Without names all attacks run, one after the other, and results/hostile.json and the table in
docs/reliability.md are written; with names only these, and nothing is written. It exits 1 if an input
crashed, hung, or was answered wrongly. An input is made of its number alone:
`python -m hostile.child NAME NUMBER END FILE`, in tests/, repeats it.
"""

import argparse
import sys
import time
from dataclasses import asdict
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS)]

from hostile.page import RECORD, write_page  # noqa: E402 - found by the line above
from hostile.table import ATTACKS  # noqa: E402
from hostile.watch import HANG_SECONDS, Tally, attacked  # noqa: E402
from leantta.files import replacing  # noqa: E402
from leantta.records.provenance import canonical, provenance_now  # noqa: E402
from leantta.runtime import kernel  # noqa: E402

SEED = 0


def told(name: str, tally: Tally, seconds: float) -> dict[str, object]:
    attack = ATTACKS[name]
    return {
        "name": name,
        "reader": attack.reader,
        "given": attack.inputs,
        "inputs": tally.inputs,
        "answered": tally.answered,
        "refused": tally.refused,
        "faults": {str(number): text for number, text in tally.faults.items()},
        "slowest_ms": tally.slowest_ms,
        "seconds": round(seconds, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(ATTACKS)}")
    names = parser.parse_args().names or list(ATTACKS)
    started_here = provenance_now()
    rows = []
    for name in names:
        started = time.monotonic()
        tally = attacked(name, SEED, SEED + ATTACKS[name].recorded)
        row = told(name, tally, time.monotonic() - started)
        rows.append(row)
        shown = {key: value for key, value in row.items() if key not in ("reader", "given")}
        sys.stdout.write(f"{shown}\n")
        sys.stdout.flush()
    if set(names) == set(ATTACKS):
        record = {
            "hostile": 1,
            "seed": SEED,
            "hang_seconds": HANG_SECONDS,
            "paths": kernel.paths(),
            "inputs": sum(int(str(row["inputs"])) for row in rows),
            "attacks": rows,
            **asdict(started_here),
        }
        with replacing(RECORD) as part:
            part.write_text(canonical(record) + "\n")
        write_page()
    sys.exit(any(row["faults"] for row in rows))


if __name__ == "__main__":
    main()
