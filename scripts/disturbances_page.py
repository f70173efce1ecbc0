"""Put the tables of the disturbances that we fit on into docs/disturbances.md.

python scripts/disturbances_page.py
"""

import re
from pathlib import Path

from leantta.disturbances.library.tables import LIBRARIES, described

PAGE = Path(__file__).resolve().parents[1] / "docs" / "disturbances.md"


def tables() -> dict[str, str]:
    """Return the table of each modality in Markdown, between the comments that hold its place."""
    return {
        name: f"<!-- {name}: made by scripts/disturbances_page.py -->\n{described(library).markdown()}\n"
        f"<!-- end of {name} -->"
        for name, library in LIBRARIES.items()
    }


def main() -> None:
    """Write the tables into the page."""
    page = PAGE.read_text()
    for name, table in tables().items():
        place = re.search(rf"<!-- {name}: .*?<!-- end of {name} -->", page, flags=re.DOTALL)
        if place is None:
            raise SystemExit(f"{PAGE} has no place for {name}. Put this there:\n{table}")
        page = page[: place.start()] + table + page[place.end() :]
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
