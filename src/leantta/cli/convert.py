"""`leantta convert`: a trained model as one file for the device."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from leantta.cli import options
from leantta.cli.preprocessing import preprocessing_options
from leantta.gates.gate import Gate
from leantta.progress import Bar

if TYPE_CHECKING:
    from leantta.data.preprocess import Preprocessing


@click.command("convert")
@click.argument("model")
@options.weights
@options.prefix
@options.dataset
@click.option(
    "--calibration",
    required=True,
    type=click.Path(path_type=Path),
    help="Source data: CIFAR or har (.npz or folder, train split), an image folder, an .npy of inputs,\n"
    "a folder of sound files (wav, flac, ogg, mp3; with its folders).",
)
@click.option(
    "--field",
    type=click.Path(path_type=Path),
    help="Shift filter: unlabelled inputs from where the device will be, 24 or more, read as\n"
    "--calibration is. It is fitted to what is shifted there, too.",
)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The file to write.")
@options.adapt
@options.gate_options
@click.option(
    "--precision", type=click.Choice(["int8", "fp32"]), default="int8", show_default=True, help="Of the file."
)
@click.option(
    "--portable", is_flag=True, help="Operators of the ONNX standard only: for OpenVINO and other runtimes."
)
@click.option(
    "--stream",
    is_flag=True,
    help="Shift filter: a stream mode in the file, for leantta.load(..., memory=True) and run --memory.",
)
@click.option(
    "--input",
    "kind",
    type=click.Choice(["tensor", "image", "waveform"]),
    default="tensor",
    show_default=True,
    help="tensor: normalised float32 NCHW; of sound its log-mel frames. image: uint8 NHWC, preprocessing\n"
    "inside the file. waveform: 32 kHz mono, the spectrogram inside the file.",
)
@click.option(
    "--observer",
    type=click.Choice(["auto", "minmax", "percentile", "mse"]),
    default="auto",
    show_default=True,
    help="int8: how ranges are decided. auto: as is best on calibration images held out for that, with\n"
    "channels equalised if that helps.",
)
@click.option(
    "--float-budget",
    default=0.05,
    show_default=True,
    help="int8: share of the multiply-adds that may stay in float32, in the layers that rounding\n"
    "disturbs most, where int8 is not near otherwise. 0: none.",
)
@preprocessing_options
@click.option(
    "--size",
    help="Height and width that the model takes, by comma: images are scaled to cover it, and cut.\n"
    "Instead of --resize and --crop.",
)
@click.option(
    "--filling",
    type=click.Choice(["silence", "repeat"]),
    default="repeat",
    show_default=True,
    help="What follows a sound that is too short; as in training.",
)
@click.option(
    "--images", default=1000, show_default=True, help="Calibration and field inputs to use, at most."
)
@click.option(
    "--mean", help="Mean per channel of the training images, 0 to 1, by comma. Default: the dataset's."
)
@click.option("--std", help="Their standard deviation per channel, by comma.")
@click.option(
    "--classes",
    type=click.Path(path_type=Path),
    help="Text file, a class name a line. Default: the dataset's.",
)
@click.option(
    "--test",
    type=click.Path(path_type=Path),
    help="Labelled images (.npz or CIFAR folder, test split), for accuracy. Default: the calibration file's.",
)
@click.option(
    "--card", is_flag=True, help="A model card beside the file, as the Hugging Face hub takes it (.md)."
)
@click.option("--licence", help="Licence of the weights for the card, as the hub spells it, e.g. apache-2.0.")
def convert(
    model: str,
    weights: Path | None,
    prefix: str | None,
    dataset: str | None,
    calibration: Path,
    field: Path | None,
    output: Path,
    layers: str,
    gate: Gate,
    precision: str,
    portable: bool,
    stream: bool,
    kind: str,
    observer: str,
    float_budget: float,
    size: str | None,
    filling: str,
    images: int,
    mean: tuple[float, ...] | None,
    std: tuple[float, ...] | None,
    preprocessing: "Preprocessing | None",
    classes: Path | None,
    test: Path | None,
    card: bool,
    licence: str | None,
) -> None:
    """Turn MODEL into one ONNX file that adapts to each input as it runs.

    MODEL is a name (resnet18, mobilenet_v2, vggish, mobilevit_s, motion_cnn), your own function that
    returns a module (file.py:function or package.module:function), timm:NAME or torchvision:NAME where you
    have those, or a program of torch.export (FILE.pt2). The file needs only onnxruntime; `leantta run`, or
    leantta.load in Python, read what else it carries: preprocessing, class names, how unusual an input is.
    If it is stopped while it fits the filter, the same command goes on from there.

    \b
    Examples:
      leantta convert resnet18 --calibration cifar10.npz -o r18.onnx
      leantta convert resnet18 --weights my.safetensors --calibration cifar10.npz --adapt all -o r18.onnx
      leantta convert my_model.py:build --calibration photos/ --mean 0.485,0.456,0.406 \\
          --std 0.229,0.224,0.225 --resize 256 --crop 224 --classes names.txt --input image -o mine.onnx
      leantta convert timm:resnet50 --calibration photos/ --input image -o r50.onnx
      leantta convert timm:efficientnet_lite0 --weights mine.pth --calibration photos/ -o lite0.onnx
      leantta convert resnet18 --calibration cifar10.npz --field door/ -o door.onnx
      leantta convert resnet18 --calibration cifar10.npz --portable -o everywhere.onnx
      leantta convert my_model.py:build --calibration photos/ --card --licence mit -o mine.onnx
      leantta convert motion_cnn --dataset har --calibration har.npz -o motion.onnx
      leantta convert efficientnet_lite0 --calibration imagenet-sample -o lite0.onnx
      leantta convert vggish --weights birds.safetensors --calibration sounds/ --input waveform -o birds.onnx
    """
    from leantta.allocation import keep_blocks
    from leantta.export.options import FileOptions
    from leantta.export.request import Request, run_request
    from leantta.memory import StreamMemory
    from leantta.surgery.adaptation import parse_selector

    if licence is not None and not card:
        raise click.UsageError("--licence goes with --card.")
    keep_blocks()
    memory = StreamMemory() if stream else None
    request = Request(
        model=model,
        weights=weights,
        prefix=prefix,
        dataset=dataset,
        calibration=calibration,
        field=field,
        output=output,
        layers=parse_selector(layers),
        gate=gate,
        options=FileOptions(
            precision=precision,  # type: ignore[arg-type] # click has checked them
            portable=portable,
            input=kind,  # type: ignore[arg-type]
            observer=observer,  # type: ignore[arg-type]
            float_budget=float_budget,
            memory=memory,
        ),
        images=images,
        size=options.height_and_width(size),
        filling=filling,  # type: ignore[arg-type] # click has checked it
        mean=mean,
        std=std,
        preprocessing=preprocessing,
        classes=classes,
        test=test,
    )
    done = run_request(request, Bar)
    click.echo(str(done))
    if card:
        click.echo(f"card: {_write_card(output, done.accuracy, dataset, licence)}")
    click.echo(f"\nTry it: leantta verify {output} && leantta run {output} PATH")


def _write_card(
    output: Path, accuracy: tuple[float, float, int] | None, dataset: str | None, licence: str | None
) -> Path:
    from leantta.files import replacing
    from leantta.report.card import Measured, card_of

    measured = None
    if accuracy is not None:
        _, share, inputs = accuracy
        measured = Measured(right=round(share * inputs), inputs=inputs, of=dataset or "test inputs")
    path = output.with_suffix(".md")
    with replacing(path) as part:
        part.write_text(card_of(output, measured, licence), encoding="utf-8")
    return path
