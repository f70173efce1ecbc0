"""`leantta scan`: a model file over an archive, into Parquet."""

import sys
from contextlib import redirect_stdout
from pathlib import Path

import click

from leantta.cli.run import engine_option


@click.command("scan")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="OUT",
    help="Folder for the Parquet files; if it holds the same scan, what is missing is done.",
)
@click.option("--column", help="The column of Parquet files that holds bytes, where there are several.")
@click.option(
    "--ray",
    "address",
    is_flag=False,
    flag_value="local",
    metavar="[ADDRESS]",
    help="Use Ray: alone on this machine, or the cluster whose head is at HOST:PORT.",
)
@click.option("--actors", type=click.IntRange(min=1), help="Models that Ray loads. [default: as many as fit]")
@click.option(
    "--cores",
    type=click.IntRange(min=1),
    help="Cores of each actor, or of this process without Ray. [default: 1 with Ray, else all]",
)
@click.option("--batch", type=click.IntRange(min=1), default=8, show_default=True, help="Inputs at a time.")
@click.option(
    "--chunk",
    type=click.IntRange(min=1),
    default=1024,
    show_default=True,
    help="Inputs in a part file, about; what a killed worker does again.",
)
@click.option(
    "--restart", is_flag=True, help="Throw away the scan that OUT holds, if it is another, and begin anew."
)
@engine_option
def scan(
    model: Path,
    inputs: tuple[str, ...],
    output: Path,
    column: str | None,
    address: str | None,
    actors: int | None,
    cores: int | None,
    batch: int,
    chunk: int,
    restart: bool,
    engine: str,
) -> None:
    """Run the model file MODEL over an archive, and keep what it says of each input in Parquet files.

    INPUT is a file, a folder, a glob in quotes, or a URL of an object store (s3://, gs://, ...). Tar files as
    of webdataset and Parquet files with a column of bytes are looked into. Images, sound and motion windows
    are read as `leantta run` reads them.

    A file that cannot be read becomes a row with its error, and the scan goes on. A scan that was stopped or
    killed is started again by the same command: it does what is missing, and each input is in the output
    once. `leantta report OUT` sums it up; docs/archives.md has the columns.

    The exit code is 1 if the scan did not come to its end, or if no input of it could be read.

    \b
    Examples:
      leantta scan model.onnx photos/ -o out/
      leantta scan model.onnx 'archive/2024-*/*.tar' -o out/
      leantta scan birds.onnx s3://recordings/2024/ -o out/
      leantta scan model.onnx pictures.parquet --column image -o out/
      leantta scan model.onnx photos/ -o out/ --ray --actors 4
      leantta scan model.onnx /shared/photos -o /shared/out --ray 10.0.0.1:6379 --cores 2
    """
    from leantta.progress import Bar
    from leantta.scan.cluster import Cluster
    from leantta.scan.run import Executor, Request, in_process
    from leantta.scan.run import scan as run_scan

    if address is None and actors is not None:
        raise click.UsageError("--actors is for --ray; without it this process does the work.")
    if address is not None and Path(address).exists():
        raise click.UsageError(f"--ray takes {address} for an address. Put --ray at the end of the line.")
    request = Request(
        model=model,
        inputs=inputs,
        output=output,
        column=column,
        engine=engine,
        chunk=chunk,
        batch=batch,
        threads=cores if address is None else cores or 1,
        restart=restart,
    )
    bar = Bar("scan", unit="inputs")

    def progress(done: int, left: int, errors: int) -> None:
        bar.label = f"scan, {errors:,} errors" if errors else "scan"
        bar(done, done + left)

    finding = Bar("found")
    execute: Executor = in_process
    if address is not None:
        execute = cluster = Cluster(address, actors, cores or 1)
        cluster.check()
    with redirect_stdout(sys.stderr):  # Ray tells of dead workers there, where results belong
        summary = run_scan(
            request, execute, listing=lambda files: finding(files, files + 1), progress=progress
        )
    if not summary.chunks:
        click.echo(f"nothing is missing: {summary.before:,} part files are in {output}")
        return
    if summary.before:
        click.echo(f"{summary.before:,} of {summary.listed.chunks:,} part files were there already")
    click.echo(
        f"{summary.inputs:,} inputs, of which {summary.errors:,} could not be read, in "
        f"{summary.chunks:,} part files: {output}"
    )
    if summary.errors and summary.errors == summary.inputs and not summary.before:
        raise click.ClickException(f"no input could be read. `leantta report {output}` shows why.")
