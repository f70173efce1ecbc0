"""`leantta download`: fetch a published dataset."""

from pathlib import Path

import click

from leantta.progress import Bar
from leantta_lab.datasets.archives import ARCHIVES


@click.command("download")
@click.argument("dataset", type=click.Choice(list(ARCHIVES)))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("data"),
    show_default=True,
    help="The folder to put it in.",
)
def download(dataset: str, output: Path) -> None:
    """Fetch DATASET, check it and unpack it; a broken transfer goes on where it stopped.

    Without internet the error says what to fetch by hand and where to put it. cifar10-c and cifar100-c are
    3 GB; `leantta eval` does without them by corrupting the images itself.

    \b
    Examples:
      leantta download cifar10
      leantta eval --model resnet18 --images data/cifar-10-batches-bin
      leantta download cifar10-c -o /big/disk
    """
    from leantta_lab.datasets.download import download as fetched

    click.echo(fetched(dataset, output, Bar(f"{dataset} (bytes)")))
