"""What a fresh process needs to load a model and run it: time and peak memory.

Run by `fresh_process` as a program of its own; it loads as little as the engine allows, so that what is
measured is the engine's.
"""

import sys
import time
from collections.abc import Iterator

RUNS = 3
"""Predictions that the process makes before its peak memory is read."""

_PROGRAM = "import time; start = time.perf_counter(); from leantta.measure.probe import main; main(start)"


def fresh_process(path: str, engine: str, threads: int, shape: tuple[int, ...]) -> dict[str, float | None]:
    """Return what a new process took: import_ms, load_ms, first_ms and peak_rss_bytes.

    `shape` is that of the inputs, the batch first. The peak is None where the system does not say.
    """
    import json
    import subprocess

    sizes = ",".join(map(str, shape))
    command = [sys.executable, "-c", _PROGRAM, path, engine, str(threads), sizes]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise RuntimeError(f"the fresh process failed: {lines[-1]}")
    found: dict[str, float | None] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(started: float) -> None:
    """Load and run what the arguments name, and print what it took as JSON."""
    path, engine, threads, sizes = sys.argv[1:]
    shape = tuple(map(int, sizes.split(",")))
    run = (_plain if engine == "plain" else _torch if engine.startswith("torch") else _ours)(
        path, engine, int(threads), shape
    )
    imported = next(run)
    loaded = next(run)
    first = next(run)
    for _ in range(RUNS - 1):
        next(run)
    peak = high_water_mark_bytes()
    import json  # here, so that it does not count

    seconds = {"import": imported - started, "load": loaded - imported, "first": first - loaded}
    times = {f"{name}_ms": round(value * 1e3, 3) for name, value in seconds.items()}
    sys.stdout.write(json.dumps({**times, "peak_rss_bytes": peak}) + "\n")


def _plain(path: str, _: str, threads: int, shape: tuple[int, ...]) -> Iterator[float]:
    """Give the time after importing, after loading, and after each run."""
    import numpy as np
    import onnxruntime

    yield time.perf_counter()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    port = session.get_inputs()[0]
    inputs = np.zeros(shape, np.uint8 if port.type == "tensor(uint8)" else np.float32)
    yield time.perf_counter()
    while True:
        session.run(None, {port.name: inputs})
        yield time.perf_counter()


def _ours(path: str, engine: str, threads: int, shape: tuple[int, ...]) -> Iterator[float]:
    """Do the same as people do it: with `leantta.load`."""
    import numpy as np

    if engine == "openvino":
        import openvino  # noqa: F401 - counts as import, not as loading
    else:
        import onnxruntime  # noqa: F401 - counts as import, not as loading
    import leantta

    load = leantta.load
    yield time.perf_counter()
    session = load(path, engine=engine, threads=threads)
    yield time.perf_counter()
    inputs = np.zeros((shape[0], *session.info.input.shape), np.float32)  # also of a model that takes pixels
    while True:
        session.predict(inputs)
        yield time.perf_counter()


def _torch(path: str, engine: str, threads: int, shape: tuple[int, ...]) -> Iterator[float]:
    """Do the same with a module that torch saved."""
    from pathlib import Path

    import numpy as np
    import torch  # noqa: F401 - counts as import, not as loading

    from leantta.measure.subjects import Subject, open_subject

    yield time.perf_counter()
    opened = open_subject(Subject(Path(path), engine), threads)
    yield time.perf_counter()
    inputs = np.zeros(shape, np.float32)
    while True:
        opened.run(inputs)
        yield time.perf_counter()


def high_water_mark_bytes() -> int | None:
    """Return the peak memory of this process; getrusage would count that of its parent before exec, too."""
    try:
        with open("/proc/self/status") as status:  # noqa: PTH123 - pathlib is a megabyte that would count
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None
