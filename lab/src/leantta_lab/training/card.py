"""The card of a checkpoint: what it was trained on, how, for how long, and what it is worth."""

from dataclasses import dataclass

from leantta.modalities.datasets import dataset_info
from leantta_lab.training.recipes import Recipe
from leantta_lab.training.views import VIEWS


@dataclass(frozen=True, kw_only=True)
class Trained:
    """What there is to say of a finished training."""

    model: str
    dataset: str
    recipe: Recipe
    precision: str
    init: str | None
    train_images: int
    test_images: int
    accuracy: float
    f1: float  # weighted by the classes' share
    seconds: float
    command: str
    day: str
    sha256: str


def card(trained: Trained) -> str:
    """Return the card as Markdown."""
    recipe, info = trained.recipe, dataset_info(trained.dataset)
    noun = info.modality.noun
    start = f"the weights of `{trained.init}`" if trained.init else "random weights"
    small = (
        f", the first {recipe.small_epochs} of them on images of {recipe.small_side} pixels a side"
        if recipe.small_epochs
        else ""
    )
    f1 = [f"| weighted F1 | {100 * trained.f1:.2f} % |"] if info.yes_no else []
    smoothing = f", label smoothing {recipe.label_smoothing:g}" if recipe.label_smoothing else ""
    optimizer = "AdamW" if recipe.optimizer == "adamw" else "SGD with Nesterov momentum 0.9"
    lines = [
        f"# {trained.model} on {trained.dataset}",
        "",
        "| | |",
        "|---|---|",
        f"| data | {trained.dataset}, {trained.train_images:,} training {noun} |",
        f"| accuracy | {100 * trained.accuracy:.2f} % of {trained.test_images:,} test {noun}, not adapting |",
        *f1,
        f"| starts from | {start} |",
        f"| epochs | {recipe.epochs}{small} |",
        f"| optimizer | {optimizer}, batch {recipe.batch_size}, one cycle up to {recipe.peak_rate:g}, "
        f"weight decay {recipe.weight_decay:g}{smoothing} |",
        f"| augmentation | {VIEWS[info.modality.name].summary(recipe)} |",
        f"| computed in | {trained.precision}, {trained.seconds / 60:.0f} minutes, {trained.day} |",
        f"| input | {info.modality.scaled}, minus mean {_numbers(info.mean)}, "
        f"over std {_numbers(info.std)} |",
        "| stored | parameters and statistics in half precision, safetensors |",
        f"| sha256 | `{trained.sha256}` |",
        "",
        f"    {trained.command}",
        "",
    ]
    return "\n".join(lines)


def _numbers(values: tuple[float, ...]) -> str:
    return " ".join(f"{value:g}" for value in values)
