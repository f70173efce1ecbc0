"""`leantta reproduce`: the tables and figures of the paper."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from leantta_lab.reproduce.crew import Failure
    from leantta_lab.reproduce.target import Page


def _named_paths(
    context: click.Context, parameter: click.Parameter, value: tuple[str, ...]
) -> dict[str, Path]:
    """Return the paths by the names before their equals sign."""
    from leantta_lab.reproduce.at_hand import OFFICIAL

    paths = {}
    for text in value:
        name, equals, path = text.partition("=")
        if not equals or not path or name not in OFFICIAL:
            raise click.BadParameter(
                f"{text!r} is not NAME=PATH with a NAME of {', '.join(OFFICIAL)}.", context, parameter
            )
        paths[name] = Path(path)
    return paths


@click.command("reproduce")
@click.argument("names", nargs=-1, metavar="TARGET...")
@click.option(
    "--quick", "scale", flag_value="quick", default="quick", help="950 images, one seed.  [default]"
)
@click.option(
    "--full", "scale", flag_value="full", help="The paper's protocol: up to 19,000 images, five seeds."
)
@click.option(
    "--images",
    multiple=True,
    callback=_named_paths,
    metavar="NAME=PATH",
    help="cifar10, cifar100, imagenet, har, esc50, capuchin, birdvox or warblr, and where it is.  [default:\n"
    "looked for in ., ./data and $LEANTTA_DATA]",
)
@click.option(
    "--birdvox", type=click.Path(path_type=Path), help="Folder of BirdVox-DCASE-20k, for table-birds."
)
@click.option("--warblr", type=click.Path(path_type=Path), help="Folder of Warblr, for table-birds.")
@click.option(
    "--records",
    type=click.Path(path_type=Path),
    default=Path("results/reproduce"),
    show_default=True,
    help="Folder for the records; what is in it is not done again.",
)
@click.option(
    "--work",
    type=click.Path(path_type=Path),
    default=Path("build/reproduce"),
    show_default=True,
    help="Folder for model files, which can be made again.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="PATTERN",
    help="Do the jobs of these names alone, e.g. 'resnet18 * seed 0'; the progress shows the names.",
)
@click.option(
    "--ray",
    is_flag=False,
    flag_value="",
    metavar="[ADDRESS]",
    help="Give the jobs to a Ray cluster instead of processes of this machine: that at HOST:PORT, or,\n"
    "without an address, that of this machine, which is started if there is none. pip install 'leantta[ray]'",
)
@click.option("--jobs", type=click.IntRange(min=1), help="Processes at a time.  [default: one per core]")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Folder for Markdown, SVG and PDF files."
)
@click.option("--list", "as_list", is_flag=True, help="List the targets, what is done and what is left.")
@click.option(
    "--pack",
    is_flag=True,
    help="Run nothing; move finished records into one file for each target, as each run does at its end.",
)
@click.option("--show", is_flag=True, help="Run nothing; show what the records hold.")
@click.pass_context
def reproduce(
    context: click.Context,
    names: tuple[str, ...],
    scale: str,
    images: dict[str, Path],
    birdvox: Path | None,
    warblr: Path | None,
    records: Path,
    work: Path,
    only: tuple[str, ...],
    ray: str | None,
    jobs: int | None,
    output: Path | None,
    as_list: bool,
    pack: bool,
    show: bool,
) -> None:
    """Make tables and figures of the paper anew: ours beside the paper's values.

    TARGET is a name of --list, or all. The work is shared among processes and can be stopped at any moment:
    the same command goes on where it was, and repeats nothing that is finished. What lacks its images or its
    weights is left out, and named. Records grow as files of their own; at the end, those that are finished
    move into one compressed file for each target, TARGET.records.tar.xz, which `leantta report` reads and
    `tar xf` unpacks.

    \b
    Examples:
      leantta reproduce --list
      leantta reproduce table-abrupt-gradual --quick
      leantta reproduce all --images cifar10=cifar10.npz --output pages
      leantta reproduce table-batches --full --jobs 8
      leantta reproduce table-batches --full --ray 10.0.0.1:6379
      leantta reproduce table-batches --full --only '* leantta:* seed 0'
      leantta reproduce table-batches --full --show
    """
    from leantta_lab.reproduce import request as asked
    from leantta_lab.reproduce.at_hand import find_images
    from leantta_lab.reproduce.runner import core_count
    from leantta_lab.reproduce.schedule import Board
    from leantta_lab.reproduce.target import Setting
    from leantta_lab.reproduce.targets import TARGETS

    if ray in (*TARGETS, "all"):  # --ray TARGET: no address was given
        names, ray = (*names, ray), ""
    folders = {name: path for name, path in (("birdvox", birdvox), ("warblr", warblr)) if path is not None}
    request = asked.Request(
        targets=asked.chosen(names or (("all",) if as_list else ()), TARGETS),
        setting=Setting(
            scale=scale,  # type: ignore[arg-type] # click has checked it
            images=find_images({**folders, **images}),
            records=records,
            work=work,
        ),
        workers=jobs or core_count(),
        only=only,
        cluster=None if ray is None else asked.Cluster(ray, jobs),
    )
    if as_list:
        click.echo(asked.listed(request).text())
        return
    if pack:
        moved, left = asked.pack(request)
        click.echo(f"{moved} records packed; {left} finished ones stay files: no target asks for them")
        return
    if show:
        outcome = asked.Outcome(asked.pages(request), [])
    else:
        board = Board()
        try:
            outcome = asked.reproduce(request, board)
        except KeyboardInterrupt:
            board.close()
            click.echo("What is finished is kept; the same command goes on.", err=True)
            raise
    for name, page in outcome.pages.items():
        click.echo(f"{request.targets[name].title}\n\n{page.text()}\n")
    if output is not None:
        for path in asked.write_pages(outcome.pages, request, output):
            click.echo(path)
    _say(outcome.pages, outcome.failures)
    if outcome.failures:
        context.exit(1)


def _say(pages: "dict[str, Page]", failures: "list[Failure]") -> None:
    """Name what is left out, and what failed."""
    for line in dict.fromkeys(line for page in pages.values() for line in page.lacking):
        click.echo(f"left out: {line}", err=True)
    for failure in failures:
        click.echo(f"failed: {failure.job}: {failure.reason}", err=True)
