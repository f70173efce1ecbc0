"""ResNet18: the maps it goes through, and a block against the formula written out."""

import torch
from torch import nn
from torch.nn import functional as F

from leantta_lab.models.resnet import BasicBlock, ResNet18


def test_the_stem_keeps_the_size_and_the_pool_halves_it() -> None:
    model, sizes = ResNet18(10).eval(), {}
    for name in ("bn1", "maxpool", "layer1", "layer2", "layer3", "layer4"):
        part = getattr(model, name)
        part.register_forward_hook(lambda _m, _i, out, name=name: sizes.update({name: tuple(out.shape[1:])}))
    with torch.no_grad():
        model(torch.zeros(1, 3, 32, 32))
    assert sizes == {
        "bn1": (64, 32, 32),
        "maxpool": (64, 16, 16),
        "layer1": (64, 16, 16),
        "layer2": (128, 8, 8),
        "layer3": (256, 4, 4),
        "layer4": (512, 2, 2),
    }


def test_a_block_is_its_formula() -> None:
    torch.manual_seed(0)
    block = BasicBlock(4, 6, 2).eval()
    for norm in (layer for layer in block.modules() if isinstance(layer, nn.BatchNorm2d)):
        norm.running_mean, norm.running_var = torch.randn(6), torch.rand(6) + 0.5
    x = torch.randn(2, 4, 8, 8)

    def normalized(values: torch.Tensor, norm: nn.BatchNorm2d) -> torch.Tensor:
        assert norm.running_mean is not None
        assert norm.running_var is not None
        mean, var = norm.running_mean.view(1, -1, 1, 1), norm.running_var.view(1, -1, 1, 1)
        return (values - mean) / (var + 1e-5).sqrt()

    assert block.downsample is not None
    projection, projected_norm = block.downsample
    assert isinstance(projection, nn.Conv2d)
    assert isinstance(projected_norm, nn.BatchNorm2d)
    with torch.no_grad():
        hidden = normalized(F.conv2d(x, block.conv1.weight, stride=2, padding=1), block.bn1).clamp(min=0)
        wanted = normalized(F.conv2d(hidden, block.conv2.weight, padding=1), block.bn2)
        wanted += normalized(F.conv2d(x, projection.weight, stride=2), projected_norm)
        torch.testing.assert_close(block(x), wanted.clamp(min=0), rtol=1e-5, atol=1e-5)


def test_the_windows_of_the_pool_overlap() -> None:
    x = torch.zeros(1, 1, 8, 8)
    x[0, 0, 1, 1] = 1  # on the border of the windows around 0 and around 2
    assert ResNet18(10).maxpool(x)[0, 0].nonzero().tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
