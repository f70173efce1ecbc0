"""Where images are looked for."""

from pathlib import Path

import pytest

from leantta.errors import MissingFileError
from leantta_lab.reproduce.at_hand import FOLDER_VARIABLE, find_images


def test_images_are_found_here_in_data_and_where_the_variable_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    assert find_images({}) == {}
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "cifar-100-python").mkdir(parents=True)
    assert find_images({}) == {}
    monkeypatch.setenv(FOLDER_VARIABLE, str(elsewhere))
    assert find_images({}) == {"cifar100": elsewhere / "cifar-100-python"}
    (tmp_path / "data" / "cifar-10-batches-bin").mkdir(parents=True)
    assert find_images({})["cifar10"] == Path("data/cifar-10-batches-bin")
    (tmp_path / "cifar10.npz").touch()
    assert find_images({})["cifar10"] == Path("cifar10.npz")
    assert find_images({"cifar10": elsewhere})["cifar10"] == elsewhere
    with pytest.raises(MissingFileError, match="no cifar10 images at lost"):
        find_images({"cifar10": Path("lost")})
