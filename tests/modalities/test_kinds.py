"""The table of modalities: each entry is whole, and every kind of model file finds its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from leantta.data.imagefiles import write_png
from leantta.modalities.datasets import dataset_with
from leantta.modalities.kinds import MODALITIES, modality_for
from leantta.modalities.modality import FileReader
from leantta_lab.datasets.cifar import load_images
from leantta_lab.datasets.table import DATASETS


@pytest.mark.parametrize("name", MODALITIES)
def test_an_entry_is_whole(name: str) -> None:
    modality = MODALITIES[name]
    assert modality.name == name
    assert issubclass(modality.reader, FileReader)
    assert modality.reader.nothing.startswith("standard input")
    for kind in modality.file_inputs:
        assert modality_for(kind) is modality


def test_no_kind_of_input_is_claimed_twice() -> None:
    kinds = [kind for modality in MODALITIES.values() for kind in modality.file_inputs]
    assert sorted(kinds) == ["frames", "image", "signal", "tensor", "waveform"]


def test_plain_images_of_a_folder_are_samples(sample: Path, tmp_path: Path) -> None:
    images = load_images(sample).samples[:3]
    for number, image in enumerate(images):
        write_png(tmp_path / f"{number}.png", image)
    read_folder = MODALITIES["image"].read_folder
    assert read_folder is not None
    assert (read_folder(tmp_path, 2) == images[:2]).all()


@pytest.mark.parametrize("name", DATASETS)
def test_a_dataset_is_known_by_its_classes(name: str) -> None:
    classes = DATASETS[name].classes
    trained = [info.name for info in DATASETS.values() if info.classes == classes and not info.learnt_from]
    assert dataset_with(classes) == (trained[0] if len(trained) == 1 else None)  # esc50 and birdvox are alike
    assert dataset_with([*classes, "another"]) is None


def test_reading_files_loads_no_random_numbers_and_no_pillow() -> None:
    """A device pays for what it uses: the table of modalities draws and decodes nothing yet."""
    heavy = "{'numpy.random', 'PIL', 'scipy'}"
    code = f"import sys, leantta.modalities.kinds; sys.exit(bool({heavy} & {{*sys.modules}}))"
    subprocess.run([sys.executable, "-c", code], check=True)
