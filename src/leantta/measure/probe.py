"""What a fresh process needs to load a model and run it: time and peak memory.

Run by `fresh_process` as a program of its own; it loads as little as the engine allows, so that what is
measured is the engine's.
"""

import sys
import time
from collections.abc import Callable

RUNS = 3
"""Predictions that the process makes before its peak memory is read."""

Run = Callable[[], object]
Load = Callable[[str, str, int, tuple[int, ...]], Run]  # path, engine, threads, shape of the inputs

_PROGRAM = "import time; start = time.perf_counter(); from leantta.measure.probe import main; main(start)"


def fresh_process(
    path: str, engine: str, threads: int, shape: tuple[int, ...], opener: str | None = None
) -> dict[str, float | None]:
    """Return what a new process took: import_ms, load_ms, first_ms and peak_rss_bytes.

    `shape` is that of the inputs, the batch first. `opener` is the `module:function` that opens the file if
    the engine is none of the tool's. The peak is None where the system does not say.
    """
    import json
    import subprocess

    sizes = ",".join(map(str, shape))
    command = [sys.executable, "-c", _PROGRAM, path, engine, str(threads), sizes, opener or ""]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise RuntimeError(f"the fresh process failed: {lines[-1]}")
    taken: dict[str, float | None] = json.loads(done.stdout.splitlines()[-1])
    return taken


def main(started: float) -> None:
    """Load and run what the arguments name, and print what it took as JSON."""
    path, engine, threads, sizes, opener = sys.argv[1:]
    shape = tuple(map(int, sizes.split(",")))
    load = _opener(opener) if opener else _plain() if engine == "plain" else _ours(engine)
    imported = time.perf_counter()
    run = load(path, engine, int(threads), shape)
    loaded = time.perf_counter()
    run()
    first = time.perf_counter()
    for _ in range(RUNS - 1):
        run()
    peak = high_water_mark_bytes()
    import json  # here, so that it does not count

    seconds = {"import": imported - started, "load": loaded - imported, "first": first - loaded}
    times = {f"{name}_ms": round(value * 1e3, 3) for name, value in seconds.items()}
    sys.stdout.write(json.dumps({**times, "peak_rss_bytes": peak}) + "\n")


def _plain() -> Load:
    """Import what runs anybody's file."""
    import numpy as np
    import onnxruntime

    def load(path: str, _: str, threads: int, shape: tuple[int, ...]) -> Run:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        port = session.get_inputs()[0]
        inputs = np.zeros(shape, np.uint8 if port.type == "tensor(uint8)" else np.float32)
        return lambda: session.run(None, {port.name: inputs})

    return load


def _ours(engine: str) -> Load:
    """Import what runs our files as people do it: with `leantta.load`."""
    import numpy as np

    if engine == "openvino":
        import openvino  # noqa: F401 - counts as import, not as loading
    else:
        import onnxruntime  # noqa: F401 - counts as import, not as loading
    from leantta.runtime.session import load as load_session

    def load(path: str, engine: str, threads: int, shape: tuple[int, ...]) -> Run:
        session = load_session(path, engine=engine, threads=threads)
        inputs = np.zeros((shape[0], *session.info.input.shape), np.float32)  # a model of pixels takes it too
        return lambda: session.predict(inputs)

    return load


def _opener(name: str) -> Load:
    """Import a `module:function` that opens files; what its module imports counts as import."""
    from importlib import import_module
    from pathlib import Path

    import numpy as np

    module, _, function = name.partition(":")
    open_file = getattr(import_module(module), function)

    def load(path: str, engine: str, threads: int, shape: tuple[int, ...]) -> Run:
        opened, inputs = open_file(Path(path), engine, threads), np.zeros(shape, np.float32)
        return lambda: opened.run(inputs)

    return load


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
