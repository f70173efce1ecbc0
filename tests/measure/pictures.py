"""What a picture of bars shows, read from its SVG."""

import re
from html import unescape


def bars_in(svg: str) -> dict[str, float]:
    """Return the length of each bar by its name."""
    bars = {}
    for name, path in re.findall(r'<g id="((?:latency|ratio) [^"]*)">\s*<path d="([^"]*)"', svg):
        across = [float(x) for x in re.findall(r"[ML] ([\d.]+) ", path)]
        bars[unescape(name)] = max(across) - min(across)
    return bars
