"""`leantta report`: tables from records."""

from pathlib import Path

import click

from leantta.cli import options


@click.command("report")
@click.argument("records", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--families", "by_family", is_flag=True, help="Also show every corruption, grouped in families."
)
@click.option("--markdown", is_flag=True, help="Print Markdown instead of plain text.")
@options.as_json
def report(records: tuple[Path, ...], by_family: bool, markdown: bool, as_json: bool) -> None:
    """Print tables made from RECORDS: files that `leantta eval` wrote, or folders of them.

    Accuracies are in percent with 95 % intervals; differences are paired, on the same images.

    \b
    Examples:
      leantta report results/
      leantta report results/resnet18-*.jsonl --families
      leantta report results/ --markdown > table.md
    """
    from leantta.report.show import load_records, show

    click.echo(show(load_records(records), by_family=by_family, markdown=markdown, as_json=as_json))
