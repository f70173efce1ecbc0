"""The paper's protocol as runs: how many images a stream has at each scale, and what a row's method is."""

from collections.abc import Mapping
from dataclasses import dataclass

from leantta.data.corruptions.names import NAMES, SEVERITIES
from leantta.data.stream_table import StreamOptions
from leantta.reproduce.run_record import Run
from leantta.reproduce.target import Scale, Setting

MODELS: Mapping[str, str] = {"resnet18": "ResNet18", "mobilenet_v2": "MobileNetV2"}
DATASETS: Mapping[str, str] = {"cifar10": "CIFAR-10-C", "cifar100": "CIFAR-100-C"}

BATCH_OF_STATELESS = 16
"""A method that sees each image by itself is run in batches, which is faster and decides the same."""

STEPS: Mapping[str, int] = {
    "abrupt": len(NAMES) * len(SEVERITIES),
    "gradual": 2 * len(NAMES) * len(SEVERITIES),
    "clean": 1,
}
"""The cells or steps of each stream."""

IMAGES: Mapping[Scale, Mapping[str, int]] = {
    "quick": {"abrupt": 10, "gradual": 5, "clean": 1000},
    "full": {"abrupt": 100, "gradual": 100, "clean": 10_000},
}
"""Of each cell or step."""

QUICKLY: Mapping[str, str] = {"cotta": "augmentations=1", "eata": "fisher_images=500"}
"""What methods that take long are told when it must be quick; in full they have the paper's settings."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of a table: a method as the paper runs it, or one of ours."""

    label: str
    variant: str  # the batch size, int8, which layers
    method: str  # `eata`, `cotta` and `realistic_tta` stand for the settings of the scale and the stream
    batch_size: int = BATCH_OF_STATELESS

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


NONE = Row(label="None", variant="batch 1", method="none")
NONE_INT8 = Row(label="None", variant="int8", method="int8:none")
LEAN = Row(label="LeanTTA", variant="batch 1", method="leantta:half:paper")
LEAN_INT8 = Row(label="LeanTTA", variant="int8", method="int8:half:paper")
CALIBRATED = Row(label="LeanTTA, calibrated gate", variant="batch 1", method="leantta:sixteen:calibrated")
CALIBRATED_INT8 = Row(label="LeanTTA, calibrated gate", variant="int8", method="int8:sixteen:calibrated")
EAGER = Row(
    label="LeanTTA, calibrated gate",
    variant="floor 0.075",
    method="leantta:sixteen:calibrated:floor=0.075",
)
REMEMBERING = Row(
    label="LeanTTA, calibrated gate, stream mode",
    variant="batch 1",
    method="leantta:sixteen:calibrated:memory",
)


def batched(label: str, method: str, batch_size: int) -> Row:
    """Return the row of a method that depends on the batch."""
    return Row(label=label, variant=f"batch {batch_size}", method=method, batch_size=batch_size)


def stream_run(setting: Setting, model: str, dataset: str, stream: str, row: Row, seed: int) -> Run:
    """Return the run of a row over one of these streams."""
    images = IMAGES[setting.scale][stream]
    return run_of(setting, row, seed, model, dataset, stream, images, STEPS[stream])


def run_of(
    setting: Setting, row: Row, seed: int, model: str, dataset: str, stream: str, images: int, steps: int
) -> Run:
    """Return the run of a row over a stream of so many steps or cells, with so many images each."""
    return Run(
        model=model,
        dataset=dataset,
        method=row.text(setting.scale, stream),
        stream=stream,
        options=StreamOptions(seed=seed, images=images),
        inputs=images * steps,
        batch_size=row.batch_size,
    )


def cell_run(setting: Setting, corruption: str, row: Row, images: int, seed: int) -> Run:
    """Return the run of a row on ResNet18 over one corruption of CIFAR-10-C at severity 5."""
    return Run(
        model="resnet18",
        dataset="cifar10",
        method=row.text(setting.scale, "one_cell"),
        stream="one_cell",
        options=StreamOptions(seed=seed, images=images, corruption=corruption, severity=SEVERITIES[-1]),
        inputs=images,
        batch_size=row.batch_size,
    )
