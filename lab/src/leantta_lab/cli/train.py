"""`leantta train`: a model of the table on CIFAR images or motion windows."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leantta.cli import options
from leantta.progress import Bar

if TYPE_CHECKING:
    from leantta_lab.training.loop import Step

SMOOTHING = 0.02
TAUGHT = 0.7


class Stage(options.AnyType):
    """Epochs on small images, as SIDE:EPOCHS."""

    name = "side:epochs"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """Return both numbers."""
        side, colon, epochs = str(value).partition(":")
        if not (colon and side.isdecimal() and epochs.isdecimal()):
            self.fail(f"{value!r} is not of the form SIDE:EPOCHS, such as 16:10", param, ctx)
        return int(side), int(epochs)


class Shown:
    """Draws the steps of a training on a bar: the remaining time, loss and accuracy smoothed."""

    def __init__(self, bar: Bar) -> None:
        self.bar = bar
        self.name = bar.label
        self.loss = self.accuracy = float("nan")
        self.first: int | None = None

    def __call__(self, step: "Step") -> None:
        """Show one more step; what was done before a stop does not count for the remaining time."""
        if self.first is None:
            self.first, self.loss, self.accuracy = step.done - 1, step.loss, step.accuracy
        self.loss += SMOOTHING * (step.loss - self.loss)
        self.accuracy += SMOOTHING * (step.accuracy - self.accuracy)
        self.bar.label = (
            f"{self.name} epoch {step.epoch + 1} loss {self.loss:.3f} accuracy {100 * self.accuracy:.1f} %"
        )
        self.bar(step.done - self.first, step.total - self.first)


@click.command()
@click.argument("model")
@options.images
@options.dataset
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Checkpoint to write, with a card (.md) beside it. [default: weights/MODEL_DATASET.safetensors]",
)
@click.option(
    "--init",
    type=click.Path(path_type=Path),
    help="Start from this checkpoint; if it has other classes, its last layer is made anew.",
)
@click.option("--epochs", type=int, help="Times that every image is seen. [default: the recipe's]")
@click.option(
    "--small",
    "growth",
    type=Stage(),
    multiple=True,
    help="SIDE:EPOCHS, such as 16:10: the first 10 epochs see images of 16 pixels a side, which cost a\n"
    "third. May be given again for the epochs that follow. [default: the recipe's]",
)
@click.option("--lr", type=float, help="Peak of the learning rate. [default: the recipe's]")
@click.option("--batch-size", type=int, help="Images or windows per step. [default: the recipe's]")
@click.option(
    "--label-smoothing", type=float, help="Share of the target that is spread over all classes. [default: 0]"
)
@click.option("--mixup", type=float, help="Mix images in pairs; alpha of the Beta distribution. [default: 0]")
@click.option("--cutout", type=int, help="Side of the square that is blanked. [default: the recipe's]")
@click.option(
    "--average",
    type=float,
    help="Keep a running average of the weights, such as 0.999 of it at each step. [default: 0]",
)
@click.option(
    "--teacher", type=options.Brought("models"), help="Learn from the scores of this model, with its weights."
)
@click.option(
    "--taught", type=float, help="Share of the loss that is the teacher's. [default: 0.7 with a teacher]"
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of weights, order and augmentation.")
@click.option(
    "--precision",
    type=click.Choice(["auto", "bf16", "fp32"]),
    default="auto",
    show_default=True,
    help="auto: bf16 where the processor has it. Elsewhere bf16 is ten times slower than fp32.",
)
@click.option("--threads", type=int, help="Threads of torch. Default: torch's own choice.")
def train(
    model: str,
    images: Path,
    dataset: str | None,
    output: Path | None,
    init: Path | None,
    epochs: int | None,
    growth: tuple[tuple[int, int], ...],
    lr: float | None,
    batch_size: int | None,
    label_smoothing: float | None,
    mixup: float | None,
    cutout: int | None,
    average: float | None,
    teacher: str | None,
    taught: float | None,
    seed: int,
    precision: str,
    threads: int | None,
) -> None:
    """Train MODEL: resnet18, mobilenet_v2, mobilevit_s on CIFAR, motion_cnn on har, vggish on esc50.

    Images are cropped, flipped and partly blanked, windows moved in time, clips mixed, moved and made louder
    or quieter; one cycle of the learning rate.
    Every minute the state is kept beside the output (OUTPUT.training): stop at any moment, give the same
    command again, and it goes on.

    \b
    Examples:
      leantta train resnet18 --images cifar10.npz
      leantta train resnet18 --dataset cifar100 --images cifar100.npz \\
          --init weights/resnet18_cifar10.safetensors --epochs 3 --lr 0.05
      leantta train mobilevit_s --images cifar10.npz --epochs 10 --small 32:7
      leantta train resnet18 --images cifar10.npz --epochs 65 --small 16:10 --small 24:30 \\
          --batch-size 256 --lr 0.2 --label-smoothing 0.1 --mixup 0.2 --average 0.999
      leantta train mobilenet_v2 --images cifar10.npz --epochs 30 --teacher resnet18
      leantta train motion_cnn --images har.npz
      leantta train vggish --images birds
    """
    from dataclasses import replace

    from leantta.modalities.datasets import modality_of
    from leantta.models.named import model_entry
    from leantta_lab.training.recipes import recipe_of, shortened
    from leantta_lab.training.request import TrainRequest
    from leantta_lab.training.request import train as run_training

    recipe = recipe_of(model)
    dataset = dataset or model_entry(model).trained_on
    epochs = recipe.epochs if epochs is None else epochs
    asked = {
        "peak_rate": lr,
        "batch_size": batch_size,
        "label_smoothing": label_smoothing,
        "mixup": mixup,
        "cutout": cutout,
        "average": average,
        "taught": TAUGHT if teacher and taught is None else taught,
    }
    request = TrainRequest(
        model=model,
        images=images,
        output=output or Path("weights") / f"{model}_{dataset}.safetensors",
        recipe=replace(
            recipe,
            epochs=epochs,
            growth=growth or shortened(recipe.growth, epochs - 1),
            seed=seed,
            **{name: value for name, value in asked.items() if value is not None},  # type: ignore[arg-type]
        ),
        dataset=dataset,
        init=init,
        teacher=teacher,
        precision=precision,  # type: ignore[arg-type]
        threads=threads,
        command=shlex.join(["leantta", *sys.argv[1:]]),
    )
    done = run_training(request, Shown(Bar(f"{model} {dataset}")))
    noun = modality_of(dataset).noun
    click.echo(
        f"{request.output}: {100 * done.accuracy:.2f} % of {done.test_images:,} test {noun} after "
        f"{request.recipe.epochs} epochs. Card: {request.output.with_suffix('.md')}"
    )
