"""Fetches onnxruntime-web for the page of `leantta play`, so that a wheel built here has it.

python scripts/web_engine.py
"""

from leantta.play.web_engine import FOLDER, PACKAGE, fetch, is_there


def main() -> None:
    """Fetch what is not there."""
    if not is_there():
        fetch()
    print(f"{PACKAGE} is in {FOLDER}")


if __name__ == "__main__":
    main()
