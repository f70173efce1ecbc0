"""The card of a checkpoint: what it was trained on, how, for how long, and what it is worth."""

from collections.abc import Mapping
from dataclasses import dataclass

from leantta.modalities.datasets import dataset_info
from leantta.report.card import Measured, Rows, front_matter, index_entry, table
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
    teacher: str | None
    train_images: int
    test_images: int
    accuracy: float
    f1: float  # weighted by the classes' share
    seconds: float
    command: str
    day: str
    sha256: str


LICENCE = "apache-2.0"

TERMS: Mapping[str, str] = {
    "esc50": "ESC-50 is CC BY-NC: ask what that means for weights before you sell something with them.",
    "har": "UCI HAR is CC BY 4.0: name its authors.",
}
"""What the data ask for, where their authors say it."""

TASKS: Mapping[str, str] = {"image": "image-classification", "sound": "audio-classification"}
"""What the Hugging Face hub calls the task, by kind of data."""

LIMITS = (
    "For research and as a start for your own training: it was trained for few epochs, on two cores.",
    "It knows the classes of its data and nothing else, and says one of them of everything. It is not fit "
    "for decisions about people.",
    "Shifted inputs (noise, blur, weather, another sensor) cost it accuracy: `leantta convert` and "
    "`leantta eval` are about that.",
)


def card(trained: Trained) -> str:
    """Return the card as Markdown, behind a block of metadata as the Hugging Face hub takes it."""
    recipe, info = trained.recipe, dataset_info(trained.dataset)
    noun = info.modality.noun
    start = f"the weights of `{trained.init}`" if trained.init else "random weights"
    small = "".join(f", {epochs} on images of {side} pixels a side" for side, epochs in recipe.growth)
    grown = f"{small}, the rest in full size" if small else ""
    f1 = [("weighted F1", f"{100 * trained.f1:.2f} %")] if info.yes_no else []
    smoothing = f", label smoothing {recipe.label_smoothing:g}" if recipe.label_smoothing else ""
    mixup = f", mixup with alpha {recipe.mixup:g}" if recipe.mixup else ""
    average = f", running average of the weights ({recipe.average:g} a step)" if recipe.average else ""
    taught = [("teacher", f"{trained.teacher}, {recipe.taught:g} of the loss")] if trained.teacher else []
    optimizer = "AdamW" if recipe.optimizer == "adamw" else "SGD with Nesterov momentum 0.9"
    right = Measured(
        right=round(trained.accuracy * trained.test_images), inputs=trained.test_images, of=trained.dataset
    )
    return framed(
        model=trained.model,
        dataset=trained.dataset,
        figures=[(f"accuracy, test {noun}, not adapting", str(right)), *f1],
        training=[
            ("data", f"{trained.dataset}, {trained.train_images:,} training {noun}"),
            ("starts from", start),
            ("epochs", f"{recipe.epochs}{grown}"),
            (
                "optimizer",
                f"{optimizer}, batch {recipe.batch_size}, one cycle up to {recipe.peak_rate:g}, "
                f"weight decay {recipe.weight_decay:g}{smoothing}{average}",
            ),
            *taught,
            ("augmentation", VIEWS[info.modality.name].summary(recipe) + mixup),
            ("computed in", f"{trained.precision}, {trained.seconds / 60:.0f} minutes, {trained.day}"),
            (
                "input",
                f"{info.modality.scaled}, minus mean {_numbers(info.mean)}, over std {_numbers(info.std)}",
            ),
            ("stored", "parameters and statistics in half precision, safetensors"),
            ("sha256", f"`{trained.sha256}`"),
        ],
        command=trained.command,
        measured=right,
    )


def framed(
    *, model: str, dataset: str, figures: Rows, training: Rows, command: str, measured: Measured | None
) -> str:
    """Return the card of a checkpoint, from what is known of its training and its figures."""
    info = dataset_info(dataset)
    task, name = TASKS.get(info.modality.name), f"{model}_{dataset}"
    metadata = {
        "license": LICENCE,
        "library_name": "pytorch",
        "pipeline_tag": task,
        "datasets": [dataset],
        "tags": ["leantta", "test-time-adaptation", "batch-normalization"],
        "model-index": None if measured is None or task is None else [index_entry(name, task, measured)],
    }
    use = f"To repeat the research with, and to try adapting on: `leantta convert {model}`."
    terms = f" {TERMS[dataset]}" if dataset in TERMS else ""
    licence = f"The weights are {LICENCE}, as this repository. The data have terms of their own.{terms}"
    sections = {
        "Intended use": [use],
        "Figures": table(figures),
        "Data and training": [*table(training), "", f"    {command}"],
        "Limits": [f"- {line}" for line in LIMITS],
        "Licence": [licence],
    }
    lines = [front_matter(metadata), f"# {model} on {dataset}", ""]
    for title, text in sections.items():
        lines += [f"## {title}", "", *text, ""]
    return "\n".join(lines)


def _numbers(values: tuple[float, ...]) -> str:
    return " ".join(f"{value:g}" for value in values)
