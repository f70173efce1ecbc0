"""Shift filters that were fitted in many ways: without a kind of disturbance, on few or many images.

A sheet holds which test images each of them decides rightly.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from leantta.disturbances.corruptions.names import SEVERITIES
from leantta.evaluate.metrics import area_under_curve
from leantta.gates.filter import FilterGate
from leantta_lab.reproduce.measurement import Sheet
from leantta_lab.reproduce.target import Scale

if TYPE_CHECKING:
    from torch import nn

    from leantta.surgery.plan import Plan
    from leantta_lab.reproduce.torch_probe import Probe

STUDIED = ("resnet18", "cifar10")
"""The model and its images that filters are fitted to in every way."""

ALSO: Mapping[Scale, tuple[tuple[str, str], ...]] = {
    "quick": (),
    "full": (("mobilenet_v2", "cifar10"), ("resnet18", "cifar100")),
}
"""Others that have the usual filter only: does it bring what it promises?"""

NEAR: Mapping[str, tuple[str, ...]] = {
    "light": ("brightness", "contrast", "fog"),
    "colour": ("saturate",),
    "noise": ("gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise"),
    "blur": ("defocus_blur", "glass_blur", "motion_blur", "zoom_blur", "gaussian_blur"),
    "digital": ("pixelate", "jpeg_compression"),
    "cover": ("snow", "frost", "spatter"),
    "warp": ("elastic_transform",),
}
"""The corruptions that are most like each kind of disturbance."""

IMAGES: dict[Scale, int] = {"quick": 250, "full": 1000}
"""Source images of the filters without a kind."""

COUNTS: dict[Scale, tuple[int, ...]] = {"quick": (50,), "full": (50, 100, 200, 500, 2000, 5000)}
"""Other numbers of source images."""

KINDS: dict[Scale, tuple[str, ...]] = {"quick": ("noise",), "full": tuple(NEAR)}
"""Left out, one after another."""

PER_CELL: dict[Scale, int] = {"quick": 1, "full": 50}
CLEAN_IMAGES: dict[Scale, int] = {"quick": 100, "full": 5000}
SEED = 0
NONE, PAPER, WHOLE, WITHOUT, FIRST = "none", "paper", "filter", "without ", "first "

LAYERS: dict[Scale, tuple[int, ...]] = {"quick": (1,), "full": (1, 2, 3, 4, 6)}
"""How many of the layers that the fit chose adapt, the first ones."""

Right = npt.NDArray[np.bool_]


def sheet_of(scale: Scale, model: str = STUDIED[0], dataset: str = STUDIED[1]) -> Sheet:
    """Return the file of all fits to a model."""
    keys: tuple[str, ...] = (NONE, WHOLE)
    if (model, dataset) == STUDIED:
        without, counts = (
            (f"{WITHOUT}{kind}" for kind in KINDS[scale]),
            (f"{n} images" for n in COUNTS[scale]),
        )
        keys = (NONE, PAPER, WHOLE, *(f"{FIRST}{n}" for n in LAYERS[scale]), *without, *counts)
    return Sheet(
        name=f"filter-{model}-{dataset}",
        job=f"shift filters of {model} {dataset}",
        model=model,
        dataset=dataset,
        settings={
            "images": IMAGES[scale],
            "per_cell": PER_CELL[scale],
            "clean_images": CLEAN_IMAGES[scale],
            "seed": SEED,
            "layers": FilterGate.layers,
        },
        keys=keys,
        measure=measure,
        seconds=len(keys) * (10 + IMAGES[scale] / 4),
    )


def measure(probe: "Probe", settings: Mapping[str, Any]) -> Callable[[str], Any]:
    """Measure which images are decided rightly without a filter, and with one that was fitted so."""
    import torch

    from leantta.export.heads import shift_of, shift_scale
    from leantta.streams.builders import abrupt, clean
    from leantta.surgery.apply import adapt, apply, narrowed
    from leantta.surgery.plan import Action

    shifted = abrupt(probe.cells, settings["per_cell"], seed=settings["seed"])
    plain = clean(probe.cells, settings["clean_images"], seed=settings["seed"])
    corruption = np.array([domain.corruption for domain in shifted.domains])[shifted.domain]

    def judged(model: "nn.Module") -> dict[str, Any]:
        found = probe.right(model, shifted)
        by_name = {name: packed(found[corruption == name]) for name in dict.fromkeys(corruption.tolist())}
        return {"shifted": by_name, "clean": packed(probe.right(model, plain))}

    def detected(model: "nn.Module") -> float:
        """Return how well the shift of one image tells severity 5 from clean images."""
        scale = shift_scale(probe.distances(model, probe.source(settings["images"])))
        worst = np.array([domain.severity for domain in shifted.domains])[shifted.domain] == SEVERITIES[-1]
        batches = (torch.cat([probe.normalized(b.inputs) for b in s.batches(500)]) for s in (plain, shifted))
        clean_, shifted_ = (shift_of(probe.distances(model, batch), scale) for batch in batches)
        return area_under_curve(clean_, shifted_[worst])

    @cache
    def whole() -> "Plan":
        return probe.fitted(settings["images"])

    def value(key: str) -> dict[str, Any]:
        if key == NONE:
            return judged(probe.model)
        if key.startswith(FIRST):
            kept = whole().named(Action.ADAPT)[: int(key.removeprefix(FIRST))]
            fewer = narrowed(whole(), {name: whole().constants[name] for name in kept})
            return {**judged(apply(probe.model, fewer)), "layers": len(kept)}
        if key == PAPER:
            return judged(adapt(probe.model, probe.example, "half", gate="paper"))
        left_out = key.removeprefix(WITHOUT) if key.startswith(WITHOUT) else None
        count = int(key.split()[0]) if key.endswith(" images") else settings["images"]
        fitted = whole() if key == WHOLE else probe.fitted(count, left_out=left_out)
        report = {} if fitted.report is None else fitted.report.numbers()
        model, layers = apply(probe.model, fitted), len(fitted.named(Action.ADAPT))
        detection = {"auc": detected(model)} if key == WHOLE and layers else {}
        return {**judged(model), **detection, "layers": layers, **report}

    return value


def packed(right: Right) -> list[Any]:
    """Return which are right as a number of them and hexadecimal digits."""
    return [len(right), np.packbits(right).tobytes().hex()]


def unpacked(kept: Sequence[Any]) -> Right:
    """Return which are right.

    >>> unpacked([3, "a0"])
    array([ True, False,  True])
    """
    count, digits = kept
    return np.unpackbits(np.frombuffer(bytes.fromhex(digits), np.uint8))[:count].astype(bool)
