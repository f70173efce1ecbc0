"""Which files a path means: folders in folders, hidden ones, none."""

from pathlib import Path

import pytest

from leantta.data.audio import SUFFIXES, find_sounds, holds_sounds
from leantta.errors import DataError, MissingFileError


def test_a_folder_is_searched_with_its_folders(tmp_path: Path) -> None:
    for name in ("b.wav", "a/c.MP3", "a/b/d.flac", "e.ogg", "notes.txt", ".hidden.wav", ".trash/f.wav"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "folder.wav").mkdir()
    found = [str(path.relative_to(tmp_path)) for path in find_sounds(tmp_path)]
    assert found == ["a/b/d.flac", "a/c.MP3", "b.wav", "e.ogg"]
    assert holds_sounds(tmp_path)
    assert find_sounds(tmp_path / "b.wav") == (tmp_path / "b.wav",)
    assert holds_sounds(tmp_path / "b.wav")
    assert not holds_sounds(tmp_path / "notes.txt")


def test_a_folder_without_sound(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(DataError, match=rf"no sound file in .*Known endings: {', '.join(SUFFIXES)}"):
        find_sounds(tmp_path)
    assert not holds_sounds(tmp_path)


def test_another_ending(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(DataError, match=r"notes\.txt does not end like a sound file"):
        find_sounds(tmp_path / "notes.txt")


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no sound file or folder of sound files at"):
        find_sounds(tmp_path / "nowhere")
    with pytest.raises(DataError, match="cannot look into"):
        find_sounds(tmp_path / ("x" * 300))
