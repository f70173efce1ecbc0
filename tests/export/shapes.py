"""Networks that put out more than one row of scores, on one small backbone."""

from collections import namedtuple
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from export.models import settle_, trained
from leantta.outputs import Head

SIZE = 12
Maps = tuple[Tensor, Tensor, Tensor]
Both = namedtuple("Both", ["scores", "maps"])


@dataclass
class Said:
    logits: Tensor
    hidden: tuple[Tensor, ...]
    loss: Tensor | None = None


class Backbone(nn.Module):
    """Maps at the size of the input, a half and a quarter of it; `shape` makes of them what is returned."""

    def __init__(self, shape: Callable[["Backbone", Maps], Any]) -> None:
        super().__init__()
        self.stem, self.bn1 = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.down, self.bn2 = nn.Conv2d(8, 12, 3, 2, padding=1, bias=False), nn.BatchNorm2d(12)
        self.deep, self.bn3 = nn.Conv2d(12, 16, 3, 2, padding=1, bias=False), nn.BatchNorm2d(16)
        self.up, self.bn4 = nn.ConvTranspose2d(16, 8, 2, 2), nn.BatchNorm2d(8)
        self.side = nn.Conv2d(20, 6, 3, padding=1)
        self.pixels, self.boxes, self.head = nn.Conv2d(14, 5, 1), nn.Conv2d(16, 4, 1), nn.Linear(16, 5)
        self.shape = shape

    def forward(self, x: Tensor) -> Any:
        full = torch.relu(self.bn1(self.stem(x)))
        half = torch.relu(self.bn2(self.down(full)))
        quarter = torch.relu(self.bn3(self.deep(half)))
        return self.shape(self, (full, half, quarter))

    def scores(self, quarter: Tensor) -> Tensor:
        found: Tensor = self.head(quarter.mean((2, 3)))
        return found

    def maps(self, full: Tensor, half: Tensor, quarter: Tensor, mode: str = "bilinear") -> Tensor:
        low = torch.cat([torch.relu(self.bn4(self.up(quarter))), half], 1)
        low = F.interpolate(self.side(low), scale_factor=2.0, mode=mode)
        found: Tensor = self.pixels(torch.cat([low, full], 1))
        return found


SCORES, MAP = ((5,), "classes"), ((5, SIZE, SIZE), "map")
HALF, QUARTER, BOXES = ((12, 6, 6), "array"), ((16, 3, 3), "array"), ((4, 3, 3), "array")


class Shape(NamedTuple):
    """What a network returns, and what it is called then."""

    returns: Callable[[Backbone, Maps], Any]
    heads: Mapping[str, tuple[tuple[int, ...], str]]


SHAPES: Mapping[str, Shape] = {
    "scores": Shape(lambda m, maps: m.scores(maps[2]), {"logits": SCORES}),
    "map": Shape(lambda m, maps: m.maps(*maps), {"output": MAP}),
    "map, nearest": Shape(lambda m, maps: m.maps(*maps, "nearest"), {"output": MAP}),
    "yes-no map": Shape(lambda m, maps: m.maps(*maps)[:, :1], {"output": ((1, SIZE, SIZE), "map")}),
    "array": Shape(lambda m, maps: m.boxes(maps[2]), {"output": BOXES}),
    "tuple": Shape(lambda m, maps: (m.boxes(maps[2]), m.scores(maps[2])), {"out0": BOXES, "out1": SCORES}),
    "dict": Shape(
        lambda m, maps: {"out": m.maps(*maps), "aux": m.scores(maps[2])}, {"out": MAP, "aux": SCORES}
    ),
    "nested": Shape(
        lambda m, maps: {
            "coarse": {"boxes": m.boxes(maps[2]), "scores": [m.scores(maps[2])]},
            "distance": maps[2].flatten(2),
        },
        {"coarse.boxes": BOXES, "coarse.scores.0": SCORES, "out.distance": ((16, 9), "array")},
    ),
    "features": Shape(
        lambda _, maps: [*maps, maps[2]],
        {"out0": ((8, SIZE, SIZE), "map"), "out1": HALF, "out2": QUARTER, "out3": QUARTER},
    ),
    "named tuple": Shape(
        lambda m, maps: Both(m.scores(maps[2]), m.maps(*maps)), {"scores": SCORES, "maps": MAP}
    ),
    "dataclass": Shape(
        lambda m, maps: Said(m.scores(maps[2]), maps[1:]),
        {"logits": SCORES, "hidden.0": HALF, "hidden.1": QUARTER},
    ),
}


def network(name: str) -> Backbone:
    """A network with the statistics that training would have left."""
    model: Backbone = trained(Backbone(SHAPES[name].returns), 3)
    settle_(model)
    return model


def heads_of(name: str) -> tuple[Head, ...]:
    return tuple(Head(key, shape, role) for key, (shape, role) in SHAPES[name].heads.items())  # type: ignore[arg-type]
