"""`leantta inspect`: the plan of a model as a table, or what a file says of itself."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leantta.cli import options
from leantta.errors import SettingError

if TYPE_CHECKING:
    from torch import nn

    from leantta.functional import Spread

OBSERVED = 512
"""How many samples tell how far a layer shifts, at most."""


@click.command("inspect")
@click.argument("model")
@options.weights
@options.prefix
@options.dataset
@options.adapt
@click.option(
    "--input", "shape", help="Input shape C,H,W. Default: what is known of the model, else 3,224,224."
)
@click.option(
    "--source",
    type=click.Path(path_type=Path),
    help="Source images (.npz, train split) for --adapt shift:N.",
)
@click.option(
    "--field",
    type=click.Path(path_type=Path),
    help="Images from the field (.npz, test split, or a folder) for --adapt shift:N.",
)
@options.as_json
def inspection(
    model: str,
    weights: Path | None,
    prefix: str | None,
    dataset: str | None,
    layers: str,
    shape: str | None,
    source: Path | None,
    field: Path | None,
    as_json: bool,
) -> None:
    """Show what would happen to each BatchNorm of MODEL, and why; or what a model file says of itself.

    MODEL is a name (resnet18, mobilenet_v2, vggish, mobilevit_s), your own function that returns a module
    (file.py:function or package.module:function), timm:NAME or torchvision:NAME where you have those, or a
    program of torch.export (FILE.pt2). Nothing is changed and no weights are needed; with --weights it counts
    dead channels, too. Of a file that `leantta convert` made (.onnx) it shows which layers adapt, and what to
    expect of that.

    \b
    Examples:
      leantta inspect resnet18
      leantta inspect model.onnx
      leantta inspect mobilenet_v2 --adapt 0.4
      leantta inspect resnet18 --adapt 'layer1.*,bn1'
      leantta inspect my_model.py:build --input 3,96,96 --adapt all
      leantta inspect timm:mobilenetv3_small_100 --weights mine.pth
      leantta inspect resnet18 --weights weights/resnet18_cifar10.safetensors \\
          --adapt shift:8 --source cifar10.npz --field photos/
    """
    if model.endswith(".onnx"):
        from leantta.runtime.facts import facts_of, metadata_of

        click.echo(json.dumps(metadata_of(model), indent=1) if as_json else facts_of(model))
        return
    import torch

    from leantta.models.named import default_dataset
    from leantta.models.opening import open_model
    from leantta.surgery.adaptation import Selector, parse_selector
    from leantta.surgery.plan import plan

    by_shift = layers.startswith("shift:")
    opened = open_model(model, dataset=dataset, weights=weights, prefix=prefix, untrained=not by_shift)
    network = opened.module
    size = _shape(shape) if shape else opened.input_shape or (3, 224, 224)
    example = torch.zeros(2, *size).normal_(generator=torch.Generator().manual_seed(0))
    selector: Selector = parse_selector(layers)
    if by_shift:
        selector = _most_shifted(network, layers, source, field, dataset or default_dataset(model))
    elif source or field:
        raise click.UsageError("--source and --field go with --adapt shift:N.")
    result = plan(network, example, selector)
    if as_json:
        rows = [{**asdict(row), "action": row.action.value} for row in result.rows]
        click.echo(
            json.dumps({"model": model, "input": size, "layers": rows, "notes": result.notes}, indent=1)
        )
        return
    parameters = sum(parameter.numel() for parameter in network.parameters())
    click.echo(f"{model}: {parameters:,} parameters, input {' x '.join(map(str, size))}\n")
    click.echo(str(result))


def _shape(text: str) -> tuple[int, ...]:
    size = tuple(options.numbers(text, "an input shape's sizes"))
    if min(size) < 1:
        raise click.UsageError(f"an input shape has sizes from 1, got {text!r}.")
    return size


def _most_shifted(
    network: "nn.Module", text: str, source: Path | None, field: Path | None, dataset: str | None
) -> list[str]:
    from leantta.data.datasets import Samples
    from leantta.methods.method import TorchPredictor
    from leantta.modalities.datasets import dataset_info, load_data
    from leantta.progress import Bar
    from leantta.surgery.adaptation import most_shifted
    from leantta.surgery.observe import observe, shifts

    if source is None or field is None:
        raise click.UsageError("--adapt shift:N needs --source and --field, the images to compare.")
    if dataset is None:
        raise click.UsageError("--adapt shift:N needs --dataset, for the normalisation of your own model.")
    count = text.removeprefix("shift:")
    if not count.isdigit():
        raise SettingError(f"shift:N takes a number of layers, got {text!r}")
    info = dataset_info(dataset)
    predictor = TorchPredictor(network, mean=info.mean, std=info.std)
    folder = info.modality.read_folder if field.is_dir() else None

    def observed(samples: Samples, label: str) -> "dict[str, Spread]":
        inputs = predictor.normalized(info.modality.inputs(samples[:OBSERVED]))
        return observe(network, inputs, progress=Bar(label))

    usual = observed(load_data(source, dataset, "train").samples, "source images")
    there = folder(field, OBSERVED) if folder else load_data(field, dataset, "test").samples
    return most_shifted(shifts(observed(there, "field images"), usual), int(count))
