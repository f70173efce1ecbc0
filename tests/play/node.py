"""The page's modules run by node, so that they can be compared with Python's own answers."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from leantta.play.site import PAGE

NODE = shutil.which("node")

needs_node = pytest.mark.skipif(NODE is None, reason="node, which runs the page's modules, is not installed")


def in_node(folder: Path, script: str, given: object) -> Any:
    """Run a script beside the page's modules; `given` is there as JSON, and it must set `result`."""
    assert NODE
    for module in PAGE.glob("*.js"):
        shutil.copy(module, folder)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "given.json").write_text(json.dumps(given))
    (folder / "run.js").write_text(
        'import { readFileSync, writeFileSync } from "node:fs";\n'
        'const given = JSON.parse(readFileSync("given.json"));\nlet result = null;\n'
        f'{script}\nwriteFileSync("result.json", JSON.stringify(result));\n'
    )
    done = subprocess.run([NODE, "run.js"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "result.json").read_text())
