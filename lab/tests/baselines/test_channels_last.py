"""Whether a layer before leaves its values in another order in memory makes no difference to a method."""

import pytest
import torch
from torch import Tensor, nn

from baselines.two_layers import CLASSES, stream, two_layers
from leantta_lab.baselines.methods import BASELINES
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


class Flat(nn.Module):
    """Asks for the values of its maps in the usual order."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
        self.head = nn.Linear(4 * 6 * 6, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        maps = torch.relu(self.norm(self.conv(x)))
        logits: Tensor = self.head(maps.view(len(x), -1))
        return logits


@pytest.mark.parametrize("name", ["tent", "eata", "bn_batch"])
def test_a_model_that_needs_the_usual_order_gets_it(name):
    torch.manual_seed(0)
    images = torch.rand(3, 3, 8, 8).numpy()
    network, row = Flat(), BASELINES[name]
    config = row.presets["paper"](CLASSES)
    method = row.make(network, config, classes=CLASSES, source=lambda _: images)  # EATA runs it at once
    first, second = method.predict(images), method.predict(images)
    with torch.no_grad():
        assert_close(first, network.train()(torch.from_numpy(images)), atol=1e-5)
    method.reset()
    assert_close(method.predict(images), first, atol=0)
    assert_close(method.predict(images), second, atol=0)


def test_an_error_of_the_model_is_not_hidden():
    row = BASELINES["tent"]
    method = row.make(Flat(), row.presets["paper"](CLASSES), classes=CLASSES)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        method.predict(torch.rand(2, 3, 9, 9).numpy())
