"""Every dataset has a modality, and every modality keeps what the rest of the code relies on."""

from pathlib import Path

import numpy as np
import pytest

from bird_files import corpora
from leantta.data.datasets import Dataset, per_channel
from leantta.errors import SettingError
from leantta.modalities.cells import CLEAN, CachedCells, Cells
from leantta.modalities.datasets import dataset_info, generated_cells, load_data, modality_of
from leantta.modalities.kinds import MODALITIES
from leantta_lab.datasets.table import DATASETS
from motion_files import write_har

FIRST = {"image": "cifar10", "motion": "har", "sound": "esc50"}


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> dict[str, Dataset]:
    har = write_har(tmp_path_factory.mktemp("modalities") / "har.npz")
    birds = corpora(tmp_path_factory.mktemp("birds"))
    return {
        "image": load_data(sample, "cifar10", "test"),
        "motion": load_data(har, "har", "test"),
        "sound": load_data(birds, "esc50", "train"),
    }


@pytest.mark.parametrize("name", DATASETS)
def test_a_dataset_has_a_modality_and_statistics_for_each_channel(name: str) -> None:
    info = DATASETS[name]
    assert info.modality in MODALITIES.values()
    assert len(info.mean) == len(info.std)
    assert min(info.std) > 0
    assert modality_of(name) is MODALITIES[info.modality.name]


@pytest.mark.parametrize("kind", MODALITIES)
def test_cells_of_a_modality_keep_their_promise(kind: str, samples: dict[str, Dataset]) -> None:
    data, modality = samples[kind], MODALITIES[kind]
    cells: Cells = generated_cells(data)
    assert cells.name.startswith("generated")
    assert cells.corruptions == modality.corruptions
    clean = cells.inputs(cells.cell(CLEAN, 0, np.arange(3), 0))
    assert clean.dtype == np.float32
    assert clean.shape[:2] == (3, len(DATASETS[FIRST[kind]].mean))
    name = modality.corruptions[0]
    made = cells.cell(name, 4, np.array([5, 2]), 1)
    np.testing.assert_array_equal(made[1:], cells.cell(name, 4, np.array([2]), 1))
    np.testing.assert_array_equal(made, CachedCells(cells).cell(name, 4, np.array([5, 2]), 1))
    assert np.abs(cells.inputs(made) - cells.inputs(data.samples[[5, 2]])).max() > 0
    assert (
        cells.fingerprint
        != generated_cells(
            Dataset(data.name, data.split, data.samples[:5], data.labels[:5], data.classes)
        ).fingerprint
    )


def test_a_value_per_channel_meets_inputs_of_any_rank() -> None:
    for shape in ((2, 3, 5), (2, 3, 5, 6), (2, 3, 5, 6, 7)):
        assert np.broadcast_shapes(per_channel((1.0, 2.0, 3.0), len(shape)).shape, shape) == shape


def test_an_unknown_dataset_is_refused(sample: Path) -> None:
    with pytest.raises(SettingError, match=r"no dataset is called 'hare'; known: .*har"):
        modality_of("hare")
    with pytest.raises(SettingError, match="har has no images"):
        dataset_info("cifar10").load(sample, "har", "test")
