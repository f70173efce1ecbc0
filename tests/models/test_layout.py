"""Models with their channels last, converted like others."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import leantta
from leantta.data.preprocess import Preprocessing
from leantta.errors import LeanTTAError
from leantta.export.options import FileOptions, InputKind
from leantta.models.layout import channels_first


class Last(nn.Module):
    """Takes (n, h, w, 3)."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, 2, 1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 5)

    def forward(self, images: Tensor) -> Tensor:
        values = torch.relu(self.norm(self.conv(images.permute(0, 3, 1, 2))))
        scores: Tensor = self.head(values.mean((2, 3)))
        return scores


def test_the_model_given_is_left_alone() -> None:
    model = Last().eval()
    inputs = torch.randn(2, 6, 8, 3)
    wanted = model(inputs)
    torch.testing.assert_close(channels_first(model)(inputs.permute(0, 3, 1, 2)), wanted)
    torch.testing.assert_close(model(inputs), wanted)


@pytest.mark.parametrize("kind", ["tensor", "image"])
def test_the_file_takes_what_all_files_take(tmp_path: Path, kind: InputKind) -> None:
    torch.manual_seed(0)
    model = Last().eval()
    pixels = np.random.default_rng(0).integers(0, 256, (20, 12, 16, 3), dtype=np.uint8)
    how = Preprocessing(resize=(12, 16), mean=(0.5, 0.4, 0.3), std=(0.2, 0.3, 0.25), layout="channels_last")
    path = tmp_path / "last.onnx"
    leantta.convert(
        model, pixels, path, layers="all", gate="paper", preprocessing=how, options=FileOptions(input=kind)
    )
    with leantta.load(path) as session:
        assert session.info.input.shape == (3, 12, 16)
        assert session.info.input.preprocessing == Preprocessing(resize=(12, 16))
        found = session.predict(pixels)
    with torch.no_grad():
        taken = (pixels / 255 - np.array(how.mean)) / np.array(how.std)
        wanted = model(torch.from_numpy(taken.astype(np.float32))).numpy()
    assert np.abs(found - wanted).max() < 0.05 * np.abs(wanted).max() + 0.05
    assert (found.argmax(1) == wanted.argmax(1)).mean() > 0.9
    with pytest.raises(LeanTTAError):
        leantta.convert(model, pixels, path, mean=how.mean, std=how.std, layers="all", gate="paper")
