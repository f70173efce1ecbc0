"""Which files count as images of a folder."""

from pathlib import Path

import pytest

from leantta.data.collection.search import find_images, has_image
from leantta.errors import DataError, MissingFileError
from picture_trees import picture, tree


def test_folders_are_searched_in_order_and_only_images_count(tmp_path: Path) -> None:
    tree(tmp_path, "b.png", "a.JPG", "inner/c.webp", ".hidden.png", ".hidden/d.png")
    (tmp_path / "notes.txt").write_text("no image")
    (tmp_path / "folder.png").mkdir()
    names = [str(path.relative_to(tmp_path)) for path in find_images(tmp_path)]
    assert names == ["a.JPG", "b.png", "inner/c.webp"]
    assert find_images(tmp_path / "b.png") == (tmp_path / "b.png",)


def test_links_are_followed_but_not_in_circles(tmp_path: Path) -> None:
    picture(tmp_path / "elsewhere" / "a.png")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "photos" / "same").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "photos" / "round").symlink_to(tmp_path / "photos")
    (tmp_path / "photos" / "dead.png").symlink_to(tmp_path / "gone.png")
    names = [str(path.relative_to(tmp_path / "photos")) for path in find_images(tmp_path / "photos")]
    assert names == ["cat/a.png", "dead.png", "same/a.png"]  # a dead link is found, and fails when read


def test_nothing_to_find(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="nowhere"):
        find_images(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"no image in .* 0 entries"):
        find_images(tmp_path)
    (tmp_path / "a.tiff").write_bytes(b"")
    with pytest.raises(DataError, match=r"a.tiff does not end like an image.*\.png"):
        find_images(tmp_path / "a.tiff")
    assert not has_image(tmp_path)
    for name in ("x" * 5_000, "a\0b"):
        with pytest.raises((DataError, MissingFileError)):
            find_images(tmp_path / name)
