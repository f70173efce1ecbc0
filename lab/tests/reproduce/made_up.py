"""Records without a run: what a run of the protocol would leave if a given share of it were right."""

from pathlib import Path

import numpy as np

from leantta.evaluate.loop import evaluate
from leantta.evaluate.predictor import Inputs, Logits
from leantta.evaluate.record import RunSettings
from leantta.methods.parse import parse_method
from leantta.modalities.datasets import dataset_info
from leantta.streams.stream import Domain, Stream
from leantta.surgery.adaptation import Adaptation
from leantta_lab.reproduce.protocol import TableRow, stream_run
from leantta_lab.reproduce.run_record import Run
from leantta_lab.reproduce.target import Scale, Setting


def cell_run(setting: Setting, corruption: str, row: TableRow, images: int) -> Run:
    """The run of a row over one corruption of CIFAR-10-C at severity 5."""
    inputs: dict[Scale, int] = {"quick": images, "full": images}
    return stream_run(
        setting, "resnet18", "cifar10", "one_cell", row, 0, inputs=inputs, corruption=corruption
    )


class Oracle:
    """Is right about as many inputs of each ten as it is told, and wrong about the others."""

    stateless = True

    def __init__(self, right_of_ten: int) -> None:
        self.right = right_of_ten

    def predict(self, images: Inputs) -> Logits:
        position = images[:, 0].astype(np.int64)  # the stream below gives positions as inputs; labels are 0
        logits = np.zeros((len(images), 2), np.float32)
        logits[:, 0] = np.where(position % 10 < self.right, 1, -1)
        return logits

    def reset(self) -> None:
        """There is nothing to forget."""


def write(run: Run, setting: Setting, right_of_ten: int, **changed: object) -> Path:
    """Leave the record of a run; `changed` are fields of its settings that differ from it."""
    options = run.options
    told = {"corruption": options.corruption, "severity": options.severity}
    stream = Stream(
        name=run.stream,
        seed=options.seed,
        settings={key: value for key, value in told.items() if value is not None},  # type: ignore[misc]
        domains=(Domain(options.corruption or "fog", options.severity or 3),),
        domain=np.zeros(run.inputs, np.int64),
        labels=np.zeros(run.inputs, np.int64),
        index=np.arange(run.inputs),
        load=lambda positions: positions[:, None].astype(np.float32),
    )
    classes = dataset_info(run.dataset).num_classes
    usual = {
        "model": run.model,
        "method": run.label,
        "dataset": run.dataset,
        "method_settings": {} if run.file else parse_method(run.method, Adaptation()).settings(classes),
        "threads": 1,
    }
    settings = RunSettings(**{**usual, **changed})  # type: ignore[arg-type]
    words = [run.model, run.dataset, run.stream, run.label, f"b{run.batch_size}", f"seed{options.seed}"]
    more = f"{options.corruption}{len(list(setting.folder.glob('*')))}"
    path = setting.folder / ("-".join(word.replace(":", "_") for word in words) + f"-{more}.jsonl")
    evaluate(Oracle(right_of_ten), stream, batch_size=run.batch_size, settings=settings, path=path)
    return path
