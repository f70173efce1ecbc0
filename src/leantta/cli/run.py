"""`leantta run`: what a model file says of images, sound or motion windows."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leantta.errors import DataError, LeanTTAError, MissingExtraError, MissingFileError, SettingError
from leantta.tables import MISSING

if TYPE_CHECKING:
    from leantta.modalities.modality import FileReader, Read, Source
    from leantta.runtime.prediction import Prediction
    from leantta.runtime.session import Session

_UNKNOWN_WIDTH = 24  # of the paths that have not come yet
_START_WIDTH = 7
_PIXELS_WIDTH = 40
_COLUMNS = {
    "classes": ("label", "probability", "shift", "latency_ms"),
    "map": ("pixels", "shift", "latency_ms"),
    "array": ("outputs", "shift", "latency_ms"),
}
"""By what a model decides: for an input, for each pixel, nothing."""

engine_option = click.option(
    "--engine",
    type=click.Choice(["onnxruntime", "onnxruntime-portable", "openvino"]),
    default="onnxruntime",
    show_default=True,
    help="What computes the model; onnxruntime-portable leaves out our kernel.",
)


@click.command("run")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--top", type=click.IntRange(min=1), default=1, show_default=True, help="Best labels to show.")
@click.option("--explain", is_flag=True, help="Show by layer how far the input is from the training data.")
@click.option("--memory", is_flag=True, help="Let inputs follow each other: a file converted with --stream.")
@engine_option
@click.option("--threads", type=click.IntRange(min=1), help="Threads for one prediction. [default: all]")
@click.option(
    "--save",
    type=click.Path(path_type=Path),
    help="Folder for all outputs, an .npz for each input; of classes of pixels also a .png.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each input.")
@click.pass_context
def run(
    context: click.Context,
    model: Path,
    paths: tuple[str, ...],
    top: int,
    explain: bool,
    memory: bool,
    engine: str,
    threads: int | None,
    save: Path | None,
    as_json: bool,
) -> None:
    """Say what is in images, sound or motion windows, with the model file that `leantta convert` made.

    PATH is a file, a folder of files, or - for standard input: the bytes of an image, or paths, one to a
    line. Images of any size are fitted as the file says, which `leantta inspect` shows; if it does not say,
    they are scaled to cover the model's input and cut in the centre. Of sound there is a line for every ten
    seconds. A shift of 0 means like the training data; of those, 1 in 100 exceeds 1.
    The latency is the engine's alone.

    For a model of motion sensors, PATH is an .npy or .npz (array x) of windows (n, 9, 128) or (9, 128), a
    .csv of 128 rows with 9 columns, or a folder of these; accelerations in g, angular velocities in rad/s.

    A model that decides for each pixel is answered by the commonest classes and their shares of the pixels,
    a model that decides nothing, such as a detector's network, by the shapes of its outputs. --save keeps
    all outputs.

    A file that cannot be read is reported, the others still run, and the exit code is 1.

    \b
    Examples:
      leantta run model.onnx cat.png
      leantta run model.onnx photos/ --top 3 --explain
      leantta run model.onnx photos/ --json > predictions.jsonl
      find /data -name '*.png' | leantta run model.onnx -
      leantta run birds.onnx clip.ogg recordings/
      leantta run motion.onnx windows.npz --top 2
      leantta run camera.onnx night/ --memory
      leantta run scenes.onnx photos/ --save maps/
    """
    import numpy as np

    from leantta.files import check_folder
    from leantta.modalities.kinds import modality_for
    from leantta.runtime.session import load
    from leantta.runtime.told import Folder, facts

    with load(model, engine=engine, threads=threads, memory=memory) as session:
        reader = modality_for(session.info.input.kind).reader(session.info)
        if explain and not session.info.layers:
            raise SettingError(f"{model} has no distances to explain with: nothing adapts in it.")
        if save is not None:
            check_folder(save)
        folder = None if save is None else Folder(save, session.info)
        test = session.info.selftest
        session.run(np.zeros(test.shape, test.dtype))  # the first run is slow, and is not counted
        session.reset()
        sources: Iterator[Source] | list[Source] = _sources(reader, paths)
        if "-" not in paths:
            sources = list(sources)
        show = _show_json if as_json else _Table(session, sources).show
        failures = 0
        for name, read in sources:
            for start_s, prediction in _predictions(session, read):
                if isinstance(prediction, LeanTTAError):
                    failures += 1
                    _show_error(name, prediction, as_json)
                else:
                    place = {} if start_s is None else {"start_s": round(start_s, 3)}
                    told = facts(session.info, prediction, top=top, explain=explain)
                    if folder is not None:
                        told["saved"] = str(folder.save(name, start_s, prediction))
                    show(name, place | told)
    if failures:
        context.exit(1)


def _sources(reader: "FileReader", paths: tuple[str, ...]) -> "Iterator[Source]":
    """Give the files that the paths mean; a path that means none is given with its error."""
    for path in paths:
        yield from reader.standard_input() if path == "-" else reader.files(path)


def _predictions(
    session: "Session", read: "Read"
) -> "Iterator[tuple[float | None, Prediction | LeanTTAError]]":
    """Give what the model says of each input in a file, or why the file cannot be used any further."""
    try:
        for start_s, given in read():
            yield start_s, session.predict_one(given)
    except (DataError, MissingFileError, MissingExtraError) as e:
        yield None, e


def _show_json(name: str, facts: dict[str, Any]) -> None:
    click.echo(json.dumps({"path": name, **facts}))


def _show_error(name: str, error: LeanTTAError, as_json: bool) -> None:
    message = " ".join(str(error).split())
    if as_json:
        click.echo(json.dumps({"path": name, "error": message}))
    else:
        click.echo(_printable(f"error: {message}"), err=True)


class _Table:
    """A table that is printed row by row, its widths known before the first."""

    def __init__(self, session: "Session", sources: "Iterator[Source] | list[Source]") -> None:
        names = [name for name, _ in sources] if isinstance(sources, list) else []
        info = session.info
        labels = list(info.classes or [str(index) for index in range(max(info.outputs, 2))])
        self.columns = _COLUMNS["array" if info.deciding is None else info.deciding.role]
        what = {"label": max(5, *map(len, labels)), "pixels": _PIXELS_WIDTH, "outputs": _PIXELS_WIDTH}
        self.widths = (
            max([4, *map(len, names)]) if names else _UNKNOWN_WIDTH,
            what[self.columns[0]],
            *map(len, ("probability", "  shift", "latency_ms")[-len(self.columns[1:]) :]),
        )
        self.begun = False

    def show(self, name: str, facts: dict[str, Any]) -> None:
        if not self.begun:
            self.line("path", "start_s" if "start_s" in facts else None, *self.columns)
            self.begun = True
        start = f"{facts['start_s']:.1f}" if "start_s" in facts else None
        shift = MISSING if facts["shift"] is None else f"{facts['shift']:.3f}"
        others = [f"{best['label']} {best['probability']:.3f}" for best in facts.get("top", [])[1:]]
        chance = [f"{facts['probability']:.3f}"] if "probability" in facts else []
        self.line(name, start, _said(facts), *chance, shift, f"{facts['latency_ms']:.2f}", ", ".join(others))
        for layer, distance in facts.get("distances", {}).items():
            click.echo(_printable(f"  {layer}  {distance:.3f}"))

    def line(self, path: str, start: str | None, what: str, *cells: str) -> None:
        numbers = [cell.rjust(width) for cell, width in zip(cells, self.widths[2:], strict=False)]
        place = [path.ljust(self.widths[0]), *([] if start is None else [start.rjust(_START_WIDTH)])]
        row = [*place, what.ljust(self.widths[1]), *numbers, *cells[len(self.widths) - 2 :]]
        click.echo(_printable("  ".join(row).rstrip()))


def _said(facts: dict[str, Any]) -> str:
    """Return what the model says of an input, as a cell."""
    if "label" in facts:
        return str(facts["label"])
    if "pixels" in facts:
        return ", ".join(f"{part['label']} {100 * part['share']:.0f} %" for part in facts["pixels"])
    return ", ".join(f"{name} {'x'.join(map(str, shape))}" for name, shape in facts["outputs"].items())


def _printable(text: str) -> str:
    """Return the text with what a terminal would take for a command replaced."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
