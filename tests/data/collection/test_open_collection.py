"""Each layout is recognised by itself, and what does not fit gets one clear line."""

import io
import json
import os
import tarfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from leantta.data.collection.labels import as_numbers, read_classes
from leantta.data.collection.opening import is_collection, open_collection
from leantta.errors import DataError, LeanTTAError, SettingError
from picture_trees import picture, tree

LAYOUTS = {
    "classes": ("cat/1.png", "cat/2.png", "dog/1.png"),
    "imagenet-c": ("fog/1/cat/1.png", "fog/5/dog/1.png", "snow/3/dog/1.png"),
    "domains": ("day/cat/1.png", "day/dog/1.png", "night/dog/1.png"),
    "unlabelled": ("1.png", "2.png", "3.png"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_of_a_folder_is_found_out(layout: str, tmp_path: Path) -> None:
    found = open_collection(tree(tmp_path, *LAYOUTS[layout]))
    assert found.layout == layout
    assert found.keys == tuple(sorted(LAYOUTS[layout]))
    assert "3 images" in found.describe()
    assert found.labelled == (layout != "unlabelled")
    if found.labelled:
        assert [found.classes[label] for label in found.labels] == [key.split("/")[-2] for key in found.keys]
    for place in range(3):
        assert found.read(place).shape == (6, 8, 3)


def test_domains_have_their_images(tmp_path: Path) -> None:
    found = open_collection(tree(tmp_path, *LAYOUTS["imagenet-c"]))
    assert found.domains == ("fog/1", "fog/5", "snow/3")
    assert found.domain is not None
    assert found.domain.tolist() == [0, 1, 2]
    plain = open_collection(tree(tmp_path / "plain", "fog/1/a.png", "fog/2/a.png"))
    assert (plain.layout, plain.labelled, plain.domains) == ("imagenet-c", False, ("fog/1", "fog/2"))
    places = open_collection(tree(tmp_path / "places", "door/a.png", "yard/a.png"), layout="domains")
    assert (places.labelled, places.domains) == (False, ("door", "yard"))


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("1.png", "cat/1.png"), "1 images lie beside folders"),
        (("animal/cat/1.png", "plant/oak/1.png"), "2 folders deep"),
        (("train/cat/1.png", "train/dog/1.png"), "name that folder instead"),
        (("day/cat/1.png", "night/1.png"), "--layout"),
    ],
)
def test_what_may_be_several_things_is_asked_for(names: tuple[str, ...], said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        open_collection(tree(tmp_path, *names))
    assert len(open_collection(tmp_path, layout="unlabelled")) == 2


@pytest.mark.parametrize("layout", ["classes", "domains", "imagenet-c"])
def test_a_layout_that_does_not_fit_is_refused(layout: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"does not have the layout {layout}"):
        open_collection(tree(tmp_path, "1.png", "cat/2.png"), layout=layout)  # type: ignore[arg-type]


def test_a_list_of_classes_says_the_numbers(tmp_path: Path) -> None:
    tree(tmp_path, "cat/1.png", "dog/1.png")
    found = open_collection(tmp_path, classes=["dog", "eel", "cat"])
    assert (found.labels.tolist(), found.classes) == ([2, 0], ("dog", "eel", "cat"))
    with pytest.raises(DataError, match=r"1 of 2 labels .* 'dog'.* Did you mean 'dogs'"):
        open_collection(tmp_path, classes=["cat", "dogs"])
    numbers = open_collection(tree(tmp_path / "n", "002/1.png", "010/1.png"))
    assert numbers.labels.tolist() == [2, 10]
    assert "by number" in numbers.describe()
    with pytest.raises(DataError, match="class number 10; there are 3 classes"):
        open_collection(tmp_path / "n", classes=["a", "b", "c"])


def test_names_of_any_alphabet_are_the_same_however_they_are_written(tmp_path: Path) -> None:
    tree(tmp_path, "Bär/été 雪.png", "猫/1.png")  # a decomposed letter, as macOS writes it
    found = open_collection(tmp_path, classes=["猫", "Bär"])
    assert sorted(found.labels.tolist()) == [0, 1]
    assert "Bär" in found.describe()


def test_a_name_that_is_no_text_can_be_shown(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/\xff\xfe"
    try:
        os.mkdir(folder)  # noqa: PTH102 - a Path cannot be made of these bytes
    except OSError:
        pytest.skip("this file system takes text only")
    picture(Path(os.fsdecode(folder)) / "a.png")
    picture(tmp_path / "b" / "a.png")
    found = open_collection(tmp_path)
    found.describe().encode()
    assert len(found.fingerprint) == 16
    assert found.read(1).shape == (6, 8, 3)


def write_list(root: Path, name: str, rows: list[dict[str, object]]) -> Path:
    file = root / name
    if name.endswith(".csv"):
        columns = list(rows[0])
        lines = [",".join(columns), *(",".join(str(row.get(key, "")) for key in columns) for row in rows)]
    else:
        lines = [json.dumps(row) for row in rows]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


@pytest.mark.parametrize("name", ["list.csv", "list.jsonl"])
def test_lists_name_path_label_and_domain(name: str, tmp_path: Path) -> None:
    tree(tmp_path / "in", "a.png", "b.png")
    rows: list[dict[str, object]] = [
        {"path": "in/b.png", "label": "dog", "domain": "night"},
        {"path": str(tmp_path / "in" / "a.png"), "label": "cat", "domain": "day"},
    ]
    found = open_collection(write_list(tmp_path, name, rows))
    assert found.labels.tolist() == [1, 0]
    assert found.domains == ("day", "night")
    assert [found.read(place)[0, 0, 0] for place in (0, 1)] == [10, 0]
    bare = open_collection(write_list(tmp_path, name, [{"path": "in/a.png"}]))
    assert not bare.labelled
    assert bare.domain is None


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("l.csv", "a.png,cat\n", "does not begin with the names of its columns"),
        ("l.csv", "path,label\na.png,cat\ngone.png,cat\n", r"1 of the 2 images .* first line 3: gone.png"),
        ("l.csv", "path,label\na.png,cat\na.png,\n", "line 3 has no label, but 1 of 2"),
        ("l.csv", "path,label\na.png,1,2\n", "more values than columns"),
        ("l.csv", "path,label\n", "names no images"),
        ("l.csv", b"path\n\xff\xff.png\n", "cannot be read as CSV"),
        ("l.jsonl", '{"path": "a.png"}\n{"path": \n', "line 2"),
        ("l.jsonl", '["a.png"]\n', "line 1: not an object"),
        ("l.jsonl", '{"label": 1}\n', "line 1: no path"),
        ("l.txt", "a.png\n", "no form of images that is known"),
    ],
)
def test_a_list_that_does_not_fit_says_where(name: str, text: str | bytes, said: str, tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError, match=said):
        open_collection(tmp_path / name)


