"""MobileViT-S: its attention and its patches against independent formulas, and the sizes it takes."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from leantta_lab.models.mobilevit import Attention, MobileVitBlock, fold, mobilevit_s, unfold


def test_it_has_the_published_number_of_parameters() -> None:
    model = mobilevit_s(1000)
    assert sum(p.numel() for p in model.parameters()) == 5_578_632
    assert sum(isinstance(layer, nn.LayerNorm) for layer in model.modules()) == 2 * (2 + 4 + 3) + 3


def test_parameters_have_public_names() -> None:
    names = set(mobilevit_s(10).state_dict())
    assert {
        "stem.bn.running_mean",
        "stages.0.0.conv1_1x1.conv.weight",
        "stages.1.2.conv3_1x1.bn.bias",
        "stages.2.1.conv_kxk.bn.weight",
        "stages.2.1.conv_1x1.weight",
        "stages.3.1.transformer.3.attn.qkv.bias",
        "stages.4.1.transformer.2.mlp.fc2.weight",
        "stages.4.1.norm.weight",
        "stages.4.1.conv_proj.conv.weight",
        "stages.4.1.conv_fusion.bn.running_var",
        "final_conv.bn.weight",
        "head.fc.bias",
    } <= names


@pytest.mark.parametrize("size", [(32, 32), (64, 32), (96, 96), (160, 128)])
def test_any_multiple_of_32_runs(size: tuple[int, int]) -> None:
    torch.manual_seed(0)
    model = mobilevit_s(10).eval()
    with torch.no_grad():
        logits = model(torch.randn(2, 3, *size))
    assert logits.shape == (2, 10)
    assert torch.isfinite(logits).all()
    assert not torch.equal(logits[0], logits[1])


def test_attention_is_torchs_own() -> None:
    torch.manual_seed(0)
    ours, theirs = Attention(16).eval(), nn.MultiheadAttention(16, num_heads=4, batch_first=True).eval()
    weights = {f"in_proj_{k}": v for k, v in ours.qkv.state_dict().items()}
    theirs.load_state_dict(weights | {f"out_proj.{k}": v for k, v in ours.proj.state_dict().items()})
    x = torch.randn(3, 5, 16)
    with torch.no_grad():
        wanted, _ = theirs(x, x, x)
        torch.testing.assert_close(ours(x), wanted, rtol=1e-5, atol=1e-5)


def test_a_sequence_is_one_position_of_every_patch() -> None:
    x = torch.arange(2 * 3 * 4 * 6.0).reshape(2, 3, 4, 6)
    sequences = unfold(x).reshape(2, 4, 6, 3)  # image, position in the patch, patch, channel
    for row in range(4):
        for column in range(6):
            position, patch = row % 2 * 2 + column % 2, row // 2 * 3 + column // 2
            assert torch.equal(sequences[:, position, patch], x[:, :, row, column])


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 5), st.integers(1, 5))
def test_fold_undoes_unfold(n: int, channels: int, rows: int, columns: int) -> None:
    x = torch.randn(n, channels, 2 * rows, 2 * columns)
    assert torch.equal(fold(unfold(x), 2 * rows, 2 * columns), x)


def test_an_odd_map_is_stretched_and_brought_back() -> None:
    torch.manual_seed(0)
    block = MobileVitBlock(8, 16, 1).eval()
    x = torch.randn(1, 8, 3, 5)
    with torch.no_grad():
        stretched = F.interpolate(block.conv_1x1(block.conv_kxk(x)), size=(4, 6), mode="bilinear")
        attended = fold(block.norm(block.transformer(unfold(stretched))), 4, 6)
        back = F.interpolate(attended, size=(3, 5), mode="bilinear")
        wanted = block.conv_fusion(torch.cat((x, block.conv_proj(back)), dim=1))
        assert torch.equal(block(x), wanted)
