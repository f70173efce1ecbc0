"""Contract of every model of the table: what METHOD.md says of it, and how it behaves."""

import math

import pytest
import torch
from torch import Tensor, nn

from leantta.errors import SettingError
from leantta.models.named import build
from leantta.models.named import model_entry as entry
from leantta_lab.models.table import MODELS

KNOWN = {  # millions of parameters as METHOD.md rounds them (not the last two), number of BatchNorms
    "resnet18": (11.17, 20),
    "mobilenet_v2": (2.24, 52),
    "vggish": (4.69, 8),
    "mobilevit_s": (4.94, 32),  # 5.58 with a thousand classes, see test_mobilevit.py
    "efficientnet_lite0": (4.65, 49),
    "motion_cnn": (0.12, 6),
}


def inputs(name: str, count: int = 2) -> Tensor:
    channels, *sizes = MODELS[name].input_shape
    if math.prod(sizes) > 64 * 64:  # a quarter of a side or two is the same network, several times faster
        sizes = [sizes[0] // 4, max(64, sizes[1] // 4)]
    return torch.randn(count, channels, *sizes, generator=torch.Generator().manual_seed(0))


def trained_looking(name: str) -> nn.Module:
    """A model whose BatchNorms hold the statistics of a batch and an affine of their own."""
    torch.manual_seed(0)
    model = build(name).train()
    for layer in model.modules():
        if isinstance(layer, nn.BatchNorm2d | nn.BatchNorm1d):
            layer.momentum = 1.0
            nn.init.uniform_(layer.weight, 0.5, 1.5)
            nn.init.normal_(layer.bias, std=0.1)
    with torch.no_grad():
        model(inputs(name, count=4))
    return model.eval()


def test_the_papers_models_are_there() -> None:
    assert set(KNOWN) == set(MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_parameters_are_as_many_as_published(name: str) -> None:
    count = sum(p.numel() for p in build(name).parameters())
    assert count == MODELS[name].parameters
    assert round(count / 1e6, 2) == KNOWN[name][0]


@pytest.mark.parametrize("name", MODELS)
def test_each_batchnorm_is_a_plain_one_and_runs_once(name: str) -> None:
    model = build(name)
    norms = [layer for layer in model.modules() if isinstance(layer, nn.modules.batchnorm._BatchNorm)]
    seen: list[nn.Module] = []
    for layer in norms:
        layer.register_forward_hook(lambda module, _inputs, _output: seen.append(module))
    with torch.no_grad():
        model(inputs(name, count=1))
    plain = nn.BatchNorm1d if len(MODELS[name].input_shape) == 2 else nn.BatchNorm2d
    assert [type(layer) for layer in norms] == [plain] * KNOWN[name][1]
    assert MODELS[name].batchnorms == len(norms)
    assert sorted(map(id, seen)) == sorted(map(id, norms))


@pytest.mark.parametrize("name", MODELS)
def test_a_batch_gives_what_its_samples_give_alone(name: str) -> None:
    model, x = trained_looking(name), inputs(name, count=3)
    with torch.no_grad():
        together, alone = model(x), torch.cat([model(x[i : i + 1]) for i in range(3)])
    assert together.shape == (3, MODELS[name].num_classes)
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-4)
    assert (together[0] - together[1]).abs().max() > 1e-3  # not one answer for all


@pytest.mark.parametrize("name", MODELS)
def test_gradients_reach_every_parameter(name: str) -> None:
    model = build(name).train()
    model(inputs(name)).square().sum().backward()
    assert [
        key for key, p in model.named_parameters() if p.grad is None or not torch.isfinite(p.grad).all()
    ] == []


@pytest.mark.parametrize("name", MODELS)
def test_build_takes_the_number_of_classes(name: str) -> None:
    last = list(build(name, num_classes=7).parameters())[-1]
    assert last.shape == (7,)
    assert not build(name).training


@pytest.mark.parametrize("name", MODELS)
def test_the_input_shape_of_the_table_is_taken(name: str) -> None:
    with torch.no_grad():
        logits = build(name)(torch.zeros(1, *MODELS[name].input_shape))
    assert logits.shape == (1, MODELS[name].num_classes)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(SettingError, match=r"no model is called 'resnet-18'.*mobilenet_v2.*'resnet18'\?"):
        entry("resnet-18")
    with pytest.raises(SettingError, match=r"vggish\.$"):
        build("zzz")


@pytest.mark.parametrize("classes", [0, -3])
def test_no_class_at_all_is_refused(classes: int) -> None:
    with pytest.raises(SettingError, match=f"num_classes is {classes}"):
        build("resnet18", num_classes=classes)
