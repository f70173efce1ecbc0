"""The table over photographs of ImageNet: a public network for large images, and ImageNet-C."""

from collections.abc import Mapping
from dataclasses import replace

from leantta.disturbances.corruptions.names import FAMILIES
from leantta_lab.reproduce.protocol import (
    CALIBRATED,
    CALIBRATED_INT8,
    FILTER,
    FILTER_INT8,
    LEAN,
    LEAN_INT8,
    NONE,
    NONE_INT8,
)
from leantta_lab.reproduce.run_table import ONE_BY_ONE, Column, RunTable, Section, quick_note, spread_note
from leantta_lab.reproduce.target import Scale

ROWS = (NONE, NONE_INT8, LEAN, LEAN_INT8, CALIBRATED, CALIBRATED_INT8, FILTER, FILTER_INT8)

PHOTOGRAPHS: Mapping[str, Mapping[Scale, int]] = {
    "clean": {"quick": 200, "full": 200},
    "abrupt": {"quick": 2, "full": 5},
    "severity5": {"quick": 5, "full": 10},
}
"""How many photographs a cell of each stream has; the sample has 200 to test with."""

HEADS = {"clean": "clean", "abrupt": "abrupt", "severity5": "severity 5"}
COLUMNS = tuple(
    Column(
        head=HEADS[stream],
        model="efficientnet_lite0",
        dataset="imagenet",
        stream=stream,
        inputs=photographs,
        one_seed=stream == "clean",
    )
    for stream, photographs in PHOTOGRAPHS.items()
)


def _by_corruption(family: str, names: tuple[str, ...]) -> Section:
    """Return the table of the corruptions of one family, out of the abrupt stream that has them all."""
    columns = tuple(replace(COLUMNS[1], head=name.replace("_", " "), only=name) for name in names)
    return Section(title=f"Of the abrupt stream, {family}:", rows=ROWS, columns=columns)


def _sections(_: Scale) -> list[Section]:
    streams = Section(rows=ROWS, columns=COLUMNS)
    return [streams, *(_by_corruption(family, names) for family, names in FAMILIES.items())]


TABLE_IMAGENET = RunTable(
    title="Accuracy of EfficientNet-Lite0 on photographs of ImageNet",
    summary="a public network for large images, ImageNet-C; needs --images imagenet=FOLDER",
    sections=_sections,
    notes=lambda setting: [
        spread_note(setting),
        "The paper has no such table. 200 photographs of 200 classes; gates are fitted on 300 of other "
        "classes.",
        "The abrupt stream has all 19 corruptions of ImageNet-C at five severities, "
        f"{PHOTOGRAPHS['abrupt'][setting.scale]} photographs each; the last column is severity 5 alone.",
        ONE_BY_ONE,
        *quick_note(setting),
    ],
)
