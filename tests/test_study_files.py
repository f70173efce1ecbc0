"""Model files take part in studies beside methods, and without torch."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from leantta.errors import SettingError
from leantta.export.convert import convert
from leantta.methods.contenders import ModelFile
from leantta.methods.parse import parse_method
from leantta.modalities.datasets import dataset_info
from leantta.runtime.session import load
from leantta.study import Study, prepare_study, run_study
from leantta_lab.datasets.cifar import load_images


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> Path:
    """A small network as a file, with nothing but chance accuracy."""
    torch.manual_seed(0)
    model = nn.Sequential(
        *(nn.Conv2d(3, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU()),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10)),
    )
    info = dataset_info("cifar10")
    images = load_images(sample, "cifar10", "train").samples[:64]
    path = tmp_path_factory.mktemp("files") / "small.onnx"
    convert(
        model.eval(),
        images,
        path,
        layers="all",
        gate="calibrated",
        mean=info.mean,
        std=info.std,
        classes=info.classes,
        name="small",
    )
    return path


def test_a_file_is_run_like_a_method(file: Path, sample: Path, weights: Path, tmp_path: Path) -> None:
    study = Study(
        model="resnet18",
        dataset="cifar10",
        weights=weights,
        images=sample,
        methods=(ModelFile(file), parse_method("none")),
        streams=("severity5",),
        per_cell=1,
        records=tmp_path,
    )
    ready = prepare_study(study)
    first, none = run_study(ready)
    assert (first.method, first.model, none.method) == ("small.onnx", "small", "none")
    stream = ready.streams[0]
    with load(file) as session:
        expected = session.predict(stream.load(np.arange(len(stream)))).argmax(axis=1)
    assert first.predictions.tolist() == expected.tolist()
    settings = first.header.recipe["method_settings"]
    assert (settings["precision"], settings["layers"], len(settings["artifact_sha256"])) == ("int8", 1, 64)
    again, _ = run_study(study)
    assert again.header.provenance.started == first.header.provenance.started  # taken from its record


def test_a_method_needs_a_model(file: Path, sample: Path) -> None:
    with pytest.raises(SettingError, match="--model resnet18"):
        prepare_study(
            Study(
                model=None,
                dataset="cifar10",
                images=sample,
                methods=(ModelFile(file), parse_method("leantta")),
            )
        )


def test_files_are_evaluated_without_torch(file: Path, sample: Path, tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "for name in ('torch', 'onnx', 'onnxscript', 'safetensors'): sys.modules[name] = None\n"
        f"sys.argv = ['leantta', 'eval', '--model', {str(file)!r}, '--images', {str(sample)!r},\n"
        f"    '--stream', 'severity5', '--per-cell', '1', '--records', {str(tmp_path)!r}]\n"
        "from leantta.cli.main import main\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "small.onnx" in done.stdout
