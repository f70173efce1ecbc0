"""What to run after a trial: the command that converts the model as it was tried."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from leantta.data.preprocess import Preprocessing

if TYPE_CHECKING:
    from leantta.trial.request import Trial


def convert_command(trial: "Trial", how: Preprocessing, assumed: bool) -> str | None:
    """Return how the model is converted, but for the setting; None if there are files only."""
    if trial.model is None:
        return None
    words = ["leantta", "convert", trial.model]
    told: list[tuple[str, object]] = [
        ("weights", trial.weights),
        ("prefix", trial.prefix),
        ("calibration", trial.calibration or trial.images),
        ("classes", trial.classes),
    ]
    if assumed or trial.preprocessing or trial.mean:
        told += [(name, _flag(getattr(how, name))) for name in FLAGS if name in how.to_json()]
        if how.side == "long":
            told = [("long-side" if name == "resize" else name, value) for name, value in told]
    for name, value in told:
        if value is not None:
            words += [f"--{name}", str(value)]
    if how.layout == "channels_last":
        words.append("--channels-last")
    name = trial.model.split(":")[-1] if trial.model.startswith(("timm:", "torchvision:")) else trial.model
    return f"{shlex.join(words)} -o {Path(name.partition(':')[0]).stem}.onnx"


FLAGS = ("resize", "pad", "fill", "crop", "interpolation", "colours", "mean", "std")


def _flag(value: object) -> str | None:
    """Return a size, a word or numbers as an option takes them."""
    if isinstance(value, tuple):
        size = len(value) == 2 and all(isinstance(each, int) for each in value)
        return ("x" if size else ",").join(f"{each:g}" for each in value)
    return None if value is None else str(value)


def described(how: Preprocessing) -> str:
    """Return how images are taken, with the statistics, in words."""
    numbers = [",".join(f"{value:g}" for value in values or ()) for values in (how.mean, how.std)]
    steps = how.described() if how.size or how.resize else f"not scaled, {how.colours}"
    return f"{steps}, mean {numbers[0]}, std {numbers[1]}"
