"""The words that say how an image is prepared: a command line can offer them and loads nothing for it."""

from typing import Literal, get_args

Size = tuple[int, int]
"""Height and width."""

Interpolation = Literal["nearest", "bilinear", "bicubic", "lanczos"]
Side = Literal["short", "long"]
ColourOrder = Literal["rgb", "bgr", "grey"]
Layout = Literal["channels_first", "channels_last"]

INTERPOLATIONS: tuple[Interpolation, ...] = get_args(Interpolation)
SIDES: tuple[Side, ...] = get_args(Side)
COLOURS: tuple[ColourOrder, ...] = get_args(ColourOrder)
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
