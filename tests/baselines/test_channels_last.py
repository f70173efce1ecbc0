"""Whether a layer before leaves its values in another order in memory makes no difference to a method."""

import pytest
import torch
from torch import Tensor, nn

from baselines.two_layers import CLASSES, stream, two_layers
from leantta.baselines.table import BASELINES
from reference import assert_close


class ChannelsLast(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.network = two_layers()

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.network(x.contiguous(memory_format=torch.channels_last))
        return logits


@pytest.mark.parametrize("name", BASELINES)
def test_channels_may_be_last_in_memory(name):
    row = BASELINES[name]
    config = row.presets["paper"](CLASSES)
    usual, last = (
        row.make(network, config, classes=CLASSES, source=lambda n: stream(32)[0][:n])
        for network in (two_layers(), ChannelsLast())
    )
    for x in stream(3, 1):
        assert_close(last.predict(x), usual.predict(x), atol=1e-3)


def test_the_maps_are_channels_last():
    seen = []
    network = ChannelsLast()
    network.network.norm2.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    network(torch.from_numpy(stream(2)[0]))
    assert not seen[0].is_contiguous()
