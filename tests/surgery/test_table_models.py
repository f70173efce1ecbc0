"""Surgery on every model of the table, and on a trained one."""

import numpy as np
import pytest
import torch

from leantta.data.datasets import model_inputs
from leantta.gates.paper import PaperGate
from leantta.methods.method import TorchPredictor
from leantta.modalities.datasets import dataset_info
from leantta.models.named import build
from leantta.models.opening import pretrained
from leantta.nn import AdaptiveNorm, watch
from leantta.surgery.apply import adapt
from leantta.surgery.plan import Action, plan
from leantta_lab.datasets.cifar import load_images
from leantta_lab.models.table import MODELS
from reference import assert_close
from zoo import trained


def inputs_of(name: str, count: int = 2) -> torch.Tensor:
    channels, *sizes = MODELS[name].input_shape
    smaller = [min(size, 96) for size in sizes] if name == "mobilevit_s" else sizes
    return torch.randn(count, channels, *smaller, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("name", MODELS)
def test_every_model_fuses_exactly_and_adapts(name):
    torch.manual_seed(0)
    model, x = trained(build(name)), inputs_of(name)
    total = MODELS[name].batchnorms
    assert len(plan(model, x, "all").named(Action.ADAPT)) == total
    assert len(plan(model, x, "none").named(Action.FUSE)) == total
    lean = adapt(model, x)
    assert sum(isinstance(module, AdaptiveNorm) for module in lean.modules()) == total // 2
    with torch.no_grad():
        expected = model(x)
        scale = float(expected.abs().max())
        assert_close(adapt(model, x, "none")(x) / scale, expected / scale, atol=1e-4)
        assert_close(adapt(model, x, "all", gate=PaperGate(tau=1.0))(x) / scale, expected / scale, atol=1e-4)
        assert float((lean(x) - expected).abs().max()) > 1e-4 * scale


@pytest.fixture(scope="module")
def images(sample) -> torch.Tensor:
    info = dataset_info("cifar10")
    outside = TorchPredictor(torch.nn.Identity(), mean=info.mean, std=info.std)
    return outside.normalized(model_inputs(load_images(sample).samples[:16]))


def test_trained_resnet18_keeps_its_logits_when_fused(weights, images):
    model = pretrained("resnet18", weights=weights)
    with torch.no_grad():
        assert_close(adapt(model, images, "none")(images), model(images), atol=1e-4)


def test_clean_images_are_nearer_than_noisy_ones(weights, images):
    lean = adapt(pretrained("resnet18", weights=weights), images, "all")
    noisy = images + torch.randn(images.shape, generator=torch.Generator().manual_seed(0))
    distances = []
    with torch.no_grad(), watch(lean) as readings:
        for x in (images, noisy):
            lean(x)
            distances.append(np.mean([reading.distance.mean().item() for reading in readings.values()]))
    assert distances[0] < distances[1]


def test_a_whole_network_is_captured_without_graph_breaks(weights, images):
    lean = adapt(pretrained("resnet18", weights=weights), images)
    torch._dynamo.reset()
    with torch.no_grad():
        expected = lean(images)
        compiled = torch.compile(lean, fullgraph=True, backend="aot_eager")
        assert_close(compiled(images), expected, atol=1e-4)
        program = torch.export.export(
            lean, (images[:3],), dynamic_shapes=({0: torch.export.Dim("n", min=2)},)
        )
        assert_close(program.module()(images), expected, atol=1e-4)
