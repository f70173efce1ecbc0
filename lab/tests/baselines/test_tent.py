import numpy as np
import pytest
import torch

from baselines.two_layers import CLASSES, Adam, affine, doubt, on_batch, stream, twin, two_layers
from leantta.errors import SettingError
from leantta_lab.baselines.tent import Tent, TentConfig
from reference import assert_close


@pytest.mark.parametrize("rate", [1e-3, 0.05])
def test_each_batch_takes_a_step_of_adam_down_its_entropy(rate):
    network = two_layers()
    tent = Tent(network, TentConfig(learning_rate=rate), classes=CLASSES)
    weights = twin(network)
    adam = Adam(affine(weights), rate)
    for x in stream(8, 3, 1, 8, 1):
        logits = on_batch(weights, torch.from_numpy(x))
        assert_close(tent.predict(x), logits.detach(), atol=2e-4)
        adam.step(doubt(logits).mean())
    for name, value in tent.network.named_parameters():
        assert_close(value.detach(), weights[name].detach(), atol=1e-4)


def test_adams_betas_are_taken():
    (x,) = stream(8)
    tent = Tent(two_layers(), TentConfig(beta1=0.5, beta2=0.6), classes=CLASSES)
    tent.predict(x)
    assert tent.optimizer.param_groups[0]["betas"] == (0.5, 0.6)


def test_only_scales_and_offsets_learn():
    network = two_layers()
    tent = Tent(network, TentConfig(learning_rate=0.1), classes=CLASSES)
    for x in stream(8, 8):
        tent.predict(x)
    for name, value in network.named_parameters():
        same = torch.equal(value, tent.network.get_parameter(name))
        assert same == (not name.startswith("norm")), name


def test_a_loss_that_is_no_number_is_no_step():
    network = two_layers()
    network.head.bias.data[0] = np.inf
    tent = Tent(network, TentConfig(), classes=CLASSES)
    for x in stream(8, 1):
        tent.predict(x)
    for name, value in network.named_parameters():
        assert torch.equal(value, tent.network.get_parameter(name)), name


@pytest.mark.parametrize("changed", [{"learning_rate": -1}, {"beta1": 1.0}, {"beta2": float("nan")}], ids=str)
def test_settings_that_adam_cannot_have_are_refused(changed):
    with pytest.raises(SettingError, match=next(iter(changed))):
        TentConfig(**changed)
