import torch

from baselines.two_layers import CLASSES, on_batch, stream, twin, two_layers
from leantta.baselines.base import Config
from leantta.baselines.bn_batch import BnBatch
from reference import assert_close


def test_each_batch_is_normalized_with_its_own_statistics():
    network = two_layers()
    method = BnBatch(network, Config(), classes=CLASSES)
    for x in stream(4, 1, 8, 2):
        assert_close(method.predict(x), on_batch(twin(network), torch.from_numpy(x)), atol=1e-4)
