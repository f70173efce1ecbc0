"""Options that several commands share, and the texts that they take."""

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

import click

from leantta.gates import DEFAULT_GATE, CalibratedGate, Gate, PaperGate
from leantta.surgery.select import DEFAULT_LAYERS

Settings = Mapping[str, float | None]

weights = click.option(
    "--weights",
    type=click.Path(path_type=Path),
    help="Checkpoint in safetensors. Where trained weights are needed, the default is\n"
    "weights/MODEL_DATASET.safetensors.",
)
images = click.option(
    "--images",
    required=True,
    type=click.Path(path_type=Path),
    help="CIFAR: an .npz (x_train y_train x_test y_test) or a folder in an official layout.\n"
    "har: an .npz (x y subject) or the folder UCI HAR Dataset.",
)
dataset = click.option(
    "--dataset",
    type=click.Choice(["cifar10", "cifar100", "har", "esc50", "capuchin"]),
    default="cifar10",
    show_default=True,
    help="Gives the classes and the normalisation.",
)
adapt = click.option(
    "--adapt",
    "layers",
    default=DEFAULT_LAYERS,
    show_default=True,
    help="Which BatchNorms adapt: all, none, half (the first), sixteen (of that half, evenly\n"
    "apart), a number (the first N), a fraction, or names and globs.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines instead of tables.")


def gate_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of the gates to a command, which is given the gate that they mean."""

    @wraps(command)
    def made(
        *,
        gate: str,
        tau: float | None,
        lam: float | None,
        floor: float | None,
        ceiling: float | None,
        budget: float | None,
        **others: Any,
    ) -> Any:
        paper = {"tau": tau, "lam": lam}
        calibrated = {"floor": floor, "ceiling": ceiling, "budget": budget}
        return command(gate=_gate_from(gate, paper, calibrated), **others)

    for option in reversed(
        [
            click.option(
                "--gate",
                type=click.Choice(["paper", "calibrated"]),
                default="calibrated",
                show_default=True,
                help="How far a layer follows an input. calibrated: the more, the further the input\n"
                "is from how single source images scatter. paper: as published.",
            ),
            click.option("--tau", type=float, help="Paper's gate: weight of the source. [default: 0.9]"),
            click.option(
                "--lambda", "lam", type=float, help="Paper's gate: pull of the distance. [default: 0.9]"
            ),
            click.option("--floor", type=float, help="Calibrated gate: least weight. [default: 0]"),
            click.option("--ceiling", type=float, help="Calibrated gate: largest weight. [default: 0.4]"),
            click.option(
                "--budget",
                type=float,
                help="Calibrated gate: share of clean accuracy that adapting may cost, judged by the\n"
                "model's own probabilities on source images; the ceiling is lowered until it does\n"
                "not. [default: 0.005; no limit if --floor or --ceiling is given]",
            ),
        ]
    ):
        made = option(made)
    return made


def _gate_from(gate: str, paper: Settings, calibrated: Settings) -> Gate:
    """Return the gate that the options mean; an option of the other gate is wrong usage."""
    own, other = (paper, calibrated) if gate == "paper" else (calibrated, paper)
    if any(value is not None for value in other.values()):
        names = ", ".join("--" + ("lambda" if name == "lam" else name) for name in other)
        wanted = "calibrated" if gate == "paper" else "paper"
        raise click.UsageError(f"{names} need --gate {wanted}; this is --gate {gate}.")
    given = {name: value for name, value in own.items() if value is not None}
    if gate == "paper":
        return PaperGate(**given)
    return CalibratedGate(**given) if given else DEFAULT_GATE


def parts(text: str) -> list[str]:
    """Return the parts of a comma-separated text.

    >>> parts("none, leantta")
    ['none', 'leantta']
    """
    found = [part.strip() for part in text.split(",") if part.strip()]
    if not found:
        raise click.UsageError(f"{text!r} names nothing.")
    return found


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
    found = numbers(text, "height and width")
    if len(found) != 2 or min(found) < 1:
        raise click.UsageError(f"a size is a height and a width with a comma between them, got {text!r}.")
    return found[0], found[1]


def numbers(text: str, what: str) -> list[int]:
    """Return the whole numbers of a comma-separated text.

    >>> numbers("0,1,2", "seeds")
    [0, 1, 2]
    """
    try:
        return [int(part) for part in parts(text)]
    except ValueError as e:
        raise click.UsageError(f"{what} are whole numbers with commas between them, got {text!r}.") from e
