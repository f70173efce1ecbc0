"""What a request by names and paths is calibrated with, and that its model is fitted once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from leantta.errors import LeanTTAError, MissingFileError
from leantta.export import convert as conversion
from leantta.export.options import FileOptions
from leantta.export.request import READERS, Request, kind_of, run_request
from leantta.gates.calibrated import CalibratedGate
from leantta.methods.method import TorchPredictor
from leantta.modalities.datasets import dataset_info
from leantta.models.named import build
from leantta.models.weights import save_weights
from leantta.runtime.session import load
from leantta_lab.models.table import MODELS
from motion_files import write_har

CIFAR = dataset_info("cifar10")
MODEL_FILE = """
import torch
from torch import nn

def build():
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 4, 5, stride=4), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(4, 10))
"""


@pytest.fixture
def own_model(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(MODEL_FILE)
    return f"{tmp_path / 'mine.py'}:build"


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> dict[str, Path]:
    """Calibration inputs as people have them, by what they are."""
    folder = tmp_path_factory.mktemp("places")
    for name in ("photos", "sounds", "empty"):
        (folder / name).mkdir()
    black = pytest.importorskip("PIL.Image").fromarray(np.zeros((8, 8, 3), np.uint8))
    black.save(folder / "photos" / "0.png")
    (folder / "sounds" / "0.wav").write_bytes(b"is not read to know what it is")
    np.save(folder / "floats.npy", np.zeros((2, 3, 4, 4), np.float32))
    return {
        "cifar": sample,
        "har": write_har(folder / "har.npz"),
        **{path.stem: path for path in folder.iterdir() if path.name != "har.npz"},
    }


@pytest.mark.parametrize(
    ("place", "settings", "kind"),
    [
        ("cifar", {}, "images"),
        ("photos", {}, "images"),
        ("floats", {}, "images"),
        ("empty", {}, "images"),
        ("sounds", {}, "sounds"),
        ("har", {"dataset": "har"}, "samples"),
        ("floats", {"dataset": "har"}, "samples"),
        ("floats", {"dataset": "esc50"}, "samples"),
        ("sounds", {"dataset": "esc50"}, "sounds"),
        ("photos", {"options": FileOptions(input="waveform")}, "sounds"),
        ("cifar", {"options": FileOptions(input="waveform")}, "images"),
        ("floats", {"model": "vggish"}, "images"),
    ],
)
def test_how_inputs_come(
    place: str, settings: dict[str, Any], kind: str, places: dict[str, Path], tmp_path: Path
) -> None:
    request = Request(
        **{"model": "mine.py:build", "calibration": places[place], "output": tmp_path / "x.onnx", **settings}
    )
    assert kind_of(request) == kind
    assert kind in READERS


@pytest.mark.parametrize("model", MODELS)
def test_the_table_says_which_models_hear(model: str, places: dict[str, Path], tmp_path: Path) -> None:
    request = Request(model=model, calibration=places["empty"], output=tmp_path / "x.onnx")
    assert (kind_of(request) == "sounds") == (MODELS[model].trained_on == "esc50")


def test_the_model_is_fitted_once_and_its_accuracy_is_of_that(
    own_model: str, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fits = []
    fit = conversion.fit

    def counted(*words: Any, **settings: Any) -> Any:
        fits.append(words)
        return fit(*words, **settings)

    monkeypatch.setattr(conversion, "fit", counted)
    monkeypatch.setattr("leantta.surgery.apply.fit", counted)
    request = Request(
        model=own_model,
        dataset="cifar10",
        calibration=sample,
        output=tmp_path / "x.onnx",
        layers="all",
        gate=CalibratedGate(budget=0.005),
        images=64,
    )
    done = run_request(request)
    assert len(fits) == 1
    assert done.accuracy is not None
    data = np.load(sample)
    images, labels = data["x_test"][:1000], data["y_test"][:1000].reshape(-1)
    outside = TorchPredictor(done.adapted, mean=CIFAR.mean, std=CIFAR.std)
    scores = outside.predict(images.transpose(0, 3, 1, 2).astype(np.float32) / np.float32(255))
    assert done.accuracy[0] == pytest.approx((scores.argmax(axis=1) == labels).mean())
    assert done.accuracy[2] == len(labels)


def test_the_adapted_model_is_the_one_that_the_file_stands_for(
    own_model: str, sample: Path, tmp_path: Path
) -> None:
    request = Request(
        model=own_model,
        dataset="cifar10",
        calibration=sample,
        output=tmp_path / "x.onnx",
        layers="all",
        gate=CalibratedGate(),
        options=FileOptions(precision="fp32"),
        images=64,
    )
    done = run_request(request)
    assert isinstance(done.adapted, nn.Module)
    assert not done.adapted.training
    images = np.load(sample)["x_test"][:5]
    inputs = images.transpose(0, 3, 1, 2).astype(np.float32) / np.float32(255)
    outside = TorchPredictor(done.adapted, mean=CIFAR.mean, std=CIFAR.std)
    with load(tmp_path / "x.onnx") as session, torch.inference_mode():
        np.testing.assert_allclose(session.predict(images), outside.predict(inputs), atol=1e-4)


def test_labels_that_are_missing_show_before_the_work(own_model: str, sample: Path, tmp_path: Path) -> None:
    request = Request(
        model=own_model,
        dataset="cifar10",
        calibration=sample,
        output=tmp_path / "x.onnx",
        layers="all",
        test=tmp_path / "nowhere.npz",
    )
    with pytest.raises(MissingFileError, match="nowhere"):
        run_request(request)
    assert not (tmp_path / "x.onnx").exists()


@pytest.mark.parametrize(
    ("place", "settings", "says"),
    [
        (
            "photos",
            {"model": "motion_cnn", "dataset": "cifar10"},
            r"of shape \(9, 128\), not images",
        ),
        ("photos", {}, "image files do not say how the model was trained"),
        ("cifar", {}, "holds a dataset, but nobody said which: give --dataset"),
        ("har", {"dataset": "har", "size": (3, 3)}, "--size is for images; har has none"),
        ("cifar", {"images": 0}, "at least 1, got 0"),
    ],
)
def test_what_does_not_fit_together_is_one_line(
    place: str, settings: dict[str, Any], says: str, places: dict[str, Path], own_model: str, tmp_path: Path
) -> None:
    if "model" in settings:
        save_weights(build(settings["model"], num_classes=10), tmp_path / "w.safetensors")
        settings = {**settings, "weights": tmp_path / "w.safetensors"}
    words = {"model": own_model, "calibration": places[place], "output": tmp_path / "x.onnx", **settings}
    with pytest.raises(LeanTTAError, match=says) as caught:
        run_request(Request(**words))
    assert "\n" not in str(caught.value)
