"""Fetches onnxruntime-web for the page of `leantta play`, so that a wheel built here has it.

python scripts/web_engine.py
"""

import sys

from leantta.play.web_engine import FOLDER, PACKAGE, fetch, is_there


def main() -> None:
    """Fetch what is not there."""
    if not is_there():
        fetch()
    sys.stdout.write(f"{PACKAGE} is in {FOLDER}\n")


if __name__ == "__main__":
    main()
