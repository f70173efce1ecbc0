"""`leantta bench`: what adapting costs, beside plain inference and beside others."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leantta.cli import options
from leantta.files import replacing
from leantta.progress import Bar

if TYPE_CHECKING:
    from leantta.tables import Table


@click.command("bench")
@click.argument("what", nargs=-1, metavar="[MODEL] [FILE]...")
@click.option("--model", help="The same as the argument MODEL.")
@click.option("--rows", default="*", show_default=True, help="Rows by name or glob, with commas between.")
@options.weights
@click.option("--engine", "engines", default="onnxruntime", show_default=True, help="Of FILEs, with commas.")
@click.option("--shape", help="Shape C,H,W of an input, where the model or file does not say.")
@click.option("--base", help="The row that the others are compared with.  [default: the first]")
@click.option("--threads", default=1, show_default=True, help="Of every engine; pinned to as many cores.")
@click.option("--batch", default=1, show_default=True, help="Of the latency; throughput has 16.")
@click.option("--rounds", default=40, show_default=True, help="Calls of a row in each session.")
@click.option("--sessions", default=8, show_default=True, help="Each loads every file anew.")
@click.option("--processes", default=5, show_default=True, help="Fresh ones per row, for memory.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="JSON file for the record.")
@click.option("--plot", type=click.Path(path_type=Path), help="SVG file for the plot.")
@click.option("--keep", type=click.Path(path_type=Path), help="Folder for the model files that are made.")
@click.option("--show", type=click.Path(path_type=Path), help="Measure nothing; show this record.")
@click.option("--scaling", is_flag=True, help="Measure how the cost grows with size instead.")
@click.option("--list", "as_list", is_flag=True, help="List the rows.")
@click.option("--markdown", is_flag=True, help="Print Markdown instead of plain text.")
@options.as_json
@click.pass_context
def bench(
    context: click.Context,
    what: tuple[str, ...],
    model: str | None,
    rows: str,
    weights: Path | None,
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
    keep: Path | None,
    show: Path | None,
    scaling: bool,
    as_list: bool,
    markdown: bool,
    as_json: bool,
) -> None:
    """Measure what adapting costs: latency, throughput, memory, start-up, size and energy.

    MODEL is a name (resnet18, mobilenet_v2, ...) or file.py:function: our files, ONNX Runtime's own int8,
    OpenVINO and torch are made from it. FILE is any .onnx with one input, ours or not. All of them take turns
    in one run on pinned cores, and the record keeps every value. Without arguments, MODEL is resnet18.

    What cannot run here is listed with the reason. Ctrl-C shows what was measured until then.

    \b
    Examples:
      leantta bench
      leantta bench resnet18 --output results/bench_resnet18.json --plot fusion.svg
      leantta bench mobilenet_v2 --rows 'ours-*,openvino-*' --threads 2
      leantta bench mine.onnx theirs.onnx --engine onnxruntime,openvino
      leantta bench --show results/bench_resnet18.json --markdown
      leantta bench --scaling --output results/scaling.json --plot scaling.svg
    """
    from leantta.measure import show as shown
    from leantta.measure.bench import BenchSettings
    from leantta.measure.request import BenchRequest, list_rows, run_request

    if as_list:
        _print(list_rows(), markdown)
        return
    if show is not None:
        record = shown.read_any(show)
    elif scaling:
        from leantta.measure.scaling import run_scaling

        record = run_scaling(engine=engines, sessions=sessions, rounds=rounds, progress=Bar)
    else:
        named, files = _model_and_files(what, model)
        request = BenchRequest(
            model=named,
            rows=tuple(options.parts(rows)),
            weights=weights,
            files=files,
            engines=tuple(options.parts(engines)),
            shape=None if shape is None else tuple(options.numbers(shape, "sizes")),
            base=base,
            keep=keep,
            settings=BenchSettings(
                threads=threads, batch=batch, rounds=rounds, sessions=sessions, processes=processes
            ),
        )
        record = run_request(request, Bar)
    interrupted = show is None and shown.is_interrupted(record)
    if output is not None:
        shown.write_any(record, output.with_suffix(".interrupted.json") if interrupted else output)
    if plot is not None:
        with replacing(plot) as part:
            part.write_text(shown.plot_of(record), encoding="utf-8")
    if as_json:
        click.echo(json.dumps(shown.json_of(record), indent=1))
    else:
        _print(shown.table_of(record), markdown)
    if interrupted:
        context.exit(130)


def _model_and_files(what: tuple[str, ...], model: str | None) -> tuple[str | None, tuple[Path, ...]]:
    """Return the model that is asked for, and the files."""
    files = tuple(Path(word) for word in what if word.lower().endswith(".onnx"))
    named = [*(word for word in what if not word.lower().endswith(".onnx")), *([model] if model else [])]
    if len(named) > 1:
        raise click.UsageError(f"one model at a time; {' and '.join(named)} were given.")
    return (named[0] if named else None if files else "resnet18"), files


def _print(table: "Table", markdown: bool) -> None:
    click.echo(table.markdown() if markdown else table.text())
