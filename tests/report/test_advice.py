"""The verdict says what the figures say."""

import numpy as np
import pytest

from leantta.evaluate.record import Header, Record
from leantta.records.provenance import Provenance
from leantta.report.advice import Comparison, Part, Row, as_json, by_domain, table, verdict, warning
from leantta.streams.stream import Domain

DOMAINS = (Domain("clean", 0), Domain("fog", 3))
CLEAN = Part(title="clean", stream="all", keep=lambda domain: domain.corruption == "clean")
FOG = Part(title="corrupted", stream="all", keep=lambda domain: domain.corruption != "clean")
COUNT = 1000


def record(clean: float, corrupted: float, values: bool = False, ranks: bool = False) -> Record:
    """Return a record over as many clean images as corrupted ones, with these shares right."""
    right = np.concatenate([np.arange(COUNT) < share * COUNT for share in (clean, corrupted)])
    return Record(
        header=Header(
            recipe={"model": "m", "method": "n", "stream": {"name": "all", "seed": 0}},
            inputs=2 * COUNT,
            domains=DOMAINS,
            provenance=Provenance(command="", machine={}, versions={}, started=""),
        ),
        labels=np.zeros(2 * COUNT, np.int64),
        predictions=np.where(right, 0, 1),
        domain=np.repeat([0, 1], COUNT),
        finished="now",
        ranks=np.where(right, 0, 4) if ranks else None,
        values=right.astype(np.float64) if values else None,
    )


def compared(*figures: tuple[float, float], values: bool = False, **others: object) -> Comparison:
    rows = [Row(title=f"row {i}", records={"all": record(*each, values)}) for i, each in enumerate(figures)]
    return Comparison(rows=tuple(rows), parts=(CLEAN, FOG), cost=CLEAN, gain=FOG, **others)  # type: ignore[arg-type]


@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize(
    ("figures", "taken", "said"),
    [
        (((0.9, 0.5), (0.9, 0.52), (0.895, 0.56)), "row 2", "row 2 helps"),
        (((0.9, 0.5), (0.9, 0.53), (0.80, 0.56)), "row 1", "row 1 helps"),
        (((0.9, 0.5), (0.85, 0.53)), "row 0", "costs much"),
        (((0.9, 0.5), (0.9, 0.501)), "row 0", "could not be chance"),
        (((0.9, 0.5), (0.9, 0.4)), "row 0", "hurts"),
        (((0.9, 0.5), (0.9, 0.5)), "row 0", "Nothing here decides otherwise"),
    ],
)
def test_what_gains_most_and_costs_little_is_taken(
    values: bool, figures: tuple[tuple[float, float], ...], taken: str, said: str
) -> None:
    decided = verdict(compared(*figures, values=values))
    assert decided.take.title == taken
    assert said in " ".join(decided.words)


def test_the_table_has_each_part_and_the_difference_to_the_first() -> None:
    shown = table(compared((0.9, 0.5), (0.9, 0.6)))
    assert shown.header == ("method", "clean", "vs row 0", "corrupted", "vs row 0")
    assert shown.rows[1][1].startswith("90.0±")
    assert shown.rows[1][4].startswith("+10.0 [")
    five = Comparison(
        rows=(Row(title="a", records={"all": record(0.9, 0.5, ranks=True)}),),
        parts=(CLEAN,),
        cost=None,
        gain=CLEAN,
    )
    assert table(five).header[-1] == "top-5 clean"
    assert table(five).rows[0][-1].startswith("100.0")
    domains = by_domain(compared((0.9, 0.5), (0.9, 0.6)), "all")
    assert [row[:2] for row in domains.rows] == [("clean", "1000"), ("fog/3", "1000")]
    told = as_json(compared((0.9, 0.5), (0.9, 0.6)), verdict(compared((0.9, 0.5), (0.9, 0.6))))
    assert told["rows"][1]["corrupted"]["difference"]["value"] == pytest.approx(0.1)


def test_guessing_is_warned_of() -> None:
    assert "normalisation" in str(warning(compared((0.1, 0.1), (0.1, 0.1), classes=10)))
    assert warning(compared((0.3, 0.1), (0.1, 0.1), classes=10)) is None
    assert warning(compared((0.1, 0.1), (0.1, 0.1), classes=10, agreement=True)) is None


def test_a_gain_on_clean_images_is_warned_of() -> None:
    """As with a wrong mean: adapting repairs what should not be there."""
    said = str(warning(compared((0.7, 0.5), (0.74, 0.6), (0.71, 0.6), classes=10)))
    assert "row 1 gains +4.0" in said
    assert "normalisation" in said
    assert warning(compared((0.7, 0.5), (0.7, 0.6), classes=10)) is None
