"""The options of `leantta eval` for the user's own images, and what it does with them."""

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leantta.progress import Bar

if TYPE_CHECKING:
    from leantta.gates.gate import Gate
    from leantta.trial.request import Setting, Trial

LAYOUTS = ("classes", "domains", "imagenet-c", "unlabelled")

OWN = ("corrupt", "layout", "classes", "calibration", "skip_unreadable", "metric")
"""Parameters that are for the user's own images alone."""

USUAL = (
    ("none", "none", "--adapt none"),
    ("paper gate", "leantta:half:paper", "--gate paper"),
    ("shift filter", "leantta:ends:filter", "--gate filter"),
)
"""What is compared if nobody says otherwise: title, method, and what `leantta convert` is told."""


def photo_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for the user's own images to a command, which is given those that were set."""
    added = [
        click.option(
            "--corrupt",
            is_flag=True,
            help="Own images: corrupt them, too, 19 ways at 5 severities, in the order of --stream.",
        ),
        click.option(
            "--layout",
            type=click.Choice(LAYOUTS),
            help="Own images: what the folders mean, where it cannot be told.",
        ),
        click.option(
            "--classes",
            type=click.Path(path_type=Path),
            help="Own images: the names of folders or labels, one to a line, in the order of the model's\n"
            "scores. Default: the model's, else the names in order.",
        ),
        click.option(
            "--calibration",
            type=click.Path(path_type=Path),
            help="Own images: source images to fit on. Default: a part of --images, not reported on.",
        ),
        click.option("--skip-unreadable", is_flag=True, help="Own images: leave out what cannot be read."),
        click.option(
            "--metric",
            metavar="FILE.py:FUNCTION",
            help="Own images: function(outputs, labels, keys) of a batch, a number for each image, more is\n"
            "better; instead of accuracy.",
        ),
    ]

    @wraps(command)
    def with_photos(**told: Any) -> Any:
        own = {name: told.pop(name) for name in OWN if name in told}
        return command(photos={name: value for name, value in own.items() if value}, **told)

    for option in reversed(added):
        with_photos = option(with_photos)
    return with_photos


def is_own(images: Path, dataset: str | None, model: str | None) -> bool:
    """Tell whether images are the user's own, rather than a dataset that has a name."""
    from leantta.data.collection.opening import is_collection
    from leantta.modalities.datasets import dataset_info
    from leantta.models.named import default_dataset

    if dataset is not None:
        return False
    meant = None if model is None else default_dataset(model)
    if not is_collection(images):
        return meant is None and model is not None and not _may_be_a_dataset(images)
    return meant is None or not (images.is_dir() and dataset_info(meant).is_folder(images))


def _may_be_a_dataset(images: Path) -> bool:
    """Tell whether something is there that is no image; else an error about images says more."""
    from leantta.data.imagefiles import SUFFIXES

    if images.is_dir():
        return any(images.iterdir())
    return images.is_file() and images.suffix.lower() not in SUFFIXES


def settings_of(
    models: Sequence[str], methods: Sequence[str] | None, gate: "Gate", layers: str, *, chosen: bool
) -> "tuple[str | None, tuple[Setting, ...]]":
    """Return the torch model among models and files, and the settings to compare.

    `chosen` says that gate or layers were given, which then are the ones to compare with no adaptation.
    """
    from leantta.methods.contenders import ModelFile, is_file, parse_contender
    from leantta.surgery.adaptation import Adaptation, parse_selector
    from leantta.trial.request import Setting

    networks = [model for model in models if not is_file(model)]
    if len(networks) > 1:
        raise click.UsageError(f"one model at a time, and any number of files: {', '.join(networks)}.")
    adaptation = Adaptation(layers=parse_selector(layers), gate=gate)
    asked: list[tuple[str, str, str | None]] = []
    if methods is not None:
        asked = [(text, text, _convert_flags(text)) for text in methods]
    elif networks and chosen:
        asked = [USUAL[0], ("leantta", "leantta", f"--gate {gate.name} --adapt {layers}")]
    elif networks:
        asked = list(USUAL)
    asked += [(Path(model).name, model, None) for model in models if is_file(model)]
    settings = []
    for title, text, convert in asked:
        runs = parse_contender(text, adaptation)
        if isinstance(runs, ModelFile):
            title = runs.label
        settings.append(Setting(title, runs, convert))
    return (networks[0] if networks else None), tuple(settings)


def _convert_flags(method: str) -> str | None:
    """Return what `leantta convert` is told for a method; None for one that it cannot make.

    >>> _convert_flags("leantta:half:paper"), _convert_flags("tent")
    ('--adapt half --gate paper', None)
    """
    from leantta.gates.table import GATES

    name, *words = method.split(":")
    if name == "none" and not words:
        return "--adapt none"
    if name != "leantta" or len(words) > 2:
        return None
    known = [f"--gate {word}" if word in GATES else f"--adapt {word}" for word in words if "=" not in word]
    return " ".join(known) if len(known) == len(words) else None


def run(trial: "Trial", *, as_json: bool) -> None:
    """Carry out a trial and print what came out."""
    from leantta.trial.request import run_trial

    outcome = run_trial(trial, Bar)
    click.echo(outcome.json() if as_json else outcome.text())
    if not as_json and trial.records is not None:
        click.echo(
            f"\nRecords in {trial.records}/: run it again to see this again, or after a stop to go on."
        )
