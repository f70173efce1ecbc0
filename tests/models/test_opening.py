"""Opening a model: by name, from a library, or as a program; with its weights and what is known of it."""

import json
import sys
from enum import Enum
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from leantta.data.preprocess import Preprocessing
from leantta.errors import CheckpointError, DownloadError, MissingExtraError, SettingError
from leantta.files import sha256_of
from leantta.models.libraries import timm_preprocessing, torchvision_preprocessing
from leantta.models.opening import open_model, pretrained
from leantta.runtime.session import load
from running import Run

GREY_MEAN = (124 / 255, 116 / 255, 104 / 255)
GREY = {"mean": GREY_MEAN, "std": (0.5, 0.5, 0.5)}

STATISTICS = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}


class Net(nn.Module):
    def __init__(self, num_classes: int = 1000, seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.conv, self.bn = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
        self.fc = nn.Linear(4, num_classes)
        self.num_classes = num_classes

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.fc(self.bn(self.conv(x)).mean((2, 3)))
        return scores


def same(one: nn.Module, other: nn.Module) -> bool:
    a, b = one.state_dict(), other.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.fixture
def libraries(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Stand-ins for timm and torchvision that know one network; `online` says whether they can download."""
    told = SimpleNamespace(online=True, timm=[], torchvision=[])

    def downloads() -> None:
        if not told.online:
            raise OSError("no route to the hub\nand more")

    def create_model(name: str, pretrained: bool = False, **settings: Any) -> nn.Module:
        told.timm.append((name, pretrained, settings))
        if pretrained:
            downloads()
        net = Net(**settings, seed=5 if pretrained else 0)
        net.pretrained_cfg = {"num_classes": 1000}  # type: ignore[assignment] # any attribute will do
        return net

    def get_model(name: str, weights: str | None = None, **settings: Any) -> nn.Module:
        told.torchvision.append((name, weights, settings))
        if weights:
            downloads()
        settings.pop("weights_backbone", None)
        return Net(**settings, seed=5 if weights else 0)

    config = {"input_size": (3, 96, 96), "crop_pct": 0.75, "interpolation": "bicubic", **STATISTICS}
    imagenet = SimpleNamespace(num_classes=lambda: 1000, index_to_description=lambda i: f"kind {i}")
    interpolation = Enum("interpolation", {"BILINEAR": "bilinear"})
    transforms = SimpleNamespace(
        resize_size=[128],
        crop_size=[96],
        interpolation=interpolation.BILINEAR,
        mean=[0.5] * 3,
        std=[0.25] * 3,
    )
    published = SimpleNamespace(
        transforms=lambda: transforms, meta={"categories": [f"class {i}" for i in range(1000)]}
    )

    def builder(*, weights: Any = None, weights_backbone: Any = "DEFAULT") -> None: ...

    modules: dict[str, dict[str, Any]] = {
        "timm": {
            "create_model": create_model,
            "is_model": lambda name: name == "tiny",
            "list_models": lambda: ["tiny", "large"],
        },
        "timm.data": {
            "resolve_model_data_config": lambda _: config,
            "infer_imagenet_subset": lambda _: "imagenet-1k",
            "ImageNetInfo": lambda _: imagenet,
        },
        "torchvision": {},
        "torchvision.models": {
            "get_model": get_model,
            "list_models": lambda: ["tiny"],
            "get_model_builder": lambda _: builder,
            "get_model_weights": lambda _: SimpleNamespace(DEFAULT=published),
        },
    }
    for name, content in modules.items():
        module = ModuleType(name)
        vars(module).update(content, __path__=[])
        monkeypatch.setitem(sys.modules, name, module)
    return told


def test_a_network_of_timm_has_the_weights_that_timm_fetches(libraries: SimpleNamespace) -> None:
    opened = open_model("timm:tiny")
    assert libraries.timm == [("tiny", True, {})]
    assert same(opened.module, Net(seed=5))
    assert not opened.module.training
    assert opened.preprocessing == Preprocessing(
        resize=128,
        interpolation="bicubic",
        crop=(96, 96),
        mean=STATISTICS["mean"],
        std=STATISTICS["std"],
    )
    assert opened.input_shape == (3, 96, 96)
    assert opened.classes is not None
    assert opened.classes[:2] == ("kind 0", "kind 1")
    assert opened.weights_sha256 is None


def test_a_network_of_torchvision_says_what_it_wants(libraries: SimpleNamespace) -> None:
    opened = open_model("torchvision:tiny")
    assert libraries.torchvision == [("tiny", "DEFAULT", {})]
    assert opened.preprocessing == Preprocessing(
        resize=128, crop=(96, 96), mean=(0.5,) * 3, std=(0.25,) * 3, interpolation="bilinear"
    )
    assert opened.input_shape == (3, 96, 96)
    assert opened.classes is not None
    assert opened.classes[999] == "class 999"


@pytest.mark.parametrize("library", ["timm", "torchvision"])
def test_weights_of_ones_own_are_never_mixed_with_downloads(
    libraries: SimpleNamespace, tmp_path: Path, library: str
) -> None:
    libraries.online = False
    for classes in (1000, 7):
        own, file = Net(classes, seed=3), tmp_path / f"{classes}.pth"
        torch.save({"state_dict": own.state_dict()}, file)
        opened = open_model(f"{library}:tiny", weights=file)
        assert same(opened.module, own)
        assert (opened.classes is None) == (classes == 7)
        assert opened.weights_sha256 == sha256_of(file)
    torch.save({"other": torch.zeros(2)}, tmp_path / "foreign.pth")
    with pytest.raises(CheckpointError, match="does not fit the model"):
        open_model(f"{library}:tiny", weights=tmp_path / "foreign.pth")
    assert not any(settings.get("weights_backbone") for _, _, settings in libraries.torchvision)


@pytest.mark.parametrize("library", ["timm", "torchvision"])
def test_without_weights_nothing_runs_on_random_ones(libraries: SimpleNamespace, library: str) -> None:
    libraries.online = False
    with pytest.raises(DownloadError, match=r"fetched: no route to the hub\. .* --weights FILE\.$"):
        open_model(f"{library}:tiny")
    assert same(
        open_model(f"{library}:tiny", untrained=True).module, Net()
    )  # its structure is what was asked


@pytest.mark.usefixtures("libraries")
@pytest.mark.parametrize("library", ["timm", "torchvision"])
def test_a_name_that_a_library_does_not_know(library: str) -> None:
    with pytest.raises(SettingError, match=f"^{library} has no model 'tinny'\\. Did you mean tiny\\?"):
        open_model(f"{library}:tinny")


@pytest.mark.parametrize("library", ["timm", "torchvision"])
def test_a_library_that_is_missing(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=f"not installed: pip install {library}$"):
        open_model(f"{library}:tiny")


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        ({"input_size": (3, 224, 224), "crop_pct": 0.875}, Preprocessing(resize=256, crop=(224, 224))),
        ({"input_size": (3, 224, 224), "crop_pct": 1.0}, Preprocessing(resize=224, crop=(224, 224))),
        (
            {"input_size": (3, 256, 256), "crop_pct": 0.95, "crop_mode": "squash"},
            Preprocessing(resize=(269, 269), crop=(256, 256)),
        ),
        (
            {"input_size": (3, 32, 32), "crop_pct": 32 / 36, "crop_mode": "border"} | GREY,
            Preprocessing(
                resize=36,
                side="long",
                pad=(32, 32),
                fill=(124, 116, 104),
                crop=(32, 32),
                mean=GREY_MEAN,
                std=(0.5, 0.5, 0.5),
            ),
        ),
        (
            {"input_size": (1, 32, 32), "interpolation": "random"},
            Preprocessing(resize=32, crop=(32, 32), colours="grey"),
        ),
    ],
)
def test_what_timm_says_of_images(config: dict[str, Any], wanted: Preprocessing) -> None:
    assert timm_preprocessing(config) == wanted


def test_transforms_without_a_size_leave_it_open() -> None:
    assert torchvision_preprocessing(SimpleNamespace()) == Preprocessing()
    assert torchvision_preprocessing(SimpleNamespace(resize_size=[520])) == Preprocessing(resize=520)


def test_a_name_comes_with_its_checkpoint(weights: Path) -> None:
    opened = open_model("resnet18")
    assert opened.input_shape == (3, 32, 32)
    assert opened.weights_sha256 == sha256_of(weights)
    assert same(opened.module, open_model("resnet18", weights=weights).module)
    assert not same(opened.module, open_model("resnet18", untrained=True).module)
    assert same(pretrained("resnet18", "cifar10"), opened.module)


def test_a_prefix_without_weights_means_nothing() -> None:
    with pytest.raises(SettingError, match="give --weights, too"):
        open_model("resnet18", prefix="ema")


def test_inspect_takes_a_pth_and_counts_dead_channels(tmp_path: Path, run: Run) -> None:
    net = Net(3)
    assert net.bn.running_var is not None
    net.bn.running_var[:2] = 0
    (tmp_path / "net.py").write_text(
        "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n"
        "        self.conv, self.bn, self.fc = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, 3)\n"
        "    def forward(self, x):\n        return self.fc(self.bn(self.conv(x)).mean((2, 3)))\n"
    )
    torch.save({"ema": {f"module.{k}": v for k, v in net.state_dict().items()}}, tmp_path / "w.pth")
    words = ("inspect", "net.py:Net", "--input", "3,8,8", "--weights", "w.pth", "--adapt", "all", "--json")
    for prefix in ((), ("--prefix", "ema.module")):
        done = run(*words, *prefix)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["notes"][0].startswith("2 of 4 channels")
    done = run(*words, "--prefix", "model")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.usefixtures("libraries")
def test_converting_takes_what_a_library_says_of_its_images(tmp_path: Path, run: Run) -> None:
    torch.save({"state_dict": Net(3).state_dict()}, tmp_path / "w.pth")
    (tmp_path / "photos").mkdir()
    random = np.random.default_rng(0)
    for number in range(24):
        pixels = random.integers(0, 256, (100, 120, 3), np.uint8)
        Image.fromarray(pixels).save(tmp_path / "photos" / f"{number}.png")
    words = ("--weights", "w.pth", "--calibration", "photos", "--gate", "paper", "--adapt", "all")
    done = run("convert", "timm:tiny", *words, "--precision", "fp32", "-o", "tiny.onnx")
    assert done.returncode == 0, done.stderr
    with load(tmp_path / "tiny.onnx") as session:
        assert session.info.input.mean == STATISTICS["mean"]
        assert session.info.input.std == STATISTICS["std"]
        assert tuple(session.info.input.shape[-2:]) == (96, 96)
        assert session.info.classes is None  # three of the user's own, not those of ImageNet
        assert session.info.weights_sha256 == sha256_of(tmp_path / "w.pth")
