"""Write down what model files say on this machine, or compare it with what was written down on another.

    python check_files.py record CASES
    python check_files.py compare CASES

CASES is a folder of NAME.onnx. Recording puts NAME.native.npz and NAME.portable.npz beside each: random
inputs, and the logits, distance and shift with the native kernel and with standard operators. There may be a
NAME.stored.npz too, from the day the file was made. Comparing runs every path of the kernel that the
processor has, verifies the files, and exits 1 if anything differs.

It runs under qemu with the package, numpy and ONNX Runtime only: no pytest.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from leantta.files import replacing
from leantta.runtime import kernel
from leantta.runtime.prediction import Outputs
from leantta.runtime.selftest import SelfTest
from leantta.runtime.session import Session, load
from leantta.runtime.verify import verify

Arrays = Mapping[str, NDArray[Any]]

ENGINES = {"native": "onnxruntime", "portable": "onnxruntime-portable"}

SAME = 1e-4
"""Values are the same if they differ by at most this, of 1 + the value.

Sums of int8 products are exact on every machine. The gate, scale and offset are float32: a machine that
rounds or adds in another order is off by about 1e-6 of the value, which the next rounding to int8 removes.
"""
ALL = 1.0
"""The share of inputs of which the kernel must say the same on another machine: its sums are exact, too."""
HALF = 0.5
"""The share of inputs of which everything else must say the same; a formula that differs leaves none.

It cannot be all. The means of the standard operators are sums of float32, and where a value lies on the edge
between two codes, their 1e-6 moves it to the other one: in a ResNet18 one of the 65,536 values of a layer
did, and the layers after it made that visible. Such an input must still be within the tolerance that the file
states for its logits, and within MEASURES for the rest. With 0.25, a shift that is off by 1 % would pass.
"""
MEASURES = 0.01
"""What distance and shift may differ by when a value was rounded to the code beside, of 1 + their value."""
INPUTS = 8
BATCHES = (1, 3)


class Finding(NamedTuple):
    """One comparison, and what came of it."""

    name: str
    ok: bool
    detail: str


def answers(session: Session, images: NDArray[Any]) -> Arrays:
    """Return what the model says of the inputs, given to it in batches of one and of three by turns."""
    outputs: list[Outputs] = []
    while len(images):
        size = BATCHES[len(outputs) % len(BATCHES)]
        outputs.append(session.run(images[:size]))
        images = images[size:]
    parts = {name: [getattr(found, name) for found in outputs] for name in ("logits", "distance", "shift")}
    return {name: np.concatenate(values) for name, values in parts.items() if values[0] is not None}


def compare(name: str, found: Arrays, wanted: Arrays, tolerance: float, least: float) -> Finding:
    """Return whether no input differs too much, and at least the share `least` of them are the same."""
    allowed, same = True, np.ones(len(wanted["logits"]), bool)
    worst = []
    for key, values in wanted.items():
        if key not in found or found[key].shape != values.shape:
            return Finding(name, False, f"{key} is missing or has another shape")
        gap = np.abs(found[key].astype(np.float64) - values).reshape(len(values), -1)
        size = 1 + np.abs(values).reshape(gap.shape)
        limit = tolerance if key == "logits" else MEASURES * size
        allowed = allowed and bool((gap <= limit).all())  # false with NaN, as is the next
        same &= (gap <= SAME * size).all(axis=1)
        worst.append(f"{key} {gap.max():.2g}")
    ok = allowed and bool(same.mean() >= least)
    return Finding(name, ok, f"{same.sum()} of {len(same)} the same, largest difference {', '.join(worst)}")


def check_kernel() -> Finding:
    """Return whether sessions have the kernel: without it only standard operators would be compared."""
    return Finding("kernel", kernel.register(onnxruntime.SessionOptions()), kernel.describe())


def check_file(path: Path) -> Iterator[Finding]:
    """Give all comparisons of one file."""
    yield from check_engine(path, "portable", "portable")
    before = dict(os.environ)
    try:
        for way in kernel.paths():
            os.environ["LEANTTA_PATH"] = way
            yield from check_engine(path, "native", way)
    finally:
        os.environ.clear()
        os.environ.update(before)


def check_engine(path: Path, kind: str, name: str) -> Iterator[Finding]:
    """Give the comparisons of one file with one engine, as `name` in what is said."""
    bad = [check for check in verify(path, engine=ENGINES[kind]) if not check.ok]
    detail = "; ".join(f"{check.name}: {check.detail}" for check in bad) or "whole, and its self-test holds"
    yield Finding(f"{name}, verified", not bad, detail)
    with load(path, engine=ENGINES[kind], threads=1) as session:
        tolerance = session.info.selftest.tolerance
        for other in (*ENGINES, "stored"):
            beside = path.with_suffix(f".{other}.npz")
            if other == "stored" and not beside.exists():
                continue
            wanted = dict(np.load(beside))
            images, followed = wanted.pop("images"), wanted.pop("followed", None)
            found = answers(session, images)
            least = ALL if kind == other == "native" else HALF
            yield compare(f"{name} against {other}", found, wanted, tolerance, least)
            if followed is not None:
                with load(path, engine=ENGINES[kind], threads=1, memory=True) as stream:
                    in_order = {"logits": stream.predict(images)}
                yield compare(f"{name} along a stream", in_order, {"logits": followed}, tolerance, HALF)


def random_inputs(stored: SelfTest) -> NDArray[Any]:
    """Return inputs of the kind that the self-test has, the same in every run."""
    generator, shape = np.random.default_rng(0), (INPUTS, *stored.shape[1:])
    if stored.dtype == "uint8":
        return generator.integers(0, 256, shape, np.uint8)
    return generator.standard_normal(shape, np.float32)


def record(path: Path) -> None:
    """Write beside a file what each engine says of random inputs."""
    for kind, engine in ENGINES.items():
        with load(path, engine=engine, threads=1) as session:
            images = random_inputs(session.info.selftest)
            found = answers(session, images)
        with replacing(path.with_suffix(f".{kind}.npz")) as part, part.open("wb") as f:
            np.savez(f, allow_pickle=False, images=images, **found)


def main(task: str, cases: Path) -> int:
    """Do the task for all files of a folder; return the code to exit with."""
    failed, files = not told("", check_kernel()), sorted(cases.glob("*.onnx"))
    for path in files:
        if task == "record":
            record(path)
        else:
            failed |= not all([told(f"{path.stem}: ", finding) for finding in check_file(path)])
    return int(failed or not files)


def told(start: str, finding: Finding) -> bool:
    """Say what was found, and return whether it is well."""
    sys.stdout.write(f"  {'ok  ' if finding.ok else 'FAIL'} {start}{finding.name}: {finding.detail}\n")
    sys.stdout.flush()
    return finding.ok


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
