"""The shift filter by what it was fitted on: without a kind of disturbance, and with few or many images.

What fitting expects by itself stands beside what came.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from leantta.evaluate.intervals import Interval, paired_share
from leantta.tables import MISSING, Table
from leantta_lab.reproduce.measurement import Sheet, Values, sheet_jobs
from leantta_lab.reproduce.target import Job, Page, Scale, Setting, Target

if TYPE_CHECKING:
    from torch import nn

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
NONE, PAPER, WHOLE, WITHOUT = "none", "paper", "filter", "without "

Right = npt.NDArray[np.bool_]


def sheet_of(scale: Scale, model: str = STUDIED[0], dataset: str = STUDIED[1]) -> Sheet:
    """Return the file of all fits to a model."""
    keys: tuple[str, ...] = (NONE, WHOLE)
    if (model, dataset) == STUDIED:
        without, counts = (
            (f"{WITHOUT}{kind}" for kind in KINDS[scale]),
            (f"{n} images" for n in COUNTS[scale]),
        )
        keys = (NONE, PAPER, WHOLE, *without, *counts)
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
        },
        keys=keys,
        measure=_measure,
        seconds=len(keys) * (10 + IMAGES[scale] / 4),
    )


def jobs(setting: Setting) -> list[Job]:
    """Return a job for each model."""
    return sheet_jobs([sheet_of(setting.scale, *each) for each in (STUDIED, *ALSO[setting.scale])], setting)


def _measure(probe: "Probe", settings: Mapping[str, Any]) -> Callable[[str], Any]:
    """Measure which images are decided rightly without a filter, and with one that was fitted so."""
    from leantta.streams.builders import abrupt, clean
    from leantta.surgery.apply import adapt, apply
    from leantta.surgery.plan import Action

    shifted = abrupt(probe.cells, settings["per_cell"], seed=settings["seed"])
    plain = clean(probe.cells, settings["clean_images"], seed=settings["seed"])
    corruption = np.array([domain.corruption for domain in shifted.domains])[shifted.domain]

    def judged(model: "nn.Module") -> dict[str, Any]:
        found = probe.right(model, shifted)
        by_name = {name: _packed(found[corruption == name]) for name in dict.fromkeys(corruption.tolist())}
        return {"shifted": by_name, "clean": _packed(probe.right(model, plain))}

    def value(key: str) -> dict[str, Any]:
        if key == NONE:
            return judged(probe.model)
        if key == PAPER:
            return judged(adapt(probe.model, probe.example, "half", gate="paper"))
        left_out = key.removeprefix(WITHOUT) if key.startswith(WITHOUT) else None
        count = int(key.split()[0]) if key.endswith(" images") else settings["images"]
        fitted = probe.fitted(count, left_out=left_out)
        report = {} if fitted.report is None else fitted.report.numbers()
        return {**judged(apply(probe.model, fitted)), "layers": len(fitted.named(Action.ADAPT)), **report}

    return value


def _packed(right: Right) -> list[Any]:
    """Return which are right as a number of them and hexadecimal digits."""
    return [len(right), np.packbits(right).tobytes().hex()]


def _unpacked(packed: Sequence[Any]) -> Right:
    """Return which are right.

    >>> _unpacked([3, "a0"])
    array([ True, False,  True])
    """
    count, digits = packed
    return np.unpackbits(np.frombuffer(bytes.fromhex(digits), np.uint8))[:count].astype(bool)


def page(setting: Setting) -> Page:
    """Return what is lost without each kind of disturbance, and what more images bring."""
    scale = setting.scale
    sheets = {each: sheet_of(scale, *each) for each in (STUDIED, *ALSO[scale])}
    values = {each: sheet.shown(setting) for each, sheet in sheets.items()}
    lacking = []
    for each, sheet in sheets.items():
        missing = [key for key in sheet.keys if key not in values[each]]
        if missing:
            lacking.append(f"{' '.join(each)}, {', '.join(missing)}: {sheet.why(setting)}")
    if not {NONE, PAPER, WHOLE} <= set(values[STUDIED]):
        return Page(lacking=lacking)
    whole = {each: found for each, found in values.items() if {NONE, WHOLE} <= set(found)}
    parts = (_kinds(values[STUDIED], scale), _counts(values[STUDIED], scale), _promises(whole))
    return Page(parts=parts, lacking=lacking)


def _kinds(values: Values, scale: Scale) -> Table:
    rows = []
    for kind in KINDS[scale]:
        key = f"{WITHOUT}{kind}"
        known = {name: _shifted(values[name], NEAR[kind]) for name in (NONE, PAPER, WHOLE)}
        cells = [f"{100 * known[name].mean():.1f}" for name in (NONE, PAPER, WHOLE)]
        if key in values:
            found = _shifted(values[key], NEAR[kind])
            above, gain = _points(known[PAPER], found), _points(_shifted(values[NONE]), _shifted(values[key]))
            cells += [f"{100 * found.mean():.1f}", above, gain]
        else:
            cells += [MISSING] * 3
        rows.append((kind, ", ".join(NEAR[kind]), *cells))
    header = (
        "kind",
        "corruptions that are most like it",
        "None",
        "paper's gate",
        "filter, all kinds",
        "filter without this kind",
        "above the paper's gate there",
        "gain over all 19",
    )
    whole = _points(_shifted(values[NONE]), _shifted(values[WHOLE]))
    images = f"{95 * PER_CELL[scale]:,} images of 19 corruptions at five severities"
    return Table(
        header,
        tuple(rows),
        (
            f"Accuracy in %, gains in points with their 95 % interval; {images}, seed {SEED}, float32.",
            f"With all kinds the filter gains {whole} over all 19. Each filter was fitted on "
            f"{IMAGES[scale]:,} training images.",
        ),
    )


def _counts(values: Values, scale: Scale) -> Table:
    keys = {count: f"{count} images" for count in COUNTS[scale]} | {IMAGES[scale]: WHOLE}
    rows: list[tuple[str, ...]] = []
    for count in sorted(keys):
        value = values.get(keys[count])
        if value is None:
            rows.append((f"{count:,}", *(MISSING,) * 3))
        else:
            rows.append((f"{count:,}", *_measured(values[NONE], value)))
    return Table(
        ("source images", "layers that adapt", "shifted", "clean"),
        tuple(rows),
        ("Points gained over None with their 95 % interval; the same images as above, and clean ones.",),
    )


def _promises(whole: Mapping[tuple[str, str], Values]) -> Table:
    rows = []
    for (model, dataset), values in whole.items():
        value = values[WHOLE]
        layers, shifted, clean = _measured(values[NONE], value)
        told = [_expected(value.get(f"expected_{name}"), 1) for name in ("gain_known", "gain_unknown")]
        expected = (*told, shifted, _expected(value.get("expected_cost"), -1), clean)
        rows.append((f"{model} {dataset}", layers, *expected))
    header = (
        "model",
        "layers that adapt",
        "shifts that it knows: expected",
        "others: expected",
        "shifted: measured",
        "clean: expected",
        "clean: measured",
    )
    return Table(
        header,
        tuple(rows),
        (
            "Expected is what fitting tells, from source images that it holds back and disturbances of the "
            "library: decisions as on the clean image, and clean accuracy as the model judges it. Measured "
            "is accuracy on the 19 corruptions and on clean test images.",
        ),
    )


def _measured(none: Mapping[str, Any], value: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return how many layers adapt, and the points gained on shifted and on clean images."""
    clean = _points(_unpacked(none["clean"]), _unpacked(value["clean"]))
    return str(value["layers"]), _points(_shifted(none), _shifted(value)), clean


def _shifted(value: Mapping[str, Any], corruptions: Sequence[str] | None = None) -> Right:
    """Return which shifted images are right, of some or all corruptions."""
    return np.concatenate([_unpacked(value["shifted"][name]) for name in corruptions or value["shifted"]])


def _points(before: Right, after: Right) -> str:
    gained, lost = int((after & ~before).sum()), int((before & ~after).sum())
    return paired_share(gained, lost, len(before)).points


def _expected(interval: Sequence[float] | None, sign: int) -> str:
    if interval is None:
        return MISSING
    mean, half = sign * interval[0], interval[1]
    return Interval(mean, mean - half, mean + half).points


TARGET = Target(
    title="The shift filter by what it was fitted on, and what it promises",
    jobs=jobs,
    page=page,
    summary="the shift filter without each kind of disturbance, and with 50 to 5,000 source images",
)