def png(grey: int) -> bytes:
    data = io.BytesIO()
    Image.fromarray(np.full((6, 8, 3), grey, np.uint8)).save(data, "PNG")
    return data.getvalue()


def write_tar(path: Path, members: dict[str, bytes], mode: str = "w") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload] # the mode is a text
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def test_tars_as_of_webdataset(tmp_path: Path) -> None:
    write_tar(tmp_path / "s-000.tar", {"0.png": png(0), "0.cls": b"3\n", "x/1.cls": b"5", "x/1.png": png(10)})
    write_tar(tmp_path / "s-001.tar", {"2.seg.png": png(20), "2.png": png(20), "2.json": b'{"label": 4}'})
    found = open_collection(tmp_path)
    assert found.layout == "tars"
    assert found.labels.tolist() == [3, 5, 4]
    assert [found.read(place)[0, 0, 0] for place in range(3)] == [0, 10, 20]
    named = {"a.png": png(0), "a.json": b'{"label": "cat", "domain": "night"}'}
    one = open_collection(write_tar(tmp_path / "named" / "n.tar", named), classes=["dog", "cat"])
    assert (one.labels.tolist(), one.domains) == ([1], ("night",))
    assert not open_collection(tmp_path / "named", layout="unlabelled").labelled


def test_tars_that_cannot_be_used(tmp_path: Path) -> None:
    whole = write_tar(tmp_path / "a.tar", {"0.png": png(0), "0.cls": b"cat"})
    (tmp_path / "cut.tar").write_bytes(whole.read_bytes()[:700])
    for path in (tmp_path / "cut.tar", write_tar(tmp_path / "z.tar", {"0.png": png(0)}, "w:gz")):
        with pytest.raises(DataError, match="whole and uncompressed"):
            open_collection(path)
    with pytest.raises(DataError, match="no image"):
        open_collection(write_tar(tmp_path / "none.tar", {"0.cls": b"1"}))
    with pytest.raises(DataError, match="no JSON"):
        open_collection(write_tar(tmp_path / "bad.tar", {"0.png": png(0), "0.json": b"{"}))
    with pytest.raises(SettingError, match="is for folders"):
        open_collection(whole, layout="classes")


