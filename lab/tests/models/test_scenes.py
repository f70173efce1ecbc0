"""Scenes say where their photographs are, and a detector for them is the same as a file."""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

import leantta
from leantta.data.datasets import Dataset
from leantta.modalities.datasets import load_data
from leantta.runtime.session import load
from leantta_lab.datasets.scenes import SIDE, Scenes, scenes_of
from leantta_lab.datasets.table import CIFAR10
from leantta_lab.models.scenes import STRIDES, SceneDetector, SceneSegmenter
from leantta_lab.samples import CIFAR10_SAMPLE

Array = NDArray[np.float32]


def photographs() -> Dataset:
    return load_data(Path(CIFAR10_SAMPLE), "cifar10", "test")


def inputs_of(scenes: Scenes) -> torch.Tensor:
    mean, std = (np.array(values, np.float32) for values in (CIFAR10.mean, CIFAR10.std))
    return torch.from_numpy(((scenes.images / np.float32(255) - mean) / std).transpose(0, 3, 1, 2).copy())


def test_masks_and_boxes_say_the_same_and_scenes_come_from_their_seed() -> None:
    scenes, again = (scenes_of(photographs(), 6, seed=3) for _ in range(2))
    np.testing.assert_array_equal(scenes.images, again.images)
    for mask, boxes in zip(scenes.masks, scenes.boxes, strict=True):
        wanted = np.zeros((SIDE, SIDE), np.uint8)
        for left, upper, right, lower, label in boxes:
            assert not wanted[upper:lower, left:right].any()  # they do not overlap
            wanted[upper:lower, left:right] = label
        np.testing.assert_array_equal(mask, wanted)
    assert sum(map(len, scenes.boxes)) > 10


def boxes_of(outputs: dict[str, Array]) -> Array:
    """Boxes of all cells in pixels, (cells, 4), by the distances that the detector gives."""
    found = []
    for stride in STRIDES:
        sides = outputs[f"stride{stride}.boxes"] * stride  # (4, h, w)
        y, x = (np.mgrid[: sides.shape[1], : sides.shape[2]] + 0.5) * stride
        found.append(np.stack([x - sides[0], y - sides[1], x + sides[2], y + sides[3]], -1).reshape(-1, 4))
    return np.concatenate(found)


def overlaps(first: Array, second: Array) -> Array:
    low, high = np.maximum(first[:, :2], second[:, :2]), np.minimum(first[:, 2:], second[:, 2:])
    both = np.clip(high - low, 0, None).prod(1)
    areas = [(each[:, 2:] - each[:, :2]).prod(1) for each in (first, second)]
    result: Array = both / (areas[0] + areas[1] - both)
    return result


def test_the_boxes_of_a_detectors_file_are_those_of_torch(tmp_path: Path) -> None:
    """Random weights with the statistics of real scenes: how boxes round, not whether they are right."""
    torch.manual_seed(0)
    model, scenes = SceneDetector(10), scenes_of(photographs(), 32, seed=1)
    model.train()
    for norm in model.modules():
        if isinstance(norm, torch.nn.BatchNorm2d):
            norm.momentum = None
            norm.reset_running_stats()
    with torch.no_grad():
        model(inputs_of(scenes))
    model.eval()
    done = leantta.convert(
        model,
        scenes.images,
        tmp_path / "d.onnx",
        layers="half",
        gate="paper",
        mean=CIFAR10.mean,
        std=CIFAR10.std,
    )
    assert [each.head.name for each in done.compared] == [
        f"stride{stride}.{part}" for stride in STRIDES for part in ("classes", "boxes")
    ]
    assert all(each.typical < 0.15 for each in done.compared), done.compared
    with torch.inference_mode():
        wanted = done.adapted(inputs_of(scenes)[:4])
    with load(tmp_path / "d.onnx") as session:
        found = session.run(scenes.images[:4]).arrays
    for place in range(4):
        exact = {
            f"{key}.{part}": tensor[place].numpy()
            for key, each in wanted.items()
            for part, tensor in each.items()
        }
        file = {name: array[place] for name, array in found.items()}
        assert np.median(overlaps(boxes_of(file), boxes_of(exact))) > 0.9


def test_the_segmenter_gives_a_score_for_each_class_and_pixel() -> None:
    scores = SceneSegmenter(10).eval()(torch.zeros(2, 3, SIDE, SIDE))
    assert scores.shape == (2, 11, SIDE, SIDE)
