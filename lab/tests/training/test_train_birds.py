"""Training a detector: a yes-no question, clips mixed with others, and the whole command in miniature."""

from pathlib import Path

import numpy as np
import torch

from bird_files import corpora
from leantta.models.opening import pretrained
from leantta_lab.training.loop import by_class
from leantta_lab.training.recipes import Recipe
from leantta_lab.training.request import TrainRequest, train
from leantta_lab.training.views import VIEWS


def test_a_mixture_has_a_bird_if_either_clip_has_one() -> None:
    draw = np.random.default_rng(1)
    waves = draw.standard_normal((40, 500)).astype(np.float32)
    labels = (np.arange(40) % 4 == 0).astype(np.int64)
    views, heard = VIEWS["sound"].make(waves, labels, np.random.default_rng(2), Recipe(epochs=1))
    assert views.shape == waves.shape
    assert (heard >= labels).all()
    assert labels.sum() < heard.sum() < 40
    again, _ = VIEWS["sound"].make(waves, labels, np.random.default_rng(2), Recipe(epochs=1))
    np.testing.assert_array_equal(views, again)


def test_one_score_is_the_log_odds_of_the_second_class() -> None:
    scores = torch.tensor([[2.0], [-1.0]])
    torch.testing.assert_close(by_class(scores).softmax(1)[:, 1:], scores.sigmoid())
    assert by_class(torch.ones(2, 5)).shape == (2, 5)


def test_a_detector_is_trained_and_its_card_has_the_f1(tmp_path: Path) -> None:
    folder = corpora(tmp_path / "birds")
    output = tmp_path / "vggish_esc50.safetensors"
    recipe = Recipe(epochs=1, batch_size=8, optimizer="adamw", peak_rate=1e-3, cutout=0)
    done = train(
        TrainRequest(model="vggish", dataset="esc50", images=folder, output=output, recipe=recipe, threads=1)
    )
    assert 0 <= done.f1 <= 1
    card = output.with_suffix(".md").read_text()
    assert "16 training clips" in card
    assert f"| weighted F1 | {100 * done.f1:.2f} % |" in card
    assert "dB quieter" in card
    assert pretrained("vggish", "esc50", output).fc_final.out_features == 1  # type: ignore[union-attr]
