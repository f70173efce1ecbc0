"""Bird sound as a modality: who is in which split, what models take, what is mixed in."""

from pathlib import Path

import numpy as np
import pytest

from bird_files import corpora
from leantta.data.audio import read_wave
from leantta.data.datasets import Dataset
from leantta.data.logmel import log_mel
from leantta.errors import MissingFileError
from leantta.modalities.datasets import generated_cells, load_data, modality_of
from leantta.modalities.sound import FRAMES, SAMPLES


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpora(tmp_path_factory.mktemp("birds"))


@pytest.fixture(scope="module")
def test_split(folder: Path) -> Dataset:
    return load_data(folder, "esc50", "test")


def test_folds_are_split_and_the_other_corpus_is_for_testing_only(folder: Path, test_split: Dataset) -> None:
    train = load_data(folder, "esc50", "train")
    assert (len(train), len(test_split)) == (16, 4)
    assert test_split.labels.tolist() == [0, 1, 0, 1]
    other = load_data(folder, "capuchin", "test")
    assert len(other) == 4
    source = load_data(folder, "capuchin", "train")
    np.testing.assert_array_equal(source.samples, train.samples)


def test_a_short_clip_is_repeated(folder: Path) -> None:
    data = load_data(folder, "capuchin", "test")
    clip = read_wave(folder / "capuchin/0.wav")
    np.testing.assert_array_equal(data.samples[0], np.concatenate([clip, clip])[:SAMPLES])


def test_models_take_the_frames_inside_five_seconds(test_split: Dataset) -> None:
    inputs = modality_of("esc50").inputs(test_split.samples[:2])
    assert inputs.shape == (2, 1, FRAMES, 64)
    np.testing.assert_array_equal(inputs[1, 0], log_mel(test_split.samples[1], frames=FRAMES))
    assert 2048 + (FRAMES - 1) * 1328 <= SAMPLES < 2048 + FRAMES * 1328


@pytest.mark.parametrize("name", modality_of("esc50").corruptions)
def test_a_cell_depends_on_the_clip_and_the_seed_alone(test_split: Dataset, name: str) -> None:
    cells = generated_cells(test_split)
    together = cells.cell(name, 3, np.array([0, 1, 2]), 5)
    assert together.shape == (3, SAMPLES)
    assert np.isfinite(together).all()
    np.testing.assert_array_equal(cells.cell(name, 3, np.array([2]), 5)[0], together[2])
    assert not np.array_equal(together[0], test_split.samples[0])


def test_what_is_mixed_in_has_no_bird(test_split: Dataset) -> None:
    """The chirps of the miniature are at 3 to 7 kHz; behind noise there must be none."""
    mixed = generated_cells(test_split).cell("background", 5, np.array([0]), 0)[0]
    line = np.abs(np.fft.rfft(mixed))
    hertz = np.fft.rfftfreq(mixed.size, 1 / 32_000)
    chirps, others = line[(hertz > 3000) & (hertz < 7000)], line[(hertz > 8000) & (hertz < 12_000)]
    assert chirps.mean() < 1.2 * others.mean()


def test_a_folder_without_tables_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"no table of clips .*esc50\.csv"):
        load_data(tmp_path, "esc50", "test")
