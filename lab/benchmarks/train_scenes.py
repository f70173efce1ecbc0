"""Train a network for scenes, the segmenter or the detector, on CIFAR-10's training photographs.

python lab/benchmarks/train_scenes.py segmenter --images cifar10.npz --steps 3000 -o FILE.safetensors
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

from leantta.data.seeds import derived
from leantta.modalities.datasets import load_data
from leantta_lab.datasets.scenes import SIDE, Scenes, scenes_of
from leantta_lab.datasets.table import CIFAR10
from leantta_lab.models.scenes import STRIDES, SceneDetector, SceneSegmenter

BATCH, RATE, DECAY, WARM = 32, 3e-3, 0.02, 0.1
LARGE = 36  # a photograph this wide belongs to the coarse grid
MEAN, STD = (torch.tensor(values).view(3, 1, 1) for values in (CIFAR10.mean, CIFAR10.std))


def main() -> None:
    """Train what is asked for, and write it in half precision."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("which", choices=["segmenter", "detector"])
    parser.add_argument("--images", type=Path, required=True, help="CIFAR-10 as one .npz")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--init", type=Path, help="a checkpoint whose encoder to start from")
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    model: nn.Module = SceneSegmenter(10) if given.which == "segmenter" else SceneDetector(10)
    if given.init is not None:
        known = {key: value.float() for key, value in load_file(given.init).items()}
        fits = {
            key: known[key]
            for key, value in model.state_dict().items()
            if key in known and known[key].shape == value.shape
        }
        model.load_state_dict(fits, strict=False)
    loss_of = segmenter_loss if given.which == "segmenter" else detector_loss
    train(model, loss_of, given)
    state = {
        key: value.half() if value.is_floating_point() else value
        for key, value in model.state_dict().items()
        if not key.endswith("num_batches_tracked")
    }
    save_file({key: value.contiguous() for key, value in state.items()}, given.output)


def train(model: nn.Module, loss_of: Callable[..., Tensor], given: argparse.Namespace) -> None:
    """Train the model in place, on scenes that are drawn anew at each step."""
    photographs = load_data(given.images, "cifar10", "train")
    model.train().to(memory_format=torch.channels_last)  # type: ignore[call-overload] # its stub lacks it
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY)
    began, losses = time.monotonic(), []
    for step in range(given.steps):
        at = step / given.steps
        rate = at / WARM if at < WARM else 0.5 * (1 + np.cos(np.pi * (at - WARM) / (1 - WARM)))
        optimizer.param_groups[0]["lr"] = RATE * float(rate) + 1e-6
        scenes = scenes_of(photographs, BATCH, derived(given.seed, "scenes", step))
        with torch.autocast("cpu", torch.bfloat16):
            returned = model(normalized(scenes))
        loss = loss_of(returned, scenes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 100 == 99:
            print(step + 1, f"{np.mean(losses[-100:]):.4f}", f"{time.monotonic() - began:.0f} s", flush=True)


def normalized(scenes: Scenes) -> Tensor:
    """Return scenes as networks take them."""
    images = torch.from_numpy(scenes.images).permute(0, 3, 1, 2).float() / 255
    return ((images - MEAN) / STD).contiguous(memory_format=torch.channels_last)


def segmenter_loss(scores: Tensor, scenes: Scenes) -> Tensor:
    """Return the cross-entropy of all pixels."""
    return F.cross_entropy(scores.float(), torch.from_numpy(scenes.masks).long())


def detector_loss(outputs: dict[str, dict[str, Tensor]], scenes: Scenes) -> Tensor:
    """Return the cross-entropy of all cells, and 1 - IoU of the boxes of those that show a photograph."""
    total = torch.zeros(())
    for stride in STRIDES:
        head = outputs[f"stride{stride}"]
        labels, sides = targets(scenes, stride)
        found = head["classes"].float().permute(0, 2, 3, 1)[labels >= 0]
        total = total + F.cross_entropy(found, labels[labels >= 0])
        shown = labels > 0
        boxes, wanted = head["boxes"].float().permute(0, 2, 3, 1)[shown], sides[shown]
        both = torch.minimum(boxes, wanted)
        inner = (both[:, 0] + both[:, 2]) * (both[:, 1] + both[:, 3])
        areas = [(b[:, 0] + b[:, 2]) * (b[:, 1] + b[:, 3]) for b in (boxes, wanted)]
        total = total + (1 - inner / (sum(areas) - inner)).mean()
    return total


def targets(scenes: Scenes, stride: int) -> tuple[Tensor, Tensor]:
    """Return the class of each cell, -1 where any will do, and the distances to its box's sides in cells."""
    count = SIDE // stride
    labels = torch.zeros(len(scenes.boxes), count, count, dtype=torch.int64)
    sides = torch.zeros(len(scenes.boxes), count, count, 4)
    centres = (torch.arange(count) + 0.5) * stride
    for place, boxes in enumerate(scenes.boxes):
        for left, upper, right, lower, label in boxes.tolist():
            own = (max(right - left, lower - upper) >= LARGE) == (stride == STRIDES[-1])
            x, y = centres[None, :].expand(count, count), centres[:, None].expand(count, count)
            inside = (x > left) & (x < right) & (y > upper) & (y < lower)
            middle = ((x - (left + right) / 2).abs() < max(0.3 * (right - left), stride / 2)) & (
                (y - (upper + lower) / 2).abs() < max(0.3 * (lower - upper), stride / 2)
            )
            labels[place][inside & ~middle] = -1
            labels[place][inside & middle] = label if own else -1
            distances = torch.stack([x - left, y - upper, right - x, lower - y], -1) / stride
            sides[place][inside] = distances[inside]
    return labels, sides


if __name__ == "__main__":
    main()
