"""Methods of adaptation put on a network, as they are evaluated."""

from functools import partial

import numpy as np
import torch

from leantta.data.datasets import Inputs
from leantta.evaluate.predictor import Logits, Predictor
from leantta.methods.method import SourceModel
from leantta.methods.parse import parse_method
from leantta.modalities.cells import GeneratedCells
from leantta.modalities.datasets import dataset_info
from leantta.streams.builders import abrupt
from leantta.surgery.adaptation import Adaptation
from leantta_lab.baselines.methods import BASELINES
from leantta_lab.datasets.cifar import load_images
from leantta_lab.measure.network import Network
from leantta_lab.samples import CIFAR10_SAMPLE

MET = 95
"""How many inputs a baseline meets before it meets them again: one of each corruption and severity."""


class OnStream:
    """A baseline that meets new inputs at each call, whatever it is given: as many, of a stream.

    What it costs depends on them: EATA leaves out what it has learnt, CoTTA looks again where it is unsure.
    """

    stateless = False

    def __init__(self, predictor: Predictor, stream: Inputs) -> None:
        self.predictor, self.stream, self.position = predictor, stream, 0

    def predict(self, images: Inputs) -> Logits:
        """Return scores of the next inputs of the stream."""
        due = np.arange(self.position, self.position + len(images)) % len(self.stream)
        self.position += len(images)
        return self.predictor.predict(self.stream[due])

    def reset(self) -> None:
        """Begin the stream anew, and the baseline."""
        self.position = 0
        self.predictor.reset()


def with_method(network: Network, method: str) -> Predictor:
    """Return the method on the network; it takes inputs as the network does, with nothing to normalise.

    A baseline meets a stream instead: corrupted images where the network takes images, else its inputs.

    Raises:
        SettingError: there is no such method.
        LeanTTAError: corrupted images cannot be made here.
    """
    chosen = parse_method(method, Adaptation())
    channels = network.shape[0]
    mean, std = np.zeros((channels, 1, 1), np.float32), np.ones((channels, 1, 1), np.float32)
    met = None
    if method.partition(":")[0] in BASELINES:
        met = network.held_out
        if network.inputs_are == CIFAR10_SAMPLE.name:
            info = dataset_info("cifar10")
            mean, std = (np.reshape(values, (3, 1, 1)).astype(np.float32) for values in (info.mean, info.std))
            met = _corrupted()
    predictor = chosen.build(
        SourceModel(
            model=network.model,
            example=torch.from_numpy(network.inputs[:2]),
            mean=mean.reshape(-1).tolist(),
            std=std.reshape(-1).tolist(),
            classes=_logits(network),
            source=partial(_first, network.inputs * std + mean),
        )
    )
    return predictor if met is None else OnStream(predictor, met)


def _first(inputs: Inputs, count: int) -> Inputs:
    return inputs[:count]


def _corrupted() -> Inputs:
    """Return images between 0 and 1, as the abruptly changing stream has them."""
    cells = GeneratedCells(load_images(CIFAR10_SAMPLE, "cifar10", "test"))
    stream = abrupt(cells, 1, seed=0)
    return stream.load(np.arange(MET))


def _logits(network: Network) -> int:
    with torch.no_grad():
        return int(network.model(torch.from_numpy(network.inputs[:1])).shape[1])
