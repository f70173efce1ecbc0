"""Signals: floats in their own unit, normalized by the runtime with what the file carries."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from torch import nn

import leantta
from leantta.errors import DataError, SettingError
from leantta.export.convert import convert
from leantta.export.options import FileOptions
from leantta.gates.calibrated import CalibratedGate
from leantta.gates.gate import Gate
from leantta.gates.paper import PaperGate
from leantta.methods.method import TorchPredictor
from leantta.modalities.datasets import dataset_info, load_data
from leantta.models.named import build
from leantta.models.weights import save_weights
from leantta.runtime.input_info import InputInfo
from leantta.runtime.verify import verify
from motion_files import made_up, write_har

if TYPE_CHECKING:
    from running import Run  # at run time the name may be that of another folder's

INFO = dataset_info("har")
WINDOWS = made_up(np.arange(60) % 6)


@pytest.fixture(scope="module")
def model() -> nn.Module:
    """The network with the statistics that training on the windows would have left."""
    torch.manual_seed(0)
    network = build("motion_cnn").train()
    outside = TorchPredictor(nn.Identity(), mean=INFO.mean, std=INFO.std)
    for layer in network.modules():
        if isinstance(layer, nn.BatchNorm1d):
            layer.momentum = None  # the mean over all batches
            nn.init.uniform_(layer.weight, 0.5, 1.5)
    with torch.no_grad():
        for start in range(0, 60, 20):
            network(outside.normalized(WINDOWS[start : start + 20]))
    return network.eval()


@pytest.mark.parametrize("gate", [PaperGate(), CalibratedGate()], ids=["paper", "calibrated"])
@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_file_normalizes_and_says_what_torch_says(
    model: nn.Module, tmp_path: Path, precision: str, portable: bool, gate: Gate
) -> None:
    options = FileOptions(precision=precision, portable=portable)  # type: ignore[arg-type]
    path = tmp_path / "motion.onnx"
    convert(
        model,
        WINDOWS,
        path,
        options=options,
        gate=gate,
        mean=INFO.mean,
        std=INFO.std,
        classes=INFO.classes,
    )
    shifted = np.float32(0.8) * WINDOWS[:7]  # inside the range that int8 was calibrated for
    outside = TorchPredictor(nn.Identity(), mean=INFO.mean, std=INFO.std)
    source = outside.normalized(WINDOWS)
    calibration = source if isinstance(gate, CalibratedGate) else None
    lean = leantta.adapt(model, source[:2], gate=gate, calibration=calibration)
    with torch.inference_mode():
        wanted, usual = lean(outside.normalized(shifted)).numpy(), lean(source).numpy()
    for engine in ("onnxruntime", "onnxruntime-portable"):
        with leantta.load(path, engine=engine) as session:
            assert session.info.input == InputInfo("signal", (9, 128), INFO.mean, INFO.std)
            found = session.run(shifted)
            alone = np.concatenate([session.predict(window[None]) for window in shifted])
            assert session.predict_one(shifted[0]).label in INFO.classes
        error = found.logits - wanted
        if precision == "fp32":
            assert np.abs(error).max() <= 1e-4 * max(1, np.abs(wanted).max())
        else:
            assert np.sqrt((error**2).mean()) <= 0.06 * usual.std()
        np.testing.assert_allclose(alone, found.logits, atol=1e-4 * max(1, np.abs(wanted).max()))
        assert found.shift is not None
        assert np.isfinite(found.shift).all()
    assert all(check.ok for check in verify(path))


def test_the_shift_score_rises_with_the_shift(model: nn.Module, tmp_path: Path) -> None:
    convert(model, WINDOWS, tmp_path / "x.onnx", gate="calibrated", mean=INFO.mean, std=INFO.std)
    with leantta.load(tmp_path / "x.onnx") as session:
        scores = [float(np.median(session.shift(WINDOWS + np.float32(off)))) for off in (0.0, 0.3, 1.0)]
    assert scores == sorted(scores)
    assert scores[0] < 1 < scores[2]


def test_what_is_no_signal_is_refused(model: nn.Module, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="preprocessing inside the file is for uint8 images"):
        convert(
            model, WINDOWS, tmp_path / "x", options=FileOptions(input="image"), mean=INFO.mean, std=INFO.std
        )
    with pytest.raises(DataError, match="mean and std have 9 channels, the calibration images 128"):
        convert(model, WINDOWS.transpose(0, 2, 1), tmp_path / "x", mean=INFO.mean, std=INFO.std)


def test_convert_and_run_take_motion_from_files(model: nn.Module, run: "Run", tmp_path: Path) -> None:
    har = write_har(tmp_path / "har.npz")
    save_weights(model, tmp_path / "motion.safetensors")
    words = ("convert", "motion_cnn", "--weights", "motion.safetensors", "--dataset", "har")
    done = run(*words, "--calibration", har, "-o", "motion.onnx")
    assert done.returncode == 0, done.stderr
    assert "on 120 clean windows" in done.stdout  # the accuracy on the people that are not for training
    with leantta.load(tmp_path / "motion.onnx") as session:
        assert session.info.classes == INFO.classes
        wanted = session.predict(load_data(har, "har", "train").samples[:5])
    np.save(tmp_path / "source.npy", load_data(har, "har", "train").samples)
    done = run(*words, "--calibration", "source.npy", "--images", 240, "-o", "again.onnx")
    assert done.returncode == 0, done.stderr
    with leantta.load(tmp_path / "again.onnx") as session:
        found = session.predict(load_data(har, "har", "train").samples[:5])
    np.testing.assert_array_equal(found, wanted)
    done = run(*words, "--calibration", har, "--size", "32,32", "-o", "x.onnx")
    assert done.returncode == 1
    assert "--size is for images; har has none" in done.stderr
