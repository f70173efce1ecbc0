"""Options that several commands share, and the texts that they take."""

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leantta import plugins
from leantta.gates.gate import Gate
from leantta.gates.table import DEFAULT_GATE, GATES
from leantta.surgery.adaptation import DEFAULT_LAYERS

if TYPE_CHECKING:
    TextType = click.ParamType[str]
    AnyType = click.ParamType[Any]
else:  # before 8.4, click's type takes no other in brackets
    TextType = AnyType = click.ParamType


class Brought(TextType):
    """A name that an installed package brings; a wrong one is wrong usage."""

    def __init__(self, kind: plugins.Kind) -> None:
        self.kind, self.name = kind, kind.removesuffix("s")

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name."""
        known = plugins.brought(self.kind)
        if value not in known:
            self.fail(str(plugins.unknown(self.kind, value, known)), param, ctx)
        return value


weights = click.option(
    "--weights",
    type=click.Path(path_type=Path),
    help="File of weights: safetensors, .pt or .pth, of which only tensors are read. Default: those the\n"
    "model comes with; of a named model weights/MODEL_DATASET.safetensors.",
)
prefix = click.option(
    "--prefix",
    help="What stands before the names that are meant in the file of weights, such as ema.module.\n"
    "Default: what fits the model best.",
)
images = click.option(
    "--images",
    required=True,
    type=click.Path(path_type=Path),
    help="CIFAR: an .npz (x_train y_train x_test y_test) or a folder in an official layout.\n"
    "har: an .npz (x y subject) or the folder UCI HAR Dataset.\n"
    "imagenet: a folder of files such as 007_cock.jpg.",
)
dataset = click.option(
    "--dataset",
    type=Brought("datasets"),
    help="Gives the classes and the normalisation. [default: that of a named model]",
)
adapt = click.option(
    "--adapt",
    "layers",
    default=DEFAULT_LAYERS,
    show_default=True,
    help="Which BatchNorms adapt: all, none, half (the first), ends (and the last four),\n"
    "sixteen (of that half, evenly apart), a number (the first N), a fraction, or names and\n"
    "globs. The default is ends for the shift filter, which chooses among them, else half.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines instead of tables.")


def gate_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of all gates to a command, which is given the gate that they mean."""
    settings = {each.name: each for kind in GATES.values() for each in kind.known()}
    first = sorted(
        GATES.values(), key=lambda kind: kind.name != DEFAULT_GATE.name
    )  # the default before others

    @wraps(command)
    def with_gate(*, gate: str, **others: Any) -> Any:
        told = {name: others.pop(name) for name in settings}
        return command(gate=_gate_from(gate, told), **others)

    options = [
        click.option(
            "--gate",
            type=click.Choice(list(GATES)),
            default=DEFAULT_GATE.name,
            show_default=True,
            help=" ".join(
                ["How far a layer follows an input.", *(f"{kind.name}: {kind.summary}" for kind in first)]
            ),
        ),
        *(click.option(f"--{each.key}", name, type=float, help=each.help) for name, each in settings.items()),
    ]
    for option in reversed(options):
        with_gate = option(with_gate)
    return with_gate


def _gate_from(name: str, told: Mapping[str, float | None]) -> Gate:
    """Return the gate that the options mean; an option of another gate is wrong usage."""
    own = {each.name for each in GATES[name].known()}
    for other, kind in GATES.items():
        foreign = [each for each in kind.known() if each.name not in own]
        if any(told[each.name] is not None for each in foreign):
            names = ", ".join(f"--{each.key}" for each in foreign)
            raise click.UsageError(f"{names} need --gate {other}; this is --gate {name}.")
    return GATES[name].default().changed(**{key: v for key, v in told.items() if v is not None})


def parts(text: str) -> list[str]:
    """Return the parts of a comma-separated text.

    >>> parts("none, leantta")
    ['none', 'leantta']
    """
    texts = [part.strip() for part in text.split(",") if part.strip()]
    if not texts:
        raise click.UsageError(f"{text!r} names nothing.")
    return texts


def decimals(text: str | None, what: str) -> tuple[float, ...] | None:
    """Return the numbers of a comma-separated text, None of no text.

    >>> decimals("0.5,0.25", "mean")
    (0.5, 0.25)
    """
    if text is None:
        return None
    try:
        return tuple(float(part) for part in parts(text))
    except ValueError as e:
        raise click.UsageError(f"{what} has numbers with commas between them, got {text!r}.") from e


def height_and_width(text: str | None) -> tuple[int, int] | None:
    """Return the two numbers of a size, None of no text."""
    if text is None:
        return None
    sizes = numbers(text, "height and width")
    if len(sizes) != 2 or min(sizes) < 1:
        raise click.UsageError(f"a size is a height and a width with a comma between them, got {text!r}.")
    return sizes[0], sizes[1]


def numbers(text: str, what: str) -> list[int]:
    """Return the whole numbers of a comma-separated text.

    >>> numbers("0,1,2", "seeds")
    [0, 1, 2]
    """
    try:
        return [int(part) for part in parts(text)]
    except ValueError as e:
        raise click.UsageError(f"{what} are whole numbers with commas between them, got {text!r}.") from e
