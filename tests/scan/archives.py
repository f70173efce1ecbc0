"""Small archives to scan, and what came out of them."""

import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as datasets
import pyarrow.parquet as pq
from PIL import Image

from running import Done

POISON = b"\x89PNG poison"
"""An image of these bytes kills who reads it, where `poisoned` is said to Python."""


def png(seed: int) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (9, 12, 3), dtype=np.uint8)
    data = io.BytesIO()
    Image.fromarray(pixels).save(data, "PNG")
    return data.getvalue()


def photos(folder: Path, count: int, seed: int = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for place in range(count):
        (folder / f"{place:03d}.png").write_bytes(png(seed + place))
    return folder


def tar(path: Path, count: int, seed: int = 1000, mode: Any = "w") -> Path:
    with tarfile.open(path, mode) as archive:
        for place in range(count):
            for ending, data in ((".cls", b"1"), (".png", png(seed + place))):
                info = tarfile.TarInfo(f"{place:03d}{ending}")
                info.size, info.mtime = len(data), 1_700_000_000
                archive.addfile(info, io.BytesIO(data))
    return path


def table(path: Path, count: int, seed: int = 2000, **more: Sequence[Any]) -> Path:
    columns = {"image": [png(seed + place) for place in range(count)], "n": list(range(count)), **more}
    pq.write_table(pa.table(columns), path, row_group_size=7)
    return path


def rows(output: Path) -> list[dict[str, Any]]:
    """The rows of a scan, in the order of their inputs."""
    found = datasets.dataset(str(output / "parts")).to_table().to_pylist()
    return sorted(found, key=lambda row: (row["path"], (row["member"] or "").zfill(20), row["window"]))


def inputs(output: Path) -> list[tuple[str, str | None, int]]:
    return sorted(((row["path"], row["member"], row["window"]) for row in rows(output)), key=repr)


def failures(output: Path) -> dict[str, str]:
    """Why which inputs could not be read."""
    return {
        Path(row["path"]).name + (f": {row['member']}" if row["member"] else ""): row["error"]
        for row in rows(output)
        if row["error"]
    }


def same_rows(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> None:
    """Compare rows: numbers of a model to the last digits, all else exactly."""
    assert len(one) == len(other)
    for own, its in zip(one, other, strict=True):
        for name, value in own.items():
            wanted = its[name]
            if value is not None and name in ("probability", "probabilities", "shift", "distances"):
                np.testing.assert_allclose(value, wanted, rtol=0, atol=1e-6)
            else:
                assert value == wanted, name


def poisoned(folder: Path) -> dict[str, str]:
    """Return the environment in which POISON kills: a decoder with a hole in it, as decoders have had."""
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(
        "import os, signal\n"
        "from PIL import Image\n"
        "real = Image.open\n"
        "def opened(file, *words, **more):\n"
        "    begins = file.read(11)\n"
        "    file.seek(0)\n"
        f"    if begins == {POISON!r}:\n"
        "        os.kill(os.getpid(), signal.SIGSEGV)\n"
        "    return real(file, *words, **more)\n"
        "Image.open = opened\n"
    )
    return {**os.environ, "PYTHONPATH": str(folder)}


def leantta(*words: object, timeout: float = 120, **more: Any) -> Done:
    done = subprocess.run(
        [sys.executable, "-m", "leantta", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        **more,
    )
    return Done(done.returncode, done.stdout, done.stderr)
