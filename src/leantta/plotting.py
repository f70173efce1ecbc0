"""Figures drawn with matplotlib, written so that the same values give the same file.

An SVG keeps its text as text. Each file says which values it shows: a hash of them stands in its metadata, so
a test can tell whether a stored figure is of the records at hand, whatever version of matplotlib drew it.
Needs the extra `bench`.
"""

import hashlib
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leantta.errors import SettingError
from leantta.records.provenance import canonical

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "leantta",
    "pdf.fonttype": 42,
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
}
FORMATS = ("svg", "pdf", "png")

BLUE, ORANGE, GREEN, RED, PURPLE, SKY, GREY = (
    *("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9"),
    "#767676",
)
"""Colours that people with any kind of colour vision tell apart (Okabe and Ito), and a grey beside them."""


@contextmanager
def new_figure(width: float, height: float) -> Iterator["Figure"]:
    """Give an empty figure of so many inches in the style of this project, without any window."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):  # type: ignore[arg-type] # its keys are too many to name
        yield Figure(figsize=(width, height), layout="constrained")


def digest_of(values: object) -> str:
    """Return the hash that a figure of these plain JSON values carries."""
    return hashlib.sha256(canonical(values).encode()).hexdigest()[:16]


def drawn(figure: "Figure", kind: str, values: object) -> bytes:
    """Return the figure as the bytes of a file of one of the formats; `values` are what it shows.

    Raises:
        SettingError: there is no such format.
    """
    if kind not in FORMATS:
        raise SettingError(f"a figure is written as {', '.join(FORMATS)}, not as {kind!r}")
    metadata: dict[str, Any] = {
        "svg": {"Date": None, "Creator": None, "Description": f"values {digest_of(values)}"},
        "pdf": {"CreationDate": None, "Keywords": f"values {digest_of(values)}"},
        "png": {"Software": None, "Description": f"values {digest_of(values)}"},
    }[kind]
    stream = io.BytesIO()
    figure.savefig(stream, format=kind, metadata=metadata, dpi=150)
    return stream.getvalue()


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A figure that is drawn when it is written."""

    name: str = ""  # of its files, without the ending
    caption: str = ""
    size: tuple[float, float]  # inches
    values: Any  # what it shows, as plain JSON values
    draw: Callable[["Figure"], None]

    def drawn(self, kind: str) -> bytes:
        """Return the file of one of the formats of `FORMATS`."""
        with new_figure(*self.size) as figure:
            self.draw(figure)
            return drawn(figure, kind, self.values)


def digest_in(svg: str) -> str | None:
    """Return the hash of the values that an SVG of ours shows; None if it has none."""
    match = re.search(r"values ([0-9a-f]{16})", svg)
    return None if match is None else match.group(1)
