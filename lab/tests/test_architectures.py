"""Architectures of timm: the page says what its record says, and each network still gets as far."""

from pathlib import Path
from typing import Any

import pytest

import architectures
from architectures import ARCHITECTURES, FORMAT, KIND, PAGE, RECORD, filled
from leantta.records.json_file import read_json
from timm_here import timm_here

EXACT = 1e-3
"""How far the float32 graph may be from torch, as a share of the largest score."""


def rows() -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = read_json(RECORD, KIND, FORMAT)["rows"]
    return kept


def test_the_page_is_what_the_record_says() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert filled(text, rows()) == text


def test_at_least_twenty_architectures_were_converted() -> None:
    assert {row["name"] for row in rows()} == set(ARCHITECTURES)
    converted = [row for row in rows() if row["refused"] is None]
    assert len(converted) >= 20
    assert all(row["exact"] < EXACT for row in converted)
    assert all(row["adapt"] and row["operators"] for row in converted)


def test_a_network_without_batchnorm_has_the_clear_error() -> None:
    refusal = next(row["refused"] for row in rows() if row["name"] == "convnext_atto")
    assert "has no BatchNorm layer (it has LayerNorm2d" in refusal


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # timm's own
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_network_gets_as_far_as_the_page_says(name: str, tmp_path: Path) -> None:
    known = next(row for row in rows() if row["name"] == name)
    with timm_here() as timm:
        if timm is None:
            pytest.skip("timm is not here: LEANTTA_TIMM=FOLDER names a folder that has it")
        row = architectures.run(ARCHITECTURES[name], timm, tmp_path)
    assert (row.refused is None) == (known["refused"] is None), row.refused
    assert (row.norms, row.adapt, row.fused, row.kept) == tuple(
        known[part] for part in ("norms", "adapt", "fused", "kept")
    )
    if row.refused is None:
        assert row.exact is not None
        assert row.exact < EXACT
        assert row.operators == known["operators"]
        assert row.images
