"""`leantta eval`: methods side by side on a stream."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from leantta.cli import options
from leantta.gates.gate import Gate
from leantta.progress import Bar

if TYPE_CHECKING:
    from leantta.methods.contenders import ModelFile

STREAMS = "abrupt, gradual, severity5, correlated, one_cell, clean"


@click.command("eval")
@click.option(
    "--model",
    help="resnet18, motion_cnn, ..., your own (file.py:function), or a file made by `leantta convert`.",
)
@options.images
@options.weights
@options.prefix
@options.dataset
@click.option(
    "--corrupted",
    type=click.Path(path_type=Path),
    help="Folder of CIFAR-10-C / -100-C. Default: corrupt the test images here, by seed.",
)
@click.option("--stream", "streams", default="abrupt", show_default=True, help=f"One or more of {STREAMS}.")
@click.option(
    "--method",
    "methods",
    help="Methods or model files, first = baseline.  [default: none,leantta; the file if --model is one]",
)
@options.adapt
@options.gate_options
@click.option("--mixture-variance", is_flag=True, help="Add the variance between source and sample.")
@click.option("--seeds", default="0", show_default=True, help="Seeds, e.g. 0,1,2,3,4: mean and deviation.")
@click.option("--batch-size", default=64, show_default=True, help="None and LeanTTA do not depend on it.")
@click.option(
    "--per-cell", type=int, help="Images per corruption and severity. Default: the protocol's, 100."
)
@click.option("--clean-images", default=1000, show_default=True, help="Images of the stream clean, at most.")
@click.option("--corruption", help="For the stream one_cell.")
@click.option("--severity", type=int, help="For the stream one_cell.")
@click.option("--threads", type=int, help="Threads of torch. Default: torch's own choice.")
@click.option(
    "--records",
    type=click.Path(path_type=Path),
    default=Path("results"),
    show_default=True,
    help="Folder for the records; a run that is there is not repeated, a broken one goes on.",
)
@click.option(
    "--families", "by_family", is_flag=True, help="Also show every corruption, grouped in families."
)
@options.as_json
def evaluation(
    model: str | None,
    images: Path,
    weights: Path | None,
    prefix: str | None,
    dataset: str | None,
    corrupted: Path | None,
    streams: str,
    methods: str | None,
    layers: str,
    gate: Gate,
    mixture_variance: bool,
    seeds: str,
    batch_size: int,
    per_cell: int | None,
    clean_images: int,
    corruption: str | None,
    severity: int | None,
    threads: int | None,
    records: Path,
    by_family: bool,
    as_json: bool,
) -> None:
    """Compare methods on a stream of corrupted images or shifted motion windows.

    Prints accuracy with 95 % intervals and the paired difference to the first method. Each run is kept as a
    record (JSON lines, every prediction), so it can be stopped at any moment and goes on where it was.

    \b
    Methods:  none             the model as it was trained
              leantta          adapts the layers of --adapt
              leantta:LAYERS   adapts these: all, half, sixteen, 8, ...; then the gate, its fields, memory:
                               leantta:half:calibrated:floor=0.1, leantta:ends:filter:memory (remembers)
              FILE.onnx        what `leantta convert` made; needs no torch
              FILE.onnx:memory its stream mode, if it was converted with --stream
    \b
    Baselines: bn_batch, alpha_bn, tent, eata, cotta, realistic_tta, sar, rotta, note, lame, sita,
              intent, mecta, ttn; settings as in eata:recommended (default: paper), tent:learning_rate=0.01.
              They depend on --batch-size and on the order of the stream.
    \b
    Examples:
      leantta eval --model resnet18 --stream abrupt --method none,leantta --images cifar10.npz
      leantta eval --model resnet18 --images cifar10.npz --stream clean,abrupt \\
          --method none,leantta:half,leantta:all --families
      leantta eval --model resnet18 --images cifar10.npz --per-cell 10
      leantta eval --model my_model.py:build --dataset cifar10 --images cifar10.npz --gate paper --seeds 0,1,2
      leantta eval --method none.onnx,half.onnx --images cifar10.npz
      leantta eval --model resnet18 --images cifar10.npz --method none,tent,eata:recommended --batch-size 64
      leantta eval --model resnet18 --images cifar10.npz --stream one_cell --corruption fog --severity 5
      leantta eval --model motion_cnn --images har.npz --stream clean,abrupt --families
    """
    from leantta.methods.contenders import ModelFile, dataset_of, is_file, parse_contender
    from leantta.report.show import show
    from leantta.study import Study, run_study
    from leantta.surgery.adaptation import Adaptation, parse_selector

    runs = options.parts(methods or "none,leantta")
    if model is not None and is_file(model):
        runs, model = [model, *(runs if methods else ())], None
    adaptation = Adaptation(layers=parse_selector(layers), gate=gate, mixture_variance=mixture_variance)
    contenders = tuple(parse_contender(text, adaptation) for text in runs)
    study = Study(
        model=model,
        dataset=dataset or dataset_of(model, contenders),
        images=images,
        weights=weights,
        prefix=prefix,
        corrupted=corrupted,
        streams=tuple(options.parts(streams)),
        methods=contenders,
        seeds=tuple(options.numbers(seeds, "seeds")),
        batch_size=batch_size,
        per_cell=per_cell,
        clean_images=clean_images,
        corruption=corruption,
        severity=severity,
        threads=threads,
        records=records,
    )
    click.echo(show(list(run_study(study, Bar)), by_family=by_family, as_json=as_json))
    if not as_json:
        for file in contenders:
            if isinstance(file, ModelFile):
                _tell_expectations(file)
        click.echo(f"Records in {records}/; `leantta report {records}` shows them again.")


def _tell_expectations(file: "ModelFile") -> None:
    """Print what a file was expected to bring when it was fitted, to be compared with the table."""
    from leantta.runtime.container import read_container
    from leantta.runtime.facts import expectations
    from leantta.runtime.metadata import read_info

    told = expectations(read_info(read_container(file.path)))
    if told:
        click.echo(
            f"{file.label}, when it was fitted: " + "; ".join(f"{what} {value}" for what, value in told)
        )
