"""The paper's cells: every row whole, and some of them looked up by hand."""

import pytest

from leantta.disturbances.corruptions.names import NAMES
from leantta_lab.reproduce import paper_tables, sensor_tables
from leantta_lab.reproduce.paper_cells import (
    ABRUPT_GRADUAL,
    BATCHES,
    BIRDS,
    FUSION_MS,
    MOBILEVIT,
    SEVERITY5,
    STREAM_COLUMNS,
    Cells,
)
from leantta_lab.reproduce.protocol import TableRow


@pytest.mark.parametrize("cells", [ABRUPT_GRADUAL, BATCHES], ids=["single", "batches"])
def test_rows_have_a_value_for_each_column(cells: Cells) -> None:
    assert {len(row) for row in cells.values()} == {len(STREAM_COLUMNS)}


def test_cells_are_where_the_paper_has_them() -> None:
    column = STREAM_COLUMNS.index(("cifar100", "gradual", "resnet18"))
    assert ABRUPT_GRADUAL["RealisticTTA", "batch 1"][column] == 51.2
    assert BATCHES["Tent", "batch 64"][column] == 68.5
    assert BATCHES["EATA", "batch 64"][STREAM_COLUMNS.index(("cifar10", "gradual", "mobilenet_v2"))] == 79.6
    assert SEVERITY5["EATA", "batch 64"]["zoom_blur"] == 82.71
    assert SEVERITY5["LeanTTA", "int8"]["speckle_noise"] == 44.36
    assert SEVERITY5["Tent", "batch 16"]["contrast"] == 59.54
    assert FUSION_MS["mobilenet_v2"]["half fused"] == 13.06


def test_every_corruption_has_its_column() -> None:
    assert {frozenset(row) for row in SEVERITY5.values()} == {frozenset(NAMES)}


@pytest.mark.parametrize(
    ("rows", "cells"),
    [
        (paper_tables.SINGLE_ROWS, ABRUPT_GRADUAL),
        (paper_tables.BATCH_ROWS, BATCHES),
        (paper_tables.MOBILEVIT_ROWS, MOBILEVIT),
        (sensor_tables.BIRD_ROWS, BIRDS),
    ],
    ids=["single", "batches", "mobilevit", "birds"],
)
def test_no_cell_of_the_paper_is_without_a_row(rows: tuple[TableRow, ...], cells: Cells) -> None:
    assert cells.keys() <= {row.key for row in rows}


def test_severity_5_has_every_row_of_the_paper_at_full_scale() -> None:
    assert SEVERITY5.keys() <= {row.key for row in paper_tables.severity5_rows("full")}
