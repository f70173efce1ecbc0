"""`leantta inspect`: the plan of a model as a table."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leantta.cli import options
from leantta.errors import SettingError

if TYPE_CHECKING:
    from torch import nn


@click.command("inspect")
@click.argument("model")
@options.weights
@options.dataset
@options.adapt
@click.option(
    "--input", "shape", help="Input shape C,H,W. Default: the named model's, 3,224,224 for your own."
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
    dataset: str,
    layers: str,
    shape: str | None,
    source: Path | None,
    field: Path | None,
    as_json: bool,
) -> None:
    """Show what would happen to each BatchNorm of MODEL, and why.

    MODEL is a name (resnet18, mobilenet_v2, vggish, mobilevit_s) or your own function that returns a module:
    file.py:function or package.module:function. Nothing is changed and no weights are needed.

    \b
    Examples:
      leantta inspect resnet18
      leantta inspect mobilenet_v2 --adapt 0.4
      leantta inspect resnet18 --adapt 'layer1.*,bn1'
      leantta inspect my_model.py:build --input 3,96,96 --adapt all
      leantta inspect resnet18 --weights weights/resnet18_cifar10.safetensors \\
          --adapt shift:8 --source cifar10.npz --field photos/
    """
    import torch

    from leantta.models.pretrained import pretrained
    from leantta.models.reference import resolve
    from leantta.models.table import MODELS
    from leantta.surgery.plan import plan
    from leantta.surgery.select import Selector, parse_selector

    by_shift = layers.startswith("shift:")
    network = pretrained(model, dataset, weights) if weights or by_shift else resolve(model)
    size = _shape(shape) if shape else MODELS[model].input_shape if model in MODELS else (3, 224, 224)
    example = torch.zeros(2, *size).normal_(generator=torch.Generator().manual_seed(0))
    selector: Selector = parse_selector(layers)
    if by_shift:
        selector = _most_shifted(network, layers, source, field, dataset)
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
    network: "nn.Module", text: str, source: Path | None, field: Path | None, dataset: str
) -> list[str]:
    import torch

    from leantta.data.datasets import Samples, dataset_info
    from leantta.data.imagefiles import find_images, read_batch
    from leantta.data.modalities import load_data, modality_of
    from leantta.methods.torch_predictor import TorchPredictor
    from leantta.progress import Bar
    from leantta.surgery.observe import observe, shifts
    from leantta.surgery.select import most_shifted

    if source is None or field is None:
        raise click.UsageError("--adapt shift:N needs --source and --field, the images to compare.")
    count = text.removeprefix("shift:")
    if not count.isdigit():
        raise SettingError(f"shift:N takes a number of layers, got {text!r}")
    info, modality = dataset_info(dataset), modality_of(dataset)
    predictor = TorchPredictor(network, mean=info.mean, std=info.std)

    def tensor(samples: Samples) -> torch.Tensor:
        return predictor.normalized(modality.inputs(samples[:512]))

    usual = observe(
        network, tensor(load_data(source, dataset, "train").images), progress=Bar("source images")
    )
    is_image_folder = field.is_dir() and info.modality == "image"
    samples = (
        read_batch(find_images(field)[:512]) if is_image_folder else load_data(field, dataset, "test").images
    )
    return most_shifted(
        shifts(observe(network, tensor(samples), progress=Bar("field images")), usual), int(count)
    )
