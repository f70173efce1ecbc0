"""`leantta train` on motion windows: it learns, and its card says what it learnt from."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leantta.modalities.datasets import load_data
from leantta.modalities.kinds import MODALITIES
from leantta.models.opening import pretrained
from leantta_lab.training.request import decided
from leantta_lab.training.views import VIEWS
from motion_files import write_har

if TYPE_CHECKING:
    from running import Run  # at run time the name may be that of another folder's


def test_every_modality_has_views() -> None:
    assert set(VIEWS) == set(MODALITIES)


def test_a_network_learns_made_up_motion(run: "Run", tmp_path: Path) -> None:
    har = write_har(tmp_path / "har.npz")
    done = run(
        *("train", "motion_cnn", "--dataset", "har", "--images", har, "--threads", 1),
        *("--epochs", 6, "--batch-size", 32),
    )
    assert done.returncode == 0, done.stderr
    assert "% of 120 test windows after 6 epochs" in done.stdout
    weights = tmp_path / "weights" / "motion_cnn_har.safetensors"
    card = weights.with_suffix(".md").read_text()
    for words in ("240 training windows", "] of 120", "moved in time by up to 32", "| as read, "):
        assert words in card
    assert "pixels" not in card
    model = pretrained("motion_cnn", "har", weights)
    test = load_data(har, "har", "test")
    assert (decided(model, test) == test.labels).mean() > 0.8


@pytest.mark.parametrize(
    ("model", "dataset", "shape"), [("motion_cnn", "cifar10", "(9, 128)"), ("resnet18", "har", "(3, 32, 32)")]
)
def test_a_model_of_other_data_is_refused(run: "Run", model: str, dataset: str, shape: str) -> None:
    done = run("train", model, "--dataset", dataset, "--images", "nowhere.npz")
    assert done.returncode == 1
    assert f"{model} takes inputs of shape {shape}; {dataset} has" in done.stderr
