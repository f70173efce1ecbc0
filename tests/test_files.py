import resource
import subprocess
import sys
from pathlib import Path

import pytest

from leantta.errors import DataError, MissingFileError, StorageError
from leantta.files import check_folder, existing, replacing


def test_the_file_appears_whole_or_not_at_all(tmp_path):
    target = tmp_path / "deep" / "file.txt"
    with replacing(target) as part:
        part.write_text("whole")
        assert not target.exists()
    assert target.read_text() == "whole"
    with pytest.raises(UnicodeEncodeError), replacing(target) as part:
        part.write_text("half \ud800", encoding="utf-8")
    assert target.read_text() == "whole"
    assert [path.name for path in target.parent.iterdir()] == ["file.txt"]


@pytest.mark.parametrize("error", [DataError, MissingFileError])
def test_an_error_of_the_block_keeps_its_own_words(tmp_path, error):
    with pytest.raises(error, match="my words"), replacing(tmp_path / "file"):
        raise error("my words")


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("a file, not a folder")
    with pytest.raises(StorageError, match=r"cannot write .*inside"), replacing(tmp_path / "file" / "inside"):
        pytest.fail("there is no place to write to")


@pytest.mark.parametrize("name", [".", "new", "new/and/deeper"])
def test_a_folder_that_can_be_written_is_left_as_it_is(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    check_folder(tmp_path / name)
    check_folder(Path(name))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["file", "file/inside", "/proc/none"])
def test_a_folder_that_cannot_be_written_is_named(tmp_path, name):
    (tmp_path / "file").write_text("a file, not a folder")
    with pytest.raises(StorageError, match=f"cannot write .*{name}: "):
        check_folder(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_leaves_the_old_file(tmp_path):
    """A limit on the size of files stands in for the disk: the write fails half-way, as it would there."""
    target = tmp_path / "file"
    target.write_text("old")
    code = (
        "import resource, signal, sys\nfrom pathlib import Path\nfrom leantta.files import replacing\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "with replacing(Path(sys.argv[1])) as part: part.write_bytes(bytes(5000))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(target)], capture_output=True, text=True)
    assert "StorageError: cannot write" in done.stderr
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 1000  # only the child was limited


def test_missing_files_are_named_with_a_hint():
    with pytest.raises(MissingFileError, match=r"no model at nowhere\. Look elsewhere\."):
        existing(Path("nowhere"), "model", "Look elsewhere.")
