"""`leantta corrupt` as a user runs it: through `main`, twice in a process of its own."""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from leantta.data.imagefiles import read_image
from leantta.disturbances.corruptions.apply import corrupt
from leantta.disturbances.corruptions.strengths import CIFAR_C
from leantta_lab.datasets.cifar_c import open_cells
from running import Done, Run

PICTURES = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3), dtype=np.uint8)


@pytest.fixture(name="run")
def run_corrupt(run: Run) -> Run:
    return partial(run, "corrupt")


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    Image.fromarray(PICTURES[0]).save(folder / "cat.png")
    Image.fromarray(np.tile(PICTURES[1], (1, 2, 1))).save(folder / "dog.bmp")
    return folder


@pytest.fixture
def npz(tmp_path: Path) -> Path:
    np.savez(tmp_path / "set.npz", x_test=PICTURES, y_test=np.array([[3], [8], [8], [0]]))
    return tmp_path / "set.npz"


def failed(done: Done, code: int, *says: str) -> None:
    assert done.returncode == code, done
    assert "Traceback" not in done.stderr
    if code == 1:
        assert done.stderr.strip().splitlines()[-1].startswith("error: ")
    for word in says:
        assert word in " ".join(done.stderr.split()), done.stderr


@pytest.mark.usefixtures("photos")
def test_image_in_every_way(run: Run, tmp_path: Path) -> None:
    done = run("photos/cat.png", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "95 files written, 0 complete already" in done.stdout
    assert "95/95" in done.stderr
    files = sorted(path.relative_to(tmp_path / "out") for path in (tmp_path / "out").rglob("*.*"))
    assert files == sorted(Path(name, str(level), "cat.png") for name in CIFAR_C for level in range(1, 6))
    contrast = read_image(tmp_path / "out/contrast/4/cat.png")
    np.testing.assert_array_equal(contrast, corrupt(PICTURES[:1], "contrast", 4, seed=0)[0])


@pytest.mark.usefixtures("photos")
def test_folder_of_mixed_sizes_and_resume(run: Run, tmp_path: Path) -> None:
    words = ("photos", "-o", "out", "--corruption", "snow, fog", "--severity", "5,1")
    assert "8 files written, 0 complete" in run(*words).stdout
    assert read_image(tmp_path / "out/fog/1/dog.png").shape == (32, 64, 3)
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*.png")}
    (tmp_path / "out/snow/5/cat.png").unlink()
    assert "1 files written, 7 complete" in run(*words).stdout
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*.png")} == before
    assert "8 files written, 0 complete" in run(*words, "--overwrite").stdout


@pytest.mark.usefixtures("photos")
def test_neighbours_do_not_matter(run: Run, tmp_path: Path) -> None:
    run("photos", "-o", "both", "--corruption", "fog")
    run("photos/dog.bmp", "-o", "alone", "--corruption", "fog")
    for level in "12345":
        one, two = (tmp_path / folder / "fog" / level / "dog.png" for folder in ("both", "alone"))
        assert one.read_bytes() == two.read_bytes()


def test_other_recipe_is_not_replaced(run: Run, photos: Path, tmp_path: Path) -> None:
    words = ("photos/cat.png", "-o", "out", "--corruption", "fog", "--severity", "2")
    run(*words)
    old = (tmp_path / "out/fog/2/cat.png").read_bytes()
    failed(run(*words, "--seed", "1"), 1, "cat.png is there", "seed 0", "seed 1", "--overwrite")
    Image.fromarray(PICTURES[2]).save(photos / "cat.png")  # another cat
    failed(run(*words), 1, "cat.png is there")
    assert (tmp_path / "out/fog/2/cat.png").read_bytes() == old
    assert run(*words, "--overwrite").returncode == 0
    assert (tmp_path / "out/fog/2/cat.png").read_bytes() != old


@pytest.mark.usefixtures("photos")
def test_families_and_limit(run: Run, tmp_path: Path) -> None:
    done = run("photos", "-o", "out", "--corruption", "noise,fog", "--severity", "3", "--limit", "1")
    assert "4 files written" in done.stdout
    found = {path.name for path in (tmp_path / "out").iterdir()}
    assert found == {"gaussian_noise", "shot_noise", "impulse_noise", "fog"}


@pytest.mark.usefixtures("npz")
def test_npz_becomes_a_folder_that_our_loader_reads(run: Run, tmp_path: Path) -> None:
    words = ("set.npz", "-o", "C", "--corruption", "fog,jpeg_compression", "--limit", "3", "--seed", "2")
    done = run(*words)
    assert "3 files written, 0 complete" in done.stdout
    assert "10/10" in done.stderr
    labels = np.load(tmp_path / "C/labels.npy")
    assert labels.dtype == np.uint8
    assert labels.tolist() == [3, 8, 8] * 5
    cells = open_cells(tmp_path / "C", "cifar10")
    assert cells.corruptions == ("fog", "jpeg_compression")
    np.testing.assert_array_equal(
        cells.cell("fog", 4, np.array([0, 2]), seed=0), corrupt(PICTURES[:3], "fog", 4, seed=2)[[0, 2]]
    )
    assert "0 files written, 3 complete" in run(*words).stdout
    failed(run("set.npz", "-o", "C", "--corruption", "fog", "--limit", "3"), 1, "fog.npy is there", "seed 2")
    assert set(json.loads((tmp_path / "C/made.json").read_text())) == {"fog", "jpeg_compression", "labels"}


def in_own_process(folder: Path, *words: str, file_bytes: int) -> Done:
    """Run the command where no file may grow beyond `file_bytes`: to the program, a disk that fills up."""
    script = (
        "import resource, runpy, sys; "
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({file_bytes},) * 2); "
        "sys.argv[0] = 'leantta'; runpy.run_module('leantta', run_name='__main__', alter_sys=True)"
    )
    command = [sys.executable, "-B", "-c", script, "corrupt", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.usefixtures("npz", "photos")
@pytest.mark.parametrize(
    ("source", "file_bytes", "says"),
    [("set.npz", 20_000, "out/fog.npy"), ("photos", 1_000, "out/fog/1/cat.png")],
)
def test_full_disk_leaves_nothing_half_done(tmp_path: Path, source: str, file_bytes: int, says: str) -> None:
    pytest.importorskip("resource", reason="limits on files are a thing of Unix")
    words = (source, "-o", "out", "--corruption", "fog")
    failed(in_own_process(tmp_path, *words, file_bytes=file_bytes), 1, "cannot write", says)
    assert not [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    done = in_own_process(tmp_path, *words, file_bytes=10_000_000)
    assert done.returncode == 0, done.stderr


def test_what_cannot_be_used(run: Run, photos: Path, npz: Path, tmp_path: Path) -> None:
    failed(run("nowhere.png", "-o", "out"), 1, "no image or folder of images at nowhere.png")
    failed(run("nowhere.npz", "-o", "out"), 1, "nowhere.npz")
    (photos / "zebra.png").write_text("text")
    failed(run("photos", "-o", "out"), 1, "zebra.png")
    assert not (tmp_path / "out").exists()  # found before anything was written
    Image.fromarray(PICTURES[0][:8]).save(photos / "zebra.png")
    failed(run("photos", "-o", "out"), 1, "zebra.png", "16x16")
    (photos / "zebra.png").unlink()
    Image.fromarray(PICTURES[0]).save(photos / "cat.webp")
    failed(run("photos", "-o", "out"), 1, "cat.png, cat.webp would all become cat.png")
    failed(run("photos/cat.png", "-o", "photos/dog.bmp", "--severity", "1"), 1, "cannot write")
    (tmp_path / "bad.npz").write_bytes(npz.read_bytes()[:500])
    failed(run("bad.npz", "-o", "out"), 1, "bad.npz")
    np.savez(tmp_path / "bad.npz", x_test=PICTURES, y_test=np.zeros(3, dtype=int))
    failed(run("bad.npz", "-o", "out"), 1, "4 images and labels of shape (3,)")


@pytest.mark.usefixtures("photos")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--corruption", "fgo"), "Did you mean 'fog'?"),
        (("--corruption", "zzz"), "Known: gaussian_noise"),
        (("--severity", "6"), "'6' is not 'all' or some of 1,2,3,4,5"),
        (("--severity", ""), "is not 'all'"),
        (("--seed", "-1"), "--seed"),
        (("--limit", "0"), "--limit"),
    ],
)
def test_wrong_usage(run: Run, words: tuple[str, ...], says: str) -> None:
    failed(run("photos", "-o", "out", *words), 2, says)


@pytest.mark.usefixtures("npz")
def test_npz_takes_all_severities(run: Run) -> None:
    failed(run("set.npz", "-o", "out", "--severity", "3"), 2, "leave --severity out")


def test_help_teaches_by_example(run: Run) -> None:
    done = run("--help")
    assert done.returncode == 0
    assert "leantta corrupt cifar10.npz -o CIFAR-10-C\n" in done.stdout
