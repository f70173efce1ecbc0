"""`leantta run` on models that decide for pixels, or nothing: what is printed and what is kept."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from export.models import GOOD, pixels
from export.shapes import network
from leantta.export.convert import convert
from leantta.export.options import FileOptions
from leantta.runtime.session import load
from running import Run

IMAGES = pixels(20)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    for name in ("map", "array"):
        convert(
            network(name),
            IMAGES,
            folder / f"{name}.onnx",
            layers="none",
            options=FileOptions(input="image"),
            **GOOD,
        )
    (folder / "photos" / "more").mkdir(parents=True)
    for place in ("a.png", "more/a.png"):
        Image.fromarray(IMAGES[0]).save(folder / "photos" / place)
    return folder


def test_shares_of_pixels_are_those_of_the_map_that_is_kept(run: Run, files: Path, tmp_path: Path) -> None:
    done = run("run", files / "map.onnx", files / "photos" / "a.png", "--json", "--save", tmp_path / "kept")
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    with np.load(told["saved"]) as saved:
        kept = saved["output"]
    with load(files / "map.onnx") as session:
        wanted = session.run(IMAGES[:1]).arrays["output"][0]
    np.testing.assert_array_equal(kept, wanted)
    classes = wanted.argmax(0)
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "kept" / "a.png.png")), classes)
    for part in told["pixels"]:
        assert part["share"] == pytest.approx((classes == int(part["label"])).mean(), abs=1e-6)
    assert told["shift"] is None
    table = run("run", files / "map.onnx", files / "photos" / "a.png").stdout.splitlines()
    assert table[0].split() == ["path", "pixels", "shift", "latency_ms"]
    assert f"{told['pixels'][0]['label']} {100 * told['pixels'][0]['share']:.0f} %" in table[1]


def test_arrays_are_named_and_inputs_of_one_name_do_not_meet(run: Run, files: Path, tmp_path: Path) -> None:
    inputs = (files / "photos" / "a.png", files / "photos" / "more" / "a.png")
    done = run("run", files / "array.onnx", *inputs, "--save", tmp_path)
    assert done.returncode == 0
    assert "output 4x3x3" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png.npz", "a.png_2.npz"]


def test_a_folder_that_cannot_be_written_is_one_line(run: Run, files: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file")
    done = run("run", files / "array.onnx", files / "photos" / "a.png", "--save", tmp_path / "kept" / "in")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "cannot write" in done.stderr
