"""The card of a model file: what it is for, what it was made from, what it is worth, and where it ends.

A card is Markdown behind a block of metadata, as the Hugging Face hub takes it (README.md of a repository).
All of it comes from what the file says of itself, and from accuracy that was measured when it was made.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from leantta.evaluate.intervals import wilson
from leantta.files import sha256_of
from leantta.runtime.facts import expectations, opened
from leantta.runtime.metadata import Info

Rows = Sequence[tuple[str, str]]

TASKS: Mapping[tuple[str, str], str] = {
    ("image", "classes"): "image-classification",
    ("image", "map"): "image-segmentation",
    ("sound", "classes"): "audio-classification",
}
"""What the hub calls the task, by what goes in and what the model decides."""

NOT_STATED = "Not stated. Whoever publishes the file has to say it; `--licence` writes it here."

LIMITS = (
    "It adapts to what *happened to* an input (light, blur, noise, a sensor). It does not learn new classes, "
    "and it is no help against inputs that were made to deceive it.",
    "`shift` says how far an input is from the source inputs; 1 % of these exceed 1. A low shift is no "
    "promise that the answer is right.",
    "Expected gain and cost were told by the fit, on disturbances of source inputs. "
    "`leantta eval FILE --images PATH --corrupt` measures them on yours.",
)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Accuracy on labelled inputs, as it was measured."""

    right: int
    inputs: int
    of: str  # which inputs, e.g. "cifar10"

    def __str__(self) -> str:
        """Return it in % with its 95 % interval."""
        return accuracy_text(self.right, self.inputs)


def accuracy_text(right: int, inputs: int) -> str:
    """Return an accuracy in % with its 95 % interval.

    >>> accuracy_text(948, 1000)
    '94.8 % [93.2, 96.0] of 1,000'
    """
    share = wilson(right, inputs)
    return f"{100 * share.value:.1f} % [{100 * share.low:.1f}, {100 * share.high:.1f}] of {inputs:,}"


def card_of(path: Path, measured: Measured | None = None, licence: str | None = None) -> str:
    """Return the card of the model file at `path`.

    Raises:
        ArtifactError: the file is damaged, not ours, or too new.
    """
    container, info = opened(path)
    return card(
        info,
        name=path.name,
        size_bytes=container.size,
        sha256=sha256_of(path),
        measured=measured,
        licence=licence,
    )


def card(
    info: Info,
    *,
    name: str,
    size_bytes: int,
    sha256: str,
    measured: Measured | None = None,
    licence: str | None = None,
) -> str:
    """Return the card of the model file `name`."""
    kind = "sound" if info.input.sound is not None else "image" if info.input.is_image else "signal"
    role = "array" if info.deciding is None else info.deciding.role
    task = TASKS.get((kind, role))
    title = name.removesuffix(".onnx")
    metadata = {
        "license": licence,
        "library_name": "onnx",
        "pipeline_tag": task,
        "tags": ["onnx", "leantta", info.precision, "test-time-adaptation", "batch-normalization"],
        "model-index": None if measured is None or task is None else [index_entry(title, task, measured)],
    }
    adapts = f"{len(info.layers)} of its {len(info.plan)} BatchNorms adapt to each single input as it runs"
    what = "nothing in it adapts" if info.gate is None else f"{adapts}, without memory and without gradients"
    return "\n".join(
        [
            front_matter(metadata),
            f"# {title}",
            "",
            f"`{info.model}` as one {info.precision} ONNX file: {what}. It needs numpy and onnxruntime.",
            "",
            *_section("Intended use", _use(info, name, kind)),
            *_section("Data", table(_data(info))),
            *_section("Figures", table(_figures(info, measured))),
            *_section("Limits", [f"- {line}" for line in LIMITS]),
            *_section("The file", table(_file(info, size_bytes, sha256))),
            *_section("Licence", [licence or NOT_STATED]),
        ]
    )


def front_matter(values: Mapping[str, object]) -> str:
    """Return a block of metadata in YAML; what is None is left out.

    >>> print(front_matter({"license": None, "tags": ["onnx"]}))
    ---
    tags: ["onnx"]
    ---
    """
    lines = [
        f"{key}: {json.dumps(value, ensure_ascii=False)}"
        for key, value in values.items()
        if value is not None
    ]
    return "\n".join(["---", *lines, "---"])


def index_entry(name: str, task: str, measured: Measured) -> dict[str, object]:
    """Return a result as the hub lists it."""
    value = round(100 * measured.right / measured.inputs, 2)
    result = {
        "task": {"type": task},
        "dataset": {"name": measured.of, "type": measured.of},
        "metrics": [{"type": "accuracy", "value": value}],
    }
    return {"name": name, "results": [result]}


def table(rows: Rows) -> list[str]:
    """Return a table of two columns as lines of Markdown."""
    return ["| | |", "|---|---|", *(f"| {key} | {value.replace('|', '/')} |" for key, value in rows)]


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return [f"## {title}", "", *lines, ""]


def _use(info: Info, name: str, kind: str) -> list[str]:
    what = {"image": "images", "sound": "sound", "signal": "signals"}[kind]
    decides = "numbers for each input" if info.deciding is None else f"{info.outputs} scores"
    if info.classes is not None:
        shown = ", ".join(info.classes[:10])
        decides += f" ({shown}{', ...' if len(info.classes) > 10 else ''})"
    return [
        f"For {what} like those that the network was trained on, and for such {what} under light, weather "
        f"or sensors that it was not trained for. It takes {info.input.kind} "
        f"{' x '.join(map(str, info.input.shape))} and gives {decides}.",
        "",
        f"    leantta run {name} PATH",
        "",
        "or in Python:",
        "",
        "    import leantta",
        "",
        f'    session = leantta.load("{name}")',
        "    seen = session.predict_one(x)  # its label, probability and shift",
    ]


def _data(info: Info) -> Rows:
    told = [(key, value) for key, value in expectations(info) if key.endswith("images")]
    weights = [("weights (sha256)", f"`{info.weights_sha256}`")] if info.weights_sha256 else []
    mean_std = [
        (key, ", ".join(f"{each:.4g}" for each in values))
        for key, values in (("mean", info.input.mean), ("std", info.input.std))
        if values is not None
    ]
    return [*told, *mean_std, *weights]


def _figures(info: Info, measured: Measured | None) -> Rows:
    rows = [] if measured is None else [(f"accuracy, clean {measured.of}", str(measured))]
    told = info.calibration or {}
    agreement, inputs = told.get("agreement"), told.get("held_out")
    if isinstance(agreement, int | float) and isinstance(inputs, int) and inputs:
        rows.append(
            ("same decision as in torch", f"{accuracy_text(round(agreement * inputs), inputs)} held out")
        )
    rows += [(key, value) for key, value in expectations(info) if not key.endswith("images")]
    return rows or [("", "None was measured when the file was made.")]


def _file(info: Info, size_bytes: int, sha256: str) -> Rows:
    made = ", ".join(f"{name} {version}" for name, version in sorted(info.versions.items()))
    return [
        ("format", f"{info.format}"),
        ("size", f"{size_bytes / 1e6:.2f} MB"),
        ("sha256", f"`{sha256}`"),
        ("gate", "none" if info.gate is None else info.gate.described(info.gate)),
        ("stream mode", "no" if info.memory is None else "yes"),
        ("made with", made),
    ]