def test_what_cannot_be_read_is_counted_and_named(tmp_path: Path) -> None:
    tree(tmp_path, "a/1.png", "b/1.png")
    (tmp_path / "a" / "2.jpg").write_bytes(b"\xff\xd8no image")
    found = open_collection(tmp_path)
    with pytest.raises(DataError, match=r"a/2.jpg"):
        found.read(1)
    good, bad = found.readable()
    assert bad == ("a/2.jpg",)
    assert (good.keys, good.labels.tolist()) == (("a/1.png", "b/1.png"), [0, 1])
    assert good.fingerprint != found.fingerprint
    with pytest.raises(DataError, match="none of the 1 images"):
        found.subset(np.array([1])).readable()


def test_the_fingerprint_tells_labels_and_sizes(tmp_path: Path) -> None:
    tree(tmp_path, "a/1.png", "b/1.png")
    first = open_collection(tmp_path)
    assert open_collection(tmp_path).fingerprint == first.fingerprint
    assert open_collection(tmp_path, classes=["b", "a"]).fingerprint != first.fingerprint
    assert first.subset(np.array([1])).fingerprint != first.fingerprint
    picture(tmp_path / "a" / "1.png", size=(80, 60))
    assert open_collection(tmp_path).fingerprint != first.fingerprint


def test_some_of_many_are_taken_from_all_classes(tmp_path: Path) -> None:
    found = open_collection(tree(tmp_path, *(f"{name}/{i}.png" for name in "abcd" for i in range(5))))
    assert sorted(found.spread(8).labels.tolist()) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert found.spread(99) is found


def test_what_counts_as_a_collection(tmp_path: Path) -> None:
    tree(tmp_path, "photos/a.png")
    (tmp_path / "arrays").mkdir()
    (tmp_path / "arrays" / "data_batch_1").write_bytes(b"x")
    kinds = ("photos", "arrays", "list.csv", "x.npz")
    assert [is_collection(tmp_path / name) for name in kinds] == [True, False, True, False]
    with pytest.raises(LeanTTAError, match="no images at"):
        open_collection(tmp_path / "list.csv")


def test_class_names_come_from_a_text_file(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("cat\n\nsnow leopard \n", encoding="utf-8-sig")
    assert read_classes(tmp_path / "names.txt") == ("cat", "snow leopard")
    (tmp_path / "names.txt").write_bytes(b"\xff\n")
    with pytest.raises(DataError, match="UTF-8"):
        read_classes(tmp_path / "names.txt")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="0123456789"), min_size=1), min_size=1)
)
def test_numbers_mean_the_names_again(names: list[str]) -> None:
    given_ = as_numbers(names, None, "x")
    again = as_numbers([given_.classes[label] for label in given_.labels], given_.classes, "x")
    assert np.array_equal(again.labels, given_.labels)
    assert list(given_.classes) == sorted(set(given_.classes))
