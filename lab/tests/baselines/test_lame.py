import numpy as np
import pytest
import torch
from torch import nn

from baselines.two_layers import CLASSES, plain, stream, twin, two_layers
from leantta.errors import SettingError, UnsupportedModelError
from leantta_lab.baselines.lame import Features, Lame, LameConfig, corrected
from reference import assert_close


def softmax(a):
    e = np.exp(a - a.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def expected(logits, features, neighbours, iterations):
    unit = features / np.sqrt((features**2).sum(1, keepdims=True))
    n = len(unit)
    distance = np.asarray([[np.sqrt(((unit[i] - unit[j]) ** 2).sum()) for j in range(n)] for i in range(n)])
    sigma = np.mean([np.sort(row)[min(neighbours, n) - 1] for row in distance])
    kernel = np.exp(-(distance**2) / (2 * sigma**2))
    p = softmax(logits)
    y = p
    for _ in range(iterations):
        y = softmax(np.log(p) + kernel @ y)
    return y


@pytest.mark.parametrize(("neighbours", "iterations"), [(5, 100), (2, 100), (5, 1), (5, 2)])
def test_predictions_are_the_fixed_point_of_the_equations(neighbours, iterations):
    network = two_layers(sureness=1.0)
    config = LameConfig(neighbours=neighbours, iterations=iterations)
    lame = Lame(network, config, classes=CLASSES)
    for x in stream(7, 3, 2):
        logits, features = (t.numpy() for t in plain(twin(network), torch.from_numpy(x)))
        wanted = expected(logits, features, neighbours, iterations)
        found = lame.predict(x)
        assert_close(np.exp(found), wanted, atol=2e-4)
        assert np.abs(wanted - softmax(logits)).max() > 0.01  # it does correct something


def test_iterating_longer_changes_nothing_once_it_has_settled():
    (x,) = stream(6)
    network = two_layers()
    one, two = (Lame(network, LameConfig(iterations=i), classes=CLASSES).predict(x) for i in (100, 1000))
    assert_close(one, two, atol=1e-3)


def test_one_input_keeps_its_logits():
    (x,) = stream(1)
    network = two_layers()
    logits, _ = plain(twin(network), torch.from_numpy(x))
    assert_close(Lame(network, LameConfig(), classes=CLASSES).predict(x), logits, atol=1e-5)


def test_equal_inputs_agree_and_stay_finite():
    (x,) = stream(1)
    found = Lame(two_layers(), LameConfig(), classes=CLASSES).predict(np.repeat(x, 6, axis=0))
    assert_close(found, np.repeat(found[:1], 6, axis=0), atol=1e-5)


def test_without_neighbourhood_predictions_stay():
    p = torch.tensor([[0.7, 0.3], [0.1, 0.9]])
    assert_close(corrected(p.log(), torch.zeros(2, 2), 100).exp(), p, atol=1e-6)


def test_no_neighbours_are_refused():
    with pytest.raises(SettingError, match="neighbours must be at least 1, got 0"):
        LameConfig(neighbours=0)


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
