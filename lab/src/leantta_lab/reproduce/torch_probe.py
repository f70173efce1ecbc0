"""A trained model and its images, for measurements that look inside."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from leantta.disturbances.copies import Disturbances, disturbances_of
from leantta.methods.method import TorchPredictor
from leantta.modalities.cells import CLEAN, CachedCells
from leantta.modalities.datasets import dataset_info, generated_cells, load_data, modality_of
from leantta.models.opening import pretrained
from leantta.nn import watch
from leantta.streams.stream import Batch, Stream
from leantta.surgery.adaptation import DEFAULT_LAYERS, Adaptation, Selector
from leantta.surgery.apply import fit
from leantta.surgery.plan import Action, Plan, plan

PROBE_BATCH = 64
"""Each image adapts alone, so a batch only saves time."""


class Probe:
    """A model of the table with its checkpoint, and the test images of its dataset, corrupted or not."""

    def __init__(self, model: str, dataset: str, images: Path) -> None:
        """Load both.

        Raises:
            LeanTTAError: there is no such checkpoint, or the images cannot be read.
        """
        self.info = dataset_info(dataset)
        self._dataset, self._images = dataset, images
        self.model = pretrained(model, dataset)
        self.cells = CachedCells(generated_cells(load_data(images, dataset, "test")))
        self.example = self.normalized(self.cells.inputs(self.cells.cell(CLEAN, 0, np.arange(2), 0)))

    def layers(self) -> list[str]:
        """Return the BatchNorms that can adapt, in execution order."""
        return plan(self.model, self.example, "all").named(Action.ADAPT)

    def source(self, count: int) -> Tensor:
        """Return so many training images, as the model takes them."""
        samples = load_data(self._images, self._dataset, "train").samples[:count]
        return self.normalized(modality_of(self._dataset).inputs(samples))

    def fitted(self, count: int, *, layers: Selector = DEFAULT_LAYERS, left_out: str | None = None) -> Plan:
        """Return a plan whose filter was fitted on so many training images, without a kind of disturbance."""
        images = self.source(count)
        known = disturbances_of(images, mean=self.info.mean, std=self.info.std)
        assert known is not None  # there is a library for images
        some = {name: each for name, each in known.library.items() if each.kind != left_out}
        fewer = Disturbances(replace(known.library, disturbances=some), known.mean, known.std)
        asked = plan(self.model, self.example, Adaptation(layers=layers))
        return fit(self.model, asked, images, disturbances=fewer)

    def normalized(self, inputs: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> Tensor:
        """Return inputs between 0 and 1 as the model takes them."""
        outside = TorchPredictor(nn.Identity(), mean=self.info.mean, std=self.info.std)
        return outside.normalized(inputs)

    def distances(self, model: nn.Module, inputs: Tensor) -> npt.NDArray[np.float32]:
        """Return how far each adapting layer of a model in this one's place finds inputs, (n, layers)."""
        parts = []
        with torch.inference_mode(), watch(model) as readings:
            for batch in inputs.split(PROBE_BATCH):
                model(batch)
                parts.append(torch.stack([reading.distance for reading in readings.values()], 1))
        found: npt.NDArray[np.float32] = torch.cat(parts).numpy()
        return found

    def outputs(self, model: nn.Module, stream: Stream) -> Iterator[tuple[Batch, Tensor]]:
        """Yield each batch of a stream with what a model in this one's place says of it."""
        with torch.inference_mode():
            for batch in stream.batches(PROBE_BATCH):
                yield batch, model(self.normalized(batch.inputs))

    def tally(self, model: nn.Module, stream: Stream) -> list[int]:
        """Return how many images of a stream a model in this one's place gets right, and of how many."""
        right = self.right(model, stream)
        return [int(right.sum()), len(right)]

    def right(self, model: nn.Module, stream: Stream) -> npt.NDArray[np.bool_]:
        """Return which images of a stream a model in this one's place gets right."""
        answers = self.outputs(model, stream)
        return np.concatenate([scores.argmax(1).numpy() == batch.labels for batch, scores in answers])
