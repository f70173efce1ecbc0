"""`leantta eval`: methods side by side on a stream."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from leantta.cli import options, trial
from leantta.cli.preprocessing import preprocessing_options
from leantta.gates.gate import Gate
from leantta.progress import Bar

if TYPE_CHECKING:
    from leantta.data.preprocess import Preprocessing
    from leantta.methods.contenders import ModelFile

STREAMS = "abrupt, gradual, severity5, correlated, one_cell, clean"

FOR_DATASETS = ("dataset", "corrupted", "corruption", "severity", "by_family", "mixture_variance")
PREPROCESSING = (
    *(
        "preprocess",
        "resize",
        "long_side",
        "pad",
        "fill",
        "crop",
        "interpolation",
        "colours",
        "channels_last",
    ),
    *("mean", "std"),
)
"""Parameters that only one of the two kinds of images takes."""


@click.command("eval")
@click.argument("models", nargs=-1, metavar="[MODEL_OR_FILE]...")
@click.option("--model", help="The same as MODEL_OR_FILE.")
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
@click.option(
    "--batch-size",
    type=int,
    help="None and LeanTTA do not depend on it.  [default: 64; of own images 16]",
)
@click.option(
    "--per-cell",
    type=int,
    help="Images per corruption and severity. Default: the protocol's, 100; of own images 10.",
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
@trial.photo_options
@preprocessing_options
@click.option("--mean", help="Mean per channel of the training images, 0 to 1, by comma.")
@click.option("--std", help="Their standard deviation per channel, by comma.")
@options.as_json
@click.pass_context
def evaluation(
    context: click.Context,
    models: tuple[str, ...],
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
    batch_size: int | None,
    per_cell: int | None,
    clean_images: int,
    corruption: str | None,
    severity: int | None,
    threads: int | None,
    records: Path,
    by_family: bool,
    photos: Mapping[str, Any],
    preprocessing: "Preprocessing | None",
    mean: tuple[float, ...] | None,
    std: tuple[float, ...] | None,
    as_json: bool,
) -> None:
    """Tell whether adapting helps a model: on your own images, or on a dataset that has a name.

    MODEL_OR_FILE is resnet18, timm:NAME, torchvision:NAME, your own (file.py:function), model.pt2, or files
    made by `leantta convert`.

    Own images are a folder (CLASS/file, DOMAIN/CLASS/file, CORRUPTION/SEVERITY/CLASS/file, or images alone),
    a list (.csv or .jsonl with path,label,domain), or tars as of webdataset. The table has accuracy with 95 %
    intervals, the paired difference to no adaptation, and below it a verdict and what to run next.

    Each run is kept as a record (JSON lines, every prediction), so it can be stopped at any moment and goes
    on where it was.

    \b
    Methods:  none             the model as it was trained
              leantta          adapts the layers of --adapt
              leantta:LAYERS   adapts these: all, half, sixteen, 8, ...; then the gate, its fields, memory:
                               leantta:half:calibrated:floor=0.1, leantta:ends:filter:memory (remembers)
              FILE.onnx        what `leantta convert` made; needs no torch
              FILE.onnx:memory its stream mode, if it was converted with --stream
    \b
    Baselines: bn_batch, alpha_bn, tent, eata, cotta, realistic_tta, sar, rotta, note, lame, sita,
              intent, mecta, ttn, mixnorm, unmix_tns; settings as in eata:recommended (default: paper),
              tent:learning_rate=0.01.
              They depend on --batch-size and on the order of the stream.
    \b
    Examples:
      leantta eval my_model.py:build --images photos/ --corrupt
      leantta eval timm:mobilenetv3_small_100 --images list.csv --classes names.txt
      leantta eval plain.onnx adapting.onnx --images photos/ --corrupt --per-cell 30
      leantta eval my_segmenter.py:build --images photos/ --corrupt --metric my_metric.py:iou
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
    from leantta.allocation import keep_blocks
    from leantta.methods.contenders import ModelFile, dataset_of, is_file, parse_contender
    from leantta.report.show import show
    from leantta.study import Study, run_study
    from leantta.surgery.adaptation import Adaptation, parse_selector

    keep_blocks()
    models = (*models, *(() if model is None else (model,)))
    if trial.is_own(images, dataset, next(iter(models), None)):
        _refuse(context, FOR_DATASETS, "a dataset that has a name")
        network, settings = trial.settings_of(
            models,
            None if methods is None else options.parts(methods),
            gate,
            layers,
            chosen=_given(context, "gate") or _given(context, "layers"),
        )
        from leantta.trial.request import Trial

        asked = Trial(
            images=images,
            settings=settings,
            model=network,
            weights=weights,
            prefix=prefix,
            layout=photos.get("layout"),
            classes=photos.get("classes"),
            calibration=photos.get("calibration"),
            preprocessing=preprocessing,
            mean=mean,
            std=std,
            corrupt=streams if photos.get("corrupt") else None,
            per_cell=10 if per_cell is None else per_cell,
            most=clean_images,
            skip_unreadable=photos.get("skip_unreadable", False),
            metric=photos.get("metric"),
            seed=one_seed(seeds),
            batch_size=16 if batch_size is None else batch_size,
            threads=threads,
            records=records,
        )
        trial.run(asked, as_json=as_json)
        return
    _refuse(context, (*trial.OWN, *PREPROCESSING), "image files of your own, not of a dataset by name")
    runs = options.parts(methods or "none,leantta")
    files = [each for each in models if is_file(each)]
    networks = [each for each in models if not is_file(each)]
    if len(networks) > 1:
        raise click.UsageError(f"one model at a time, and any number of files: {', '.join(networks)}.")
    model = networks[0] if networks else None
    if files:
        runs = [*files, *(runs if methods or model else ())]
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
        batch_size=64 if batch_size is None else batch_size,
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


def _given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _refuse(context: click.Context, names: Sequence[str], what: str) -> None:
    """Refuse options that are for other images: those that change nothing would be taken for an answer."""
    options_ = {each.name: each.opts[0] for each in context.command.params}
    idle = [options_[name] for name in names if _given(context, name)]
    if idle:
        raise click.UsageError(f"{', '.join(idle)}: only for {what}.")


def one_seed(text: str) -> int:
    """Return the seed for own images."""
    seeds = options.numbers(text, "seeds")
    if len(seeds) > 1:
        raise click.UsageError(
            "own images are evaluated with one seed; for closer intervals raise --per-cell."
        )
    return seeds[0]


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
