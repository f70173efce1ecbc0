"""Chromium as the tests see it: a page that is driven by Playwright's own calls, in a process of node."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SETUP = "scripts/browser_setup.sh installs it"


def missing() -> str | None:
    """Say what is missing to run a page, if anything is."""
    from leantta.play.web_engine import is_there

    if shutil.which("node") is None or not (HERE / "node_modules" / "playwright-core").is_dir():
        return f"playwright-core for node is not there; {SETUP}"
    if CHROMIUM is None:
        return f"Chromium is not there; {SETUP}"
    return None if is_there() else f"onnxruntime-web is not there; {SETUP}"


class Browser:
    """A running Chromium with one page."""

    def __init__(self, *arguments: str) -> None:
        assert CHROMIUM
        command = ["node", "browser.mjs", CHROMIUM, "--no-sandbox", *arguments]
        self._process = subprocess.Popen(
            command, cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __call__(self, command: str, *given: object) -> Any:
        """Call a method of Playwright's page, or `open`, `until`, `press` or `told` of browser.mjs."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"command": command, "given": given}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def open(self, url: str, **options: object) -> None:
        """Open a page in a fresh context, and wait until the model or the reason against it is there."""
        self("open", url, options)
        loaded = "document.querySelector('#model').textContent.includes('MB')"
        self("until", f"{loaded} || document.querySelector('#status').className.includes('error')")

    def answer(self, more_than: int = 0) -> dict[str, dict[str, Any]]:
        """Return the last answer, once there are more than so many."""
        self("until", f"window.answers.length > {more_than}")
        last: dict[str, dict[str, Any]] = self("evaluate", "window.answers.at(-1)")
        return last

    def count(self) -> int:
        """Return how many answers there have been."""
        return int(self("evaluate", "window.answers.length"))

    def close(self) -> None:
        """End the browser."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()
