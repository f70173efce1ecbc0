"""`leantta corrupt`: damaged copies of images or of a data set."""

from difflib import get_close_matches
from pathlib import Path

import click

from leantta.disturbances.corruptions.names import FAMILIES, NAMES, SEVERITIES
from leantta.progress import Bar


def _names(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    """Return the corruptions that a list of names and families, split by commas, stands for."""
    chosen: set[str] = set()
    for word in (part.strip() for part in value.split(",")):
        if word not in {*NAMES, *FAMILIES, "all"}:
            near = get_close_matches(word, [*NAMES, *FAMILIES], n=1)
            hint = (
                f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join((*NAMES, *FAMILIES, 'all'))}."
            )
            raise click.BadParameter(f"no corruption is called {word!r}. {hint}", context, parameter)
        chosen.update(NAMES if word == "all" else FAMILIES.get(word, (word,)))
    return tuple(name for name in NAMES if name in chosen)


def _severities(context: click.Context, parameter: click.Parameter, value: str) -> tuple[int, ...]:
    """Return the severities that a comma-separated list stands for, in ascending order."""
    words = {part.strip() for part in ("1,2,3,4,5" if value == "all" else value).split(",")}
    if not words <= set("12345"):
        raise click.BadParameter(f"{value!r} is not 'all' or some of 1,2,3,4,5.", context, parameter)
    return tuple(sorted(int(word) for word in words))


@click.command(
    epilog="""\b
Examples:
  leantta corrupt cat.png -o out
      all 19 corruptions at 5 severities: out/fog/3/cat.png and 94 more
  leantta corrupt photos -o out --corruption fog,snow --severity 5
      two files for each image of the folder
  leantta corrupt photos -o out --corruption blur
      a family: noise, blur, weather, digital or extra
  leantta corrupt cifar10.npz -o CIFAR-10-C
      a test set, in the layout of CIFAR-10-C: fog.npy, ..., labels.npy"""
)
@click.argument("source", metavar="INPUT", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder to write to.")
@click.option(
    "--corruption",
    "names",
    default="all",
    show_default=True,
    callback=_names,
    help="Names or families, by comma.",
)
@click.option(
    "--severity",
    "severities",
    default="all",
    show_default=True,
    callback=_severities,
    help="1 to 5, by comma.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Another seed, other noise."
)
@click.option("--limit", type=click.IntRange(min=1), help="Take only the first images.")
@click.option("--overwrite", is_flag=True, help="Make files again that are there already.")
def corrupt(
    source: Path,
    output: Path,
    names: tuple[str, ...],
    severities: tuple[int, ...],
    seed: int,
    limit: int | None,
    overwrite: bool,
) -> None:
    """Write damaged copies of INPUT, as CIFAR-10-C and ImageNet-C damage theirs.

    INPUT is an image, a folder of images, or an .npz file with x_test and y_test. The same seed gives the
    same files. A run that was interrupted goes on where it stopped. Strengths are those of
    ImageNet-C for images of 64 pixels and more on the shorter side, and those of CIFAR-10-C for smaller ones.
    """
    from leantta.data.collection.search import find_images
    from leantta.disturbances.corruptions.frost import WindowSource, window_source
    from leantta.disturbances.corruptions.write import read_dataset, write_dataset, write_images

    bar = Bar("corrupt")
    if source.suffix.lower() == ".npz":
        if severities != SEVERITIES:
            raise click.UsageError("a CIFAR-10-C folder has all severities; leave --severity out.")
        images, labels = read_dataset(source)
        done = write_dataset(
            images[:limit], labels[:limit], output, names=names, seed=seed, overwrite=overwrite, progress=bar
        )
    else:
        done = write_images(
            find_images(source)[:limit],
            output,
            names=names,
            severities=severities,
            seed=seed,
            overwrite=overwrite,
            progress=bar,
        )
    click.echo(f"{output}: {done.written} files written, {done.skipped} complete already.")
    if "frost" in names and window_source() is WindowSource.FORMULA:
        click.echo("Frost by formula; the benchmark's photographs: pip install 'leantta[frost]'.")
