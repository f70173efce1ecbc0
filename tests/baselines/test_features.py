import pytest
import torch
from torch import nn

from leantta.baselines.features import Features
from leantta.errors import UnsupportedModelError


def test_features_are_what_goes_into_the_layer_that_ran_last():
    class HeadFirst(nn.Module):
        def __init__(self):
            super().__init__()
            self.head, self.body = nn.Conv1d(4, 2, 1), nn.Linear(3, 4)

        def forward(self, x):
            return self.head(self.body(x).relu()[..., None]).flatten(1)

    network = HeadFirst()
    features = Features(network)
    for n in (2, 5):
        x = torch.rand(n, 3)
        network(x)
        assert torch.equal(features.of_last_pass(), network.body(x).relu())


def test_a_network_without_layers_is_refused():
    with pytest.raises(UnsupportedModelError, match="linear or convolutional"):
        Features(nn.Sequential(nn.ReLU(), nn.Flatten()))
