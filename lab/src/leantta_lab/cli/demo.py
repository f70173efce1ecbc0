"""`leantta demo`: a network loses accuracy on corrupted images and wins it back."""

from pathlib import Path

import click

from leantta.cli import options
from leantta.progress import Bar


@click.command("demo")
@click.option(
    "--images",
    type=click.Path(path_type=Path),
    help="CIFAR-10 images. Default: the sample that the repository carries.",
)
@options.weights
@options.adapt
@click.option("--per-cell", default=40, show_default=True, help="Images per corruption and severity.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("demo.html"),
    show_default=True,
    help="The page to write.",
)
def demo(images: Path | None, weights: Path | None, layers: str, per_cell: int, output: Path) -> None:
    """Show ResNet18 on corrupted CIFAR-10 images: plain, the paper's LeanTTA, the shift filter, an int8 file.

    Prints a table, writes a page with images, predictions and the distance of every layer, and beside it the
    file that a device would run.

    \b
    Examples:
      leantta demo                       two or three minutes, on what the repository carries
      leantta demo --per-cell 5          a few seconds
      leantta demo --images cifar10.npz --adapt all -o all.html
    """
    from leantta.surgery.adaptation import parse_selector
    from leantta_lab.demo import run_demo

    result = run_demo(images, weights, parse_selector(layers), per_cell=per_cell, output=output, progress=Bar)
    click.echo(result)
    file = output.with_suffix(".onnx")
    click.echo(
        f"\nOpen {output} in a browser: images, predictions and how far each layer was from the source.\n"
        f"{file} is the adapting model in int8 ({file.stat().st_size / 1e6:.1f} MB); it needs numpy and "
        f"onnxruntime only:\n  leantta verify {file} && leantta run {file} IMAGE"
    )
