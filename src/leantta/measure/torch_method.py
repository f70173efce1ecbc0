"""Methods of adaptation put on a network, as they are evaluated."""

import torch

from leantta.evaluate.predictor import Predictor
from leantta.measure.torch_network import Network
from leantta.methods.options import MethodOptions
from leantta.methods.table import Subject, choose


def with_method(network: Network, method: str) -> Predictor:
    """Return the method on the network; it takes inputs as the network does, with nothing to normalise.

    Raises:
        SettingError: there is no such method.
    """
    chosen = choose(method, MethodOptions())
    channels = network.shape[0]
    subject = Subject(
        model=network.model,
        example=torch.from_numpy(network.inputs[:2]),
        mean=(0.0,) * channels,
        std=(1.0,) * channels,
        calibration=torch.from_numpy(network.inputs),
    )
    return chosen.method.build(subject, chosen.options)
