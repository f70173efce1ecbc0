"""How an image of any size becomes what a model takes: scaled, cut, padded, normalized.

The same steps as in the training code of most networks: resize, then cut the centre or pad, then
(pixels / 255 - mean) / std, channel by channel. A model file carries this description, so whoever runs it
cannot get it wrong.
"""

from dataclasses import dataclass
from typing import Literal

Interpolation = Literal["nearest", "bilinear", "bicubic", "lanczos"]
ColourOrder = Literal["rgb", "bgr", "grey"]


@dataclass(frozen=True, kw_only=True)
class Preprocessing:
    """What happens to an image (h, w, 3) of bytes, in this order."""

    resize: int | tuple[int, int] | None = None  # the short side, or exactly (height, width); None: as it is
    interpolation: Interpolation = "bilinear"
    crop: tuple[int, int] | None = None  # height and width that are cut out of the centre
    pad: tuple[int, int] | None = None  # height and width; smaller images lie in the middle of grey `fill`
    fill: int = 0
    colours: ColourOrder = "rgb"
    mean: tuple[float, ...] | None = None  # per channel, of pixels between 0 and 1; None: not normalized
    std: tuple[float, ...] | None = None
