import numpy as np
import pytest
import torch
from torch import nn

from baselines.two_layers import CLASSES, plain, stream, twin, two_layers
from leantta.errors import DataError, SettingError
from leantta_lab.baselines.base import BELOW_ONE, Config, Normalized, Source, TwoLogits, check_range
from reference import assert_close


def test_inputs_are_normalized_channel_by_channel():
    x = torch.rand(2, 3, 4, 5)
    found = Normalized(nn.Identity(), (0.1, 0.2, 0.3), (1.0, 2.0, 4.0))(x)
    wanted = np.stack([(x[:, i].numpy() - (i + 1) / 10) / 2**i for i in range(3)], 1)
    assert_close(found, wanted, atol=1e-6)


def test_one_logit_is_seen_with_two():
    z = torch.tensor([[-1.5], [2.0]])
    assert_close(TwoLogits(nn.Identity())(z).softmax(1)[:, 1:], 1 / (1 + np.exp(-z.numpy())), atol=1e-6)


def test_a_model_of_one_logit_gives_one_back():
    network = nn.Sequential(nn.Flatten(), nn.Linear(3 * 9 * 9, 1))
    method = Source(network, Config(), classes=1)
    assert method.classes == 2
    (x,) = stream(4)
    with torch.no_grad():
        assert_close(method.predict(x), network(torch.from_numpy(x)), atol=1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_inputs_that_are_not_finite_are_refused(value):
    (x,) = stream(2)
    x[1, 2, 3, 4] = value
    with pytest.raises(DataError, match="NaN or infinite"):
        Source(two_layers(), Config(), classes=CLASSES).predict(x)


def test_any_array_will_do():
    (x,) = stream(4)
    method = Source(two_layers(), Config(), classes=CLASSES)
    wanted = method.predict(x)
    x.flags.writeable = False
    assert_close(method.predict(x), wanted, atol=0)
    assert_close(method.predict(x.astype(np.float64)), wanted, atol=0)
    assert_close(method.predict(x[::-1])[::-1], wanted, atol=1e-5)


@pytest.mark.parametrize("value", [0, 0.5, 1])
def test_settings_in_range_pass(value):
    check_range("share", value, 0, 1)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf")])
def test_settings_out_of_range_are_refused(value):
    with pytest.raises(SettingError, match="share must be between 0 and 1, got"):
        check_range("share", value, 0, 1)


def test_settings_without_an_upper_end():
    check_range("count", 1e9, 1)
    with pytest.raises(SettingError, match="count must be at least 1, got 0"):
        check_range("count", 0, 1)
    with pytest.raises(SettingError, match="count must be at least 1, got inf"):
        check_range("count", float("inf"), 1)


def test_below_one_is_below_one():
    check_range("beta", 0.999999, 0, BELOW_ONE)
    with pytest.raises(SettingError, match="beta must be between 0 and 1, got 1"):
        check_range("beta", 1.0, 0, BELOW_ONE)


def test_the_source_is_the_model_as_it_was_trained():
    network = two_layers().train()
    method = Source(network, Config(), classes=CLASSES)
    for x in stream(4, 1):
        assert_close(method.predict(x), plain(twin(network), torch.from_numpy(x))[0], atol=1e-5)
