"""Give the inputs of one attack from a number on, and write down how each ended before the next begins.

    python -m hostile.child NAME FIRST END TOLD [MODULE]

TOLD gets a line for each input: its number, how long it took in ms, how it ended. So whoever watches this
process knows at which input it died, or does not come to an end. MODULE has the table of attacks.
"""

import importlib
import resource
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from hostile.attack import tried

MOST_BYTES = 8 << 30
"""Of memory in all: an input that wants more ends as a MemoryError, and not as a machine that swaps."""


def main(name: str, first: str, end: str, told: str, module: str = "hostile.table") -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    attack = importlib.import_module(module).ATTACKS[name]
    with ExitStack() as stack, Path(told).open("a", buffering=1) as lines:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        attempt = attack.begin(folder, stack)
        lines.write("begun\n")
        for number in range(int(first), int(end)):
            started = time.perf_counter()
            ending = tried(attempt, number)
            taken = (time.perf_counter() - started) * 1000
            lines.write(f"{number} {taken:.1f} {' '.join(ending.split())[:1000]}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
