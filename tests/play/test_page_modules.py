"""What the page computes is what Python computes: pixels, inputs, probabilities, what a file says."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantta.data.resize import cover, luminance
from leantta.runtime.container import read_container
from leantta.runtime.inputs import prepare
from leantta.runtime.metadata import InputInfo
from leantta.runtime.prediction import probabilities
from leantta.runtime.selftest import SelfTest
from play.node import in_node, needs_node

pytestmark = needs_node
GOLDEN = Path(__file__).parents[1] / "runtime" / "golden" / "format1.onnx"

SIZES = [
    (32, 32, 12, 12),
    (12, 12, 12, 12),
    (5, 9, 12, 12),
    (100, 37, 32, 32),
    (480, 640, 32, 32),
    (300, 301, 7, 224),
    (1, 50, 8, 8),
    (1400, 1100, 8, 8),  # more than 128 taps, where numpy adds in halves
]


def image(height: int, width: int, seed: int = 0) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


RESIZE = """
import { cover, luminance } from "./resize.js";
result = given.map(([name, height, width, toHeight, toWidth]) => {
  const data = new Uint8ClampedArray(readFileSync(name));
  const sized = cover({ width, height, channels: 3, data }, toHeight, toWidth);
  return [Array.from(sized.data), Array.from(luminance(sized).data)];
});
"""


def assert_same_pixels(folder: Path, sizes: list[tuple[int, int, int, int]]) -> None:
    images = [image(height, width, seed) for seed, (height, width, *_) in enumerate(sizes)]
    for number, pixels in enumerate(images):
        (folder / f"{number}.raw").write_bytes(pixels.tobytes())
    found = in_node(folder, RESIZE, [[f"{number}.raw", *size] for number, size in enumerate(sizes)])
    for pixels, size, (sized, grey) in zip(images, sizes, found, strict=True):
        wanted = cover(pixels, *size[2:])
        np.testing.assert_array_equal(np.array(sized), wanted.ravel())
        np.testing.assert_array_equal(np.array(grey), luminance(wanted).ravel())


def test_pictures_come_to_the_size_of_the_model_as_in_python(tmp_path: Path) -> None:
    assert_same_pixels(tmp_path, SIZES)


sides = st.integers(1, 90)


@settings(max_examples=5, deadline=None)
@given(sizes=st.lists(st.tuples(sides, sides, sides, sides), min_size=20, max_size=20))
def test_any_size_comes_to_any_other_as_in_python(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[tuple[int, int, int, int]]
) -> None:
    assert_same_pixels(tmp_path_factory.mktemp("sizes"), sizes)


@pytest.mark.parametrize("kind", ["tensor", "image"])
def test_the_engine_is_given_what_python_gives_it(kind: str, tmp_path: Path) -> None:
    info = InputInfo(kind=kind, shape=(3, 4, 5), mean=(0.4914, 0.4822, 0.4465), std=(0.2471, 0.2435, 0.2616))
    pixels = image(4, 5)
    wanted = prepare(pixels[None], info)
    script = """
    import { toTensor } from "./preprocess.js";
    const image = { width: 5, height: 4, channels: 3, data: given.data };
    const { type, data, dims } = toTensor(image, given.input);
    result = { type, dims, data: Array.from(data) };
    """
    found = in_node(tmp_path, script, {"data": pixels.ravel().tolist(), "input": info._asdict()})
    assert (found["type"], tuple(found["dims"])) == (wanted.dtype.name, wanted.shape)
    np.testing.assert_array_equal(np.array(found["data"], wanted.dtype), wanted.ravel())


@pytest.mark.parametrize("logits", [[0.3], [-50.0, 800.0, 2.0], [1.0, 1.0]])
def test_probabilities_are_those_of_python(logits: list[float], tmp_path: Path) -> None:
    script = 'import { probabilities } from "./answers.js"; result = probabilities(given);'
    assert in_node(tmp_path, script, logits) == pytest.approx(probabilities(np.array(logits)).tolist())


READ = """
import { readArtifact } from "./artifact.js";
import { selfTestImage } from "./answers.js";
try {
  const info = readArtifact(new Uint8Array(readFileSync(given)), "that.onnx");
  result = { info, image: Array.from((await selfTestImage(info)).data) };
} catch (error) {
  result = { error: error.message };
}
"""


def test_a_file_says_of_itself_what_it_says_in_python(tmp_path: Path) -> None:
    found = in_node(tmp_path, READ, str(GOLDEN))
    told = json.loads(read_container(GOLDEN).metadata["leantta"])
    assert found["info"] == {**told, "scores": "logits"}
    test = told["selftest"]
    stored = SelfTest(test["dtype"], tuple(test["shape"]), test["input"], {})
    assert found["image"] == stored.images().ravel().tolist()


@pytest.mark.parametrize("fault", ["changed", "cut", "foreign", "empty"])
def test_a_file_that_is_none_of_ours_or_damaged_is_refused(fault: str, tmp_path: Path) -> None:
    content = GOLDEN.read_bytes()
    at = content.index(b"2/scale") - 40
    bad = {
        "changed": content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :],
        "cut": content[: len(content) // 2],
        "foreign": content.replace(b"leantta.crc32", b"someone.crc32").replace(
            b"\x07leantta\x12", b"\x07someone\x12"
        ),
        "empty": b"",
    }[fault]
    (tmp_path / "bad.onnx").write_bytes(bad)
    assert "that.onnx" in in_node(tmp_path, READ, "bad.onnx")["error"]
