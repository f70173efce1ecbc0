"""Exported programs: their layers come back, and what cannot be used is answered in one line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import leantta
from leantta.errors import CheckpointError, MissingFileError, SettingError, UnsupportedModelError
from leantta.models.opening import open_model
from reference import assert_close
from running import Run
from zoo import (
    Dense,
    PreActivation,
    Residual,
    SharedConv,
    SharedNorm,
    Transposed,
    one_dimensional,
    sequential,
    three_dimensional,
    trained,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")  # torch's exporter warns itself

ANY = {0: torch.export.Dim("batch", min=1, max=64)}
IMAGES = torch.randn(3, 3, 16, 16, generator=torch.Generator().manual_seed(0))


class Kinds(nn.Module):
    """Padding by a word, groups, no scale, a layer without a bias, and a BatchNorm of vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 6, 3, padding="same", bias=False), nn.BatchNorm2d(6, affine=False)
        self.deep, self.deep_bn = nn.Conv2d(6, 6, 3, groups=6, dilation=2), nn.BatchNorm2d(6, eps=1e-3)
        self.fc, self.fc_bn = nn.Linear(6, 4, bias=False), nn.BatchNorm1d(4)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.deep_bn(self.deep(torch.relu(self.bn(self.conv(x))))))
        scores: Tensor = self.fc_bn(self.fc(x.mean((2, 3))))
        return scores


class OneAtATime(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.bn(self.conv(x))).view(1, 4, -1).mean(2)


MODELS: dict[str, Callable[[], nn.Module]] = {
    "sequential": sequential,
    "residual": Residual,
    "dense": Dense,
    "pre-activation": PreActivation,
    "shared norm": SharedNorm,
    "shared conv": SharedConv,
    "transposed": Transposed,
    "1d": one_dimensional,
    "3d": three_dimensional,
    "kinds": Kinds,
}
WITH_LINEAR = ("sequential", "kinds")


def exported(
    model: nn.Module, path: Path, *, batch: int = 2, dynamic: bool = True, decomposed: bool = False
) -> Path:
    shapes: Any = (ANY,) if dynamic else None
    program = torch.export.export(model, (IMAGES[:batch],), dynamic_shapes=shapes)
    torch.export.save(program.run_decompositions() if decomposed else program, path)
    return path


@pytest.mark.parametrize("decomposed", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_a_program_is_planned_and_adapted_like_its_model(tmp_path: Path, name: str, decomposed: bool) -> None:
    model = trained(MODELS[name]())
    opened = open_model(str(exported(model, tmp_path / "net.pt2", decomposed=decomposed)))
    assert opened.input_shape == (3, 16, 16)
    with torch.no_grad():
        assert_close(opened.module(IMAGES), model(IMAGES), atol=1e-5)
        wanted, found = (leantta.plan(each, IMAGES, "all") for each in (model, opened.module))
        ours = [(row.channels, row.action) for row in found.rows]
        # Decomposed, a linear layer is two operators that no layer stands for; what follows it is kept.
        assert (decomposed and name in WITH_LINEAR) or ours == [
            (row.channels, row.action) for row in wanted.rows
        ]
        assert not found.notes
        theirs = leantta.apply(model, wanted)(IMAGES)
        assert_close(leantta.apply(opened.module, found)(IMAGES), theirs, atol=1e-4)
    if name in ("residual", "kinds"):
        assert [row.name for row in found.rows] == [row.name for row in wanted.rows]


def test_layers_that_a_program_fuses_are_those_of_its_model(tmp_path: Path) -> None:
    model = trained(Residual())
    opened = open_model(str(exported(model, tmp_path / "net.pt2")))
    rows = leantta.plan(opened.module, IMAGES, "none").rows
    assert [(row.action.value, row.producer) for row in rows] == [("fuse", "conv1"), ("fuse", "conv2")]


def test_a_batch_of_one_does_if_nothing_hangs_on_it(tmp_path: Path) -> None:
    model = trained(Residual())
    opened = open_model(str(exported(model, tmp_path / "net.pt2", batch=1, dynamic=False)))
    with torch.no_grad():
        assert_close(opened.module(IMAGES), model(IMAGES), atol=1e-5)


def spoilt(path: Path) -> Path:
    path.write_bytes(b"PK no program")
    return path


REFUSED: dict[str, tuple[Callable[[Path], object], type[Exception], str]] = {
    "one at a time": (
        lambda path: exported(trained(OneAtATime()), path, batch=1, dynamic=False),
        UnsupportedModelError,
        "batches of one size only; export it with a batch of any size",
    ),
    "in training": (
        lambda path: exported(trained(Residual()).train(), path),
        UnsupportedModelError,
        r"in training mode; export it again, after model\.eval",
    ),
    "two inputs": (
        lambda path: torch.export.save(
            torch.export.export(nn.Bilinear(3, 3, 2), (IMAGES[0, 0, :, :3],) * 2), path
        ),
        UnsupportedModelError,
        "takes 2 inputs",
    ),
    "nothing there": (lambda path: path, MissingFileError, "no exported program at"),
    "no program": (spoilt, CheckpointError, "cannot be read as a program"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_used_says_why(tmp_path: Path, case: str) -> None:
    make, error, words = REFUSED[case]
    make(tmp_path / "net.pt2")
    with pytest.raises(error, match=words) as caught:
        open_model(str(tmp_path / "net.pt2"))
    assert len(str(caught.value).splitlines()) == 1


def test_a_program_brings_its_weights(tmp_path: Path) -> None:
    path = exported(trained(Residual()), tmp_path / "net.pt2")
    with pytest.raises(SettingError, match="leave out --weights"):
        open_model(str(path), weights=path)


def test_a_program_becomes_a_file(tmp_path: Path, run: Run) -> None:
    model = trained(Kinds())
    exported(model, tmp_path / "net.pt2")
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((32, 3, 16, 16)).astype(np.float32))
    words = ("--calibration", "x.npy", "--gate", "paper", "--adapt", "all", "--precision", "fp32")
    done = run("convert", "net.pt2", *words, "-o", "net.onnx")
    assert done.returncode == 0, done.stderr
    with torch.no_grad(), leantta.load(tmp_path / "net.onnx") as session:
        lean = leantta.adapt(model, IMAGES, "all", gate="paper")
        assert_close(session.predict(IMAGES.numpy()), lean(IMAGES), atol=1e-3)
