"""MobileNetV2: the maps it goes through, and when a block adds its input."""

import torch

from leantta_lab.models.mobilenet import InvertedResidual, MobileNetV2


def test_32x32_images_leave_a_4x4_map() -> None:
    model, sizes = MobileNetV2(10).eval(), []
    for layer in model.features:
        layer.register_forward_hook(lambda _m, _i, out: sizes.append((out.shape[1], out.shape[2])))
    with torch.no_grad():
        model(torch.zeros(1, 3, 32, 32))
    blocks = [(16, 32)] + [(24, 32)] * 2 + [(32, 16)] * 3 + [(64, 8)] * 4 + [(96, 8)] * 3 + [(160, 4)] * 3
    assert sizes == [(32, 32), *blocks, (320, 4), (1280, 4)]


def test_only_a_block_that_keeps_the_shape_adds_its_input() -> None:
    x = torch.randn(1, 8, 4, 4, generator=torch.Generator().manual_seed(0))
    for channels, stride, adds in ((8, 1, True), (8, 2, False), (12, 1, False)):
        block = InvertedResidual(8, channels, stride, 6).eval()
        with torch.no_grad():
            expected = block.conv(x) + x if adds else block.conv(x)
            assert torch.equal(block(x), expected)
