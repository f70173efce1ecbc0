"""`leantta bench`: what model files cost, side by side; with the laboratory, also networks by name."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leantta.cli import options
from leantta.extras import missing_extra
from leantta.files import replacing
from leantta.progress import Bar

if TYPE_CHECKING:
    from leantta.tables import Table

PICTURES = (".svg", ".pdf", ".png")


@click.command("bench")
@click.argument("what", nargs=-1, metavar="[FILE]... [MODEL]")
@click.option("--engine", "engines", default="onnxruntime", show_default=True, help="Of FILEs, with commas.")
@click.option("--shape", help="Shape C,H,W of an input, where the file or model does not say.")
@click.option("--base", help="The row that the others are compared with.  [default: the first]")
@click.option("--threads", default=1, show_default=True, help="Of every engine; pinned to as many cores.")
@click.option("--batch", default=1, show_default=True, help="Of the latency; throughput has 16.")
@click.option("--rounds", default=40, show_default=True, help="Calls of a row in each session.")
@click.option("--sessions", default=8, show_default=True, help="Each loads every file anew.")
@click.option("--processes", default=5, show_default=True, help="Fresh ones per row, for memory.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="JSON file for the record.")
@click.option("--plot", type=click.Path(path_type=Path), help="Picture: .svg, .pdf or .png.")
@click.option("--show", type=click.Path(path_type=Path), help="Measure nothing; show this record.")
@click.option("--markdown", is_flag=True, help="Print Markdown instead of plain text.")
@options.as_json
@click.option("--model", help="[lab] The same as the argument MODEL.")
@click.option("--rows", help="[lab] Rows of MODEL by name or glob, with commas between.  [default: all]")
@click.option("--weights", type=click.Path(path_type=Path), help="[lab] Checkpoint of MODEL.")
@click.option("--keep", type=click.Path(path_type=Path), help="[lab] Folder for the files made of MODEL.")
@click.option("--list", "as_list", is_flag=True, help="[lab] List the rows.")
@click.option("--scaling", is_flag=True, help="[lab] Measure how the cost grows with size instead.")
@click.pass_context
def bench(
    context: click.Context,
    what: tuple[str, ...],
    engines: str,
    shape: str | None,
    base: str | None,
    threads: int,
    batch: int,
    rounds: int,
    sessions: int,
    processes: int,
    output: Path | None,
    plot: Path | None,
    show: Path | None,
    markdown: bool,
    as_json: bool,
    model: str | None,
    rows: str | None,
    weights: Path | None,
    keep: Path | None,
    as_list: bool,
    scaling: bool,
) -> None:
    """Measure model files side by side: latency, throughput, memory, start-up, size and energy.

    FILE is any .onnx with one input, ours or not; the engines are onnxruntime, onnxruntime-portable (without
    our kernel), openvino and plain (ONNX Runtime without anything of ours). All of them take turns in one run
    on pinned cores, so that a ratio is fair on a busy machine, and the record keeps every value.

    MODEL is a name (resnet18, mobilenet_v2, ...) or file.py:function: our files, ONNX Runtime's own int8,
    OpenVINO and torch are made from it and compared. This and the options marked [lab] need the laboratory:
    pip install leantta-lab. Without arguments, MODEL is resnet18.

    What cannot run here is listed with the reason. Ctrl-C shows what was measured until then.

    \b
    Examples:
      leantta bench mine.onnx                                       what my file costs
      leantta bench adapting.onnx plain.onnx --base plain.onnx      what adapting adds
      leantta bench mine.onnx theirs.onnx --engine onnxruntime,openvino
      leantta bench mine.onnx theirs.onnx -o bench.json --plot bench.png
      leantta bench --show bench.json --markdown                    the same table again, nothing measured
      leantta bench resnet18 --rows 'ours-*,openvino-*' --threads 2
      leantta bench --scaling --output scaling.json --plot scaling.svg
    """
    from leantta.measure.bench import BenchSettings
    from leantta.measure.request import BenchRequest, laboratory, run_request, show_bench, show_record

    if plot is not None:
        _can_draw(plot)
    if as_list:
        _print(laboratory("the list of rows").list_rows(), markdown)
        return
    if show is not None:
        shown = show_record(show)
    elif scaling:
        shown = laboratory("--scaling").run_scaling(
            engine=engines, sessions=sessions, rounds=rounds, progress=Bar
        )
    else:
        named, files = _model_and_files(what, model)
        if named is None and (rows or weights or keep):
            raise click.UsageError("--rows, --weights and --keep are of a MODEL; only files were given.")
        request = BenchRequest(
            files=files,
            engines=tuple(options.parts(engines)),
            shape=None if shape is None else tuple(options.numbers(shape, "sizes")),
            base=base,
            settings=BenchSettings(
                threads=threads, batch=batch, rounds=rounds, sessions=sessions, processes=processes
            ),
            model=named,
            rows=tuple(options.parts("*" if rows is None else rows)),
            weights=weights,
            keep=keep,
        )
        shown = show_bench(run_request(request, Bar))
    interrupted = show is None and shown.interrupted
    if output is not None:
        shown.write(output.with_suffix(".interrupted.json") if interrupted else output)
    if plot is not None:
        picture = shown.picture().drawn(plot.suffix.lower().removeprefix("."))
        with replacing(plot) as part:
            part.write_bytes(picture)
    if as_json:
        click.echo(json.dumps(shown.figures(), indent=1))
    else:
        _print(shown.table(), markdown)
    if interrupted:
        context.exit(130)


def _model_and_files(what: tuple[str, ...], model: str | None) -> tuple[str | None, tuple[Path, ...]]:
    """Return the model that is asked for, and the files: what is no .onnx is a model."""
    files = tuple(Path(word) for word in what if word.lower().endswith(".onnx"))
    named = [*(word for word in what if not word.lower().endswith(".onnx")), *([model] if model else [])]
    if len(named) > 1:
        raise click.UsageError(f"one model at a time; {' and '.join(named)} were given.")
    return (named[0] if named else None if files else "resnet18"), files


def _can_draw(plot: Path) -> None:
    """Refuse a picture that cannot be drawn, before anything is measured."""
    if plot.suffix.lower() not in PICTURES:
        raise click.UsageError(f"--plot writes {', '.join(PICTURES)}; {plot} has another ending.")
    if find_spec("matplotlib") is None:
        raise missing_extra(ModuleNotFoundError("no matplotlib", name="matplotlib"))


def _print(table: "Table", markdown: bool) -> None:
    click.echo(table.markdown() if markdown else table.text())
