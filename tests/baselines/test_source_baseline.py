import torch

from baselines.two_layers import CLASSES, plain, stream, twin, two_layers
from leantta.baselines.base import Config
from leantta.baselines.source import Source
from reference import assert_close


def test_the_source_is_the_model_as_it_was_trained():
    network = two_layers().train()
    method = Source(network, Config(), classes=CLASSES)
    for x in stream(4, 1):
        assert_close(method.predict(x), plain(twin(network), torch.from_numpy(x))[0], atol=1e-5)
