"""The shift filter by what it was fitted on: without a kind of disturbance, and with few or many images.

What fitting expects by itself stands beside what came, and what each adapting layer brings beside its time.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from leantta.errors import MissingFileError
from leantta.evaluate.intervals import Interval, paired_share
from leantta.measure.record import read_bench
from leantta.measure.results import Figures, figures_of
from leantta.tables import MISSING, Table
from leantta_lab.reproduce.filter_fits import (
    ALSO,
    COUNTS,
    FIRST,
    IMAGES,
    KINDS,
    NEAR,
    NONE,
    PAPER,
    PER_CELL,
    SEED,
    STUDIED,
    WHOLE,
    WITHOUT,
    Right,
    sheet_of,
    unpacked,
)
from leantta_lab.reproduce.measurement import Values, sheet_jobs
from leantta_lab.reproduce.target import Job, Page, Scale, Setting, Target

TIMES = "bench_layers_resnet18.json"
"""A record of `leantta bench 0_layers.onnx 1_layers.onnx ... --base 0_layers.onnx`, beside the records."""


def jobs(setting: Setting) -> list[Job]:
    """Return a job for each model."""
    return sheet_jobs([sheet_of(setting.scale, *each) for each in (STUDIED, *ALSO[setting.scale])], setting)


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
    studied = values[STUDIED]
    parts = (
        _kinds(studied, scale),
        _counts(studied, scale),
        *_layers(studied, _times(setting)),
        _promises(whole),
    )
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


def _layers(values: Values, times: Mapping[int, Figures]) -> list[Table]:
    """Return what so many layers bring, and what they cost, if it was measured."""
    rows: list[tuple[str, ...]] = []
    found = {int(values[key]["layers"]): values[key] for key in values if key.startswith(FIRST)}
    if not found:
        return []
    found[int(values[WHOLE]["layers"])] = values[WHOLE]
    for count in sorted({0, *found}):
        gained = _measured(values[NONE], found[count])[1:] if count else (MISSING, MISSING)
        timed = times.get(count)
        time = (MISSING, MISSING) if timed is None else (f"{timed.median_ms:.3f}", _ratio(timed.ratio))
        rows.append((str(count), *gained, *time))
    table = Table(
        ("layers that adapt", "shifted", "clean", "int8 file: ms", "times nothing adapting [95 %]"),
        tuple(rows),
        (
            "The first of the layers that the fit chose; points gained over None as above.",
            f"Time of one prediction, one thread, from {TIMES}." if times else "Times are not measured yet.",
        ),
    )
    return [table]


def _times(setting: Setting) -> dict[int, Figures]:
    """Return the times of files by how many layers adapt; the names of their rows begin with that number."""
    try:
        record = read_bench(setting.records.parent / TIMES)
    except MissingFileError:
        return {}
    return {int(row.name.partition("_")[0]): row for row in figures_of(record)}


def _ratio(interval: Interval) -> str:
    return "{:.3f} [{:.3f}, {:.3f}]".format(*interval)


def _promises(whole: Mapping[tuple[str, str], Values]) -> Table:
    rows = []
    for (model, dataset), values in whole.items():
        value = values[WHOLE]
        layers, shifted, clean = _measured(values[NONE], value)
        told = [_expected(value.get(f"expected_{name}"), 1) for name in ("gain_known", "gain_unknown")]
        expected = (*told, shifted, _expected(value.get("expected_cost"), -1), clean)
        area = f"{value['auc']:.3f}" if "auc" in value else MISSING
        rows.append((f"{model} {dataset}", layers, *expected, area))
    header = (
        "model",
        "layers that adapt",
        "shifts that it knows: expected",
        "others: expected",
        "shifted: measured",
        "clean: expected",
        "clean: measured",
        "AUC of shift",
    )
    return Table(
        header,
        tuple(rows),
        (
            "The AUC says how well `shift` of single images tells severity 5 from clean ones. "
            "Expected is what fitting tells, from source images that it holds back and disturbances of the "
            "library: decisions as on the clean image, and clean accuracy as the model judges it. Measured "
            "is accuracy on the 19 corruptions and on clean test images.",
        ),
    )


def _measured(none: Mapping[str, Any], value: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return how many layers adapt, and the points gained on shifted and on clean images."""
    clean = _points(unpacked(none["clean"]), unpacked(value["clean"]))
    return str(value["layers"]), _points(_shifted(none), _shifted(value)), clean


def _shifted(value: Mapping[str, Any], corruptions: Sequence[str] | None = None) -> Right:
    """Return which shifted images are right, of some or all corruptions."""
    return np.concatenate([unpacked(value["shifted"][name]) for name in corruptions or value["shifted"]])


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
