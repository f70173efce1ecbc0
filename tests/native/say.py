"""Write down what model files say under the ONNX Runtime that is on the path.

    python say.py OUT.npz FILE...

Each FILE.onnx has its inputs beside it, in FILE.npz. The last line that is printed is JSON: the version of
ONNX Runtime, and which files ran in the kernel.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from leantta.runtime.engines import open_engine
from leantta.runtime.session import load

ENGINES = ("onnxruntime", "onnxruntime-portable")


def main(out: Path, *files: Path) -> None:
    """Run every file with and without the kernel."""
    found: dict[str, Any] = {}
    native: dict[str, bool] = {}
    for path in files:
        for engine in ENGINES:
            with load(path, engine=engine, threads=1) as session:
                outputs = session.run(np.load(path.with_suffix(".npz"))["images"])
            found[f"{path.stem}/{engine}/logits"] = outputs.logits
            found[f"{path.stem}/{engine}/distance"] = outputs.distance
        native[path.stem] = open_engine("onnxruntime", path).native
    np.savez(out, **found)
    sys.stdout.write(json.dumps({"version": onnxruntime.__version__, "native": native}) + "\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
