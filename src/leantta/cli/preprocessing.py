"""Options that say how an image of any size becomes what a model takes."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leantta.cli import options
from leantta.data.words import COLOURS, INTERPOLATIONS, Size
from leantta.errors import SettingError

if TYPE_CHECKING:
    from leantta.data.preprocess import Preprocessing


class Sides(options.AnyType):
    """HxW, or one number: a square, or one side if `alone`."""

    name = "size"

    def __init__(self, *, alone: bool = False) -> None:
        self.alone = alone

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> int | Size:
        """Return the number or numbers."""
        sides = value.lower().split("x")
        if len(sides) > 2 or not all(side.strip().isdecimal() for side in sides):
            self.fail(f"a size is HxW or one number, e.g. 224x320 or 224; got {value!r}.", param, ctx)
        first, *others = map(int, sides)
        return first if self.alone and not others else (first, *(others or (first,)))


def preprocessing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add them to a command with options for mean and std, which is given the `preprocessing` they mean."""

    @wraps(command)
    def with_preprocessing(
        *,
        preprocess: Path | None,
        long_side: int | None,
        channels_last: bool,
        mean: str | None,
        std: str | None,
        **others: Any,
    ) -> Any:
        told = {name: value for name in _NAMES if (value := others.pop(name)) is not None}
        if long_side is not None:
            if "resize" in told:
                raise click.UsageError("--resize and --long-side both say how to scale; give one.")
            told |= {"resize": long_side, "side": "long"}
        elif isinstance(told.get("resize"), int):
            told["side"] = "short"
        if channels_last:
            told["layout"] = "channels_last"
        statistics = {"mean": options.decimals(mean, "--mean"), "std": options.decimals(std, "--std")}
        how = _described(preprocess, told, {k: v for k, v in statistics.items() if v is not None})
        return command(preprocessing=how, **statistics, **others)

    for option in reversed(_OPTIONS):
        with_preprocessing = option(with_preprocessing)
    return with_preprocessing


def _described(file: Path | None, told: dict[str, Any], statistics: dict[str, Any]) -> "Preprocessing | None":
    """Return what the file says, with what the options say instead; None if neither says how to fit."""
    from leantta.data.preprocess import Preprocessing, read_preprocessing

    if file is None and not told:
        return None
    if "fill" in told:
        told["fill"] = options.numbers(told["fill"], "the numbers of --fill")
        told["fill"] = told["fill"][0] if len(told["fill"]) == 1 else tuple(told["fill"])
    base = Preprocessing() if file is None else read_preprocessing(file)
    try:
        return replace(base, **told, **statistics)
    except SettingError as e:
        raise SettingError(f"preprocessing: {e}") from e


_NAMES = ("resize", "pad", "fill", "crop", "interpolation", "colours")
"""The fields of the description that an option gives as they are."""

_OPTIONS = (
    click.option(
        "--preprocess",
        type=click.Path(path_type=Path),
        help="JSON file with all of the following (docs/preprocessing.md); options go before it.",
    ),
    click.option(
        "--resize",
        type=Sides(alone=True),
        help="256: the short side, in proportion. 224x224: height x width.",
    ),
    click.option("--long-side", type=int, help="The long side, in proportion; usually with --pad."),
    click.option(
        "--pad", type=Sides(), help="At least this size: put a smaller image in the middle of --fill."
    ),
    click.option("--fill", help="0 to 255, or three of them by comma: red, green, blue.  [default: 0]"),
    click.option("--crop", type=Sides(), help="What is cut out of the centre, 224 or 224x320."),
    click.option(
        "--interpolation", type=click.Choice(INTERPOLATIONS), help="How to scale.  [default: bilinear]"
    ),
    click.option("--channels-last", is_flag=True, help="The torch model takes images (n, h, w, c)."),
    click.option(
        "--colours", type=click.Choice(COLOURS), help="What the model sees, in this order.  [default: rgb]"
    ),
)
