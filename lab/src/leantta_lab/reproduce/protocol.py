"""The paper's protocol as runs: how many images a stream has at each scale, and what a row's method is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from leantta.disturbances.corruptions.names import SEVERITIES
from leantta.modalities.datasets import modality_of
from leantta.streams.by_name import StreamOptions
from leantta_lab.reproduce.run_record import Run
from leantta_lab.reproduce.target import Scale, Setting

PAPER_MODELS: Mapping[str, str] = {"resnet18": "ResNet18", "mobilenet_v2": "MobileNetV2"}
PAPER_DATASETS: Mapping[str, str] = {"cifar10": "CIFAR-10-C", "cifar100": "CIFAR-100-C"}

BATCH_OF_STATELESS = 16
"""A method that sees each image by itself is run in batches, which is faster and decides the same."""

IMAGES: Mapping[str, Mapping[Scale, int]] = {
    "abrupt": {"quick": 10, "full": 100},
    "gradual": {"quick": 5, "full": 100},
    "clean": {"quick": 1000, "full": 10_000},
}
"""Of each cell or step of a stream of images."""

QUICKLY: Mapping[str, str] = {
    "cotta": "augmentations=1",
    "eata": "fisher_images=500",
    "ttn": "source_images=250:steps=16",
}
"""What methods that take long are told when it must be quick; in full they have the paper's settings."""


@dataclass(frozen=True, kw_only=True)
class TableRow:
    """One row of a table: a method as the paper runs it, or one of ours."""

    label: str
    variant: str  # the batch size, int8, which layers
    method: (
        str  # `eata`, `cotta`, `ttn` and `realistic_tta` stand for the settings of the scale and the stream
    )
    batch_size: int = BATCH_OF_STATELESS
    new: bool = False  # it is left out of a table in which it has no record yet
    half: int | None = None  # 0 or 1: it runs over twice as many inputs, and counts this half of them

    @property
    def key(self) -> tuple[str, str]:
        """By which the paper's cells are found."""
        return self.label, self.variant

    def text(self, scale: Scale, stream: str) -> str:
        """Return the method as the table of methods knows it."""
        if self.method in QUICKLY:
            return f"{self.method}:paper" + (f":{QUICKLY[self.method]}" if scale == "quick" else "")
        if self.method == "realistic_tta":
            return "realistic_tta:paper" if stream == "abrupt" else "realistic_tta:paper-gradual"
        return self.method


NONE = TableRow(label="None", variant="batch 1", method="none")
NONE_INT8 = TableRow(label="None", variant="int8", method="int8:none")
LEAN = TableRow(label="LeanTTA", variant="batch 1", method="leantta:half:paper")
LEAN_ALL = TableRow(label="LeanTTA", variant="all", method="leantta:all:paper")
LEAN_INT8 = TableRow(label="LeanTTA", variant="int8", method="int8:half:paper")
CALIBRATED = TableRow(
    label="LeanTTA, calibrated gate", variant="batch 1", method="leantta:sixteen:calibrated"
)
CALIBRATED_INT8 = TableRow(label="LeanTTA, calibrated gate", variant="int8", method="int8:sixteen:calibrated")
EAGER = TableRow(
    label="LeanTTA, calibrated gate",
    variant="floor 0.075",
    method="leantta:sixteen:calibrated:floor=0.075",
)
FILTER = TableRow(label="LeanTTA, shift filter", variant="batch 1", method="leantta:ends:filter", new=True)
FILTER_INT8 = TableRow(label="LeanTTA, shift filter", variant="int8", method="int8:ends:filter", new=True)
REMEMBERING = TableRow(
    label="LeanTTA, shift filter, stream mode",
    variant="batch 1",
    method="leantta:ends:filter:memory",
    new=True,
)

BASELINES: Mapping[str, str] = {
    "RealisticTTA": "realistic_tta",
    "Tent": "tent:paper",
    "EATA": "eata",
    "CoTTA": "cotta",
    "TTN": "ttn",
    "UnMix-TNS": "unmix_tns:paper",
}
"""The methods that the paper compares with, by its names for them, and two that it does not have."""

NOT_IN_THE_PAPER = ("TTN", "UnMix-TNS")

MIXNORM = TableRow(label="MixNorm", variant="batch 1", method="mixnorm:paper", new=True)
"""It takes the inputs of a batch in their order, so that it is run in batches and decides the same."""


def batched(*labels: str, sizes: Sequence[int] = (1,)) -> tuple[TableRow, ...]:
    """Return rows of some of `BASELINES`, one for each batch size."""
    return tuple(
        TableRow(
            label=label,
            variant=f"batch {size}",
            method=BASELINES[label],
            batch_size=size,
            new=label in NOT_IN_THE_PAPER,
        )
        for label in labels
        for size in sizes
    )


def steps_of(dataset: str, stream: str) -> int:
    """Return how many cells or steps a stream over a dataset has.

    >>> steps_of("cifar10", "abrupt"), steps_of("cifar10", "gradual"), steps_of("cifar10", "clean")
    (95, 190, 1)
    """
    cells = len(modality_of(dataset).corruptions) * len(SEVERITIES)
    return {"abrupt": cells, "gradual": 2 * cells, "severity5": cells // len(SEVERITIES)}.get(stream, 1)


def stream_run(
    setting: Setting,
    model: str,
    dataset: str,
    stream: str,
    row: TableRow,
    seed: int,
    *,
    inputs: Mapping[Scale, int] | None = None,
    corruption: str | None = None,
) -> Run:
    """Return the run of a row over a stream.

    `inputs` are those of each cell or step, as many as there are `IMAGES` if not given; the corruption is
    that of the stream `one_cell`, at the worst severity.
    """
    each = (inputs or IMAGES[stream])[setting.scale] * (1 if row.half is None else 2)
    severity = None if corruption is None else SEVERITIES[-1]
    return Run(
        model=model,
        dataset=dataset,
        method=row.text(setting.scale, stream),
        stream=stream,
        options=StreamOptions(seed=seed, images=each, corruption=corruption, severity=severity),
        inputs=each * steps_of(dataset, stream),
        batch_size=row.batch_size,
    )
