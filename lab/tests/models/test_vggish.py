"""VGGish: its pooling over the whole map."""

import pytest
import torch

from leantta_lab.models.vggish import Vggish


def test_the_logit_comes_from_the_largest_value_of_each_channel() -> None:
    torch.manual_seed(0)
    model, maps = Vggish(1).eval(), []
    model.conv_block4.register_forward_hook(lambda _m, _i, out: maps.append(out))
    with torch.no_grad():
        logit = model(torch.randn(2, 1, 240, 64))
        largest = maps[0].reshape(2, 512, -1).max(dim=2).values
        wanted = largest @ model.fc_final.weight.T + model.fc_final.bias
    assert maps[0].shape == (2, 512, 15, 4)
    torch.testing.assert_close(logit, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("frames", [16, 77, 300])
def test_any_number_of_frames_from_16_on(frames: int) -> None:
    with torch.no_grad():
        assert Vggish(1).eval()(torch.zeros(1, 1, frames, 64)).shape == (1, 1)
