"""`leantta report`: tables from records."""

from pathlib import Path

import click

from leantta.cli import options


@click.command("report")
@click.argument("records", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--families", "by_family", is_flag=True, help="Also show every corruption, grouped in families."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Page to write for the log of a watch. [default: LOG.html]",
)
@click.option("--examples", type=click.Path(path_type=Path), help="Folder of pictures that the watch kept.")
@click.option("--markdown", is_flag=True, help="Print Markdown instead of plain text.")
@options.as_json
def report(
    records: tuple[Path, ...],
    by_family: bool,
    output: Path | None,
    examples: Path | None,
    markdown: bool,
    as_json: bool,
) -> None:
    """Print tables made from RECORDS: files that `leantta eval` wrote, packs of them, or folders.

    Of the log of a `leantta watch` it writes one page with everything inside: shift and labels over time, the
    alarms, and the most shifted inputs as pictures.

    Of the output folder of a `leantta scan` it prints counts, labels, the shift by folder and by time, the
    most shifted inputs, and which could not be read and why.

    Accuracies are in percent with 95 % intervals; differences are paired, on the same images.

    \b
    Examples:
      leantta report results/
      leantta report results/resnet18-*.jsonl --families
      leantta report results/reproduce/full/table-clean.records.tar.xz
      leantta report results/ --markdown > table.md
      leantta report out/                what `leantta scan ... -o out/` found
      leantta report watch.jsonl --examples odd/ -o watch.html
    """
    from leantta.monitor.log import is_log

    if len(records) == 1 and is_log(records[0]):
        from leantta.files import replacing
        from leantta.monitor.page import page_of

        output = output or records[0].with_suffix(".html")
        page = page_of(records[0], examples)
        with replacing(output) as part:
            part.write_text(page, encoding="utf-8")
        click.echo(f"wrote {output}")
        return
    if len(records) == 1 and (records[0] / "scan.json").is_file():
        from leantta.scan.report import report_of
        from leantta.scan.report import show as show_scan

        click.echo(show_scan(report_of(records[0]), markdown=markdown, as_json=as_json))
        return
    from leantta.report.show import load_records, show

    click.echo(show(load_records(records), by_family=by_family, markdown=markdown, as_json=as_json))
