"""What model files say in a process that has other packages than this one."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

SCRIPT = Path(__file__).with_name("say.py")
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")


class Said(NamedTuple):
    """What came of `say.py`."""

    arrays: Mapping[str, NDArray[Any]]
    native: Mapping[str, bool]
    version: str
    stderr: str


def say(cases: Sequence[Path], folder: Path, packages: Sequence[Path]) -> Said:
    """Run the files with the packages of these folders and no others."""
    out = folder / "said.npz"
    done = subprocess.run(
        [sys.executable, "-S", SCRIPT, out, *cases],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, packages))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    return Said(dict(np.load(out)), told["native"], told["version"], done.stderr)


def install(folder: Path, *wanted: str | Path) -> Path:
    """Install packages into a folder of their own."""
    subprocess.run([*PIP, "install", "--only-binary=:all:", "--target", folder, *wanted], check=True)
    return folder
