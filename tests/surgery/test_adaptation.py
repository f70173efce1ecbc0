from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantta.errors import NoLayerMatchedError, SettingError
from leantta.surgery.adaptation import most_shifted, parse_selector, select

LAYERS = [f"layer{i}.bn" for i in range(20)]


@pytest.mark.parametrize(
    ("selector", "count"),
    [
        ("all", 20),
        ("none", 0),
        ("half", 10),
        ("sixteen", 10),
        (0, 0),
        (8, 8),
        (0.4, 8),
        (1.0, 20),
        (0.29, 5),
        (["layer1*"], 11),
    ],
)
def test_selectors_mean_what_they_say(selector, count):
    chosen = select(selector, LAYERS)
    assert len(chosen) == count
    assert chosen == [name for name in LAYERS if name in chosen]  # execution order is kept


def test_half_of_an_odd_number_is_rounded_down():
    assert select("half", LAYERS[:7]) == LAYERS[:3]


@given(st.integers(2, 300))
def test_sixteen_lie_evenly_in_the_first_half(total):
    layers = [str(i) for i in range(total)]
    chosen = [int(name) for name in select("sixteen", layers)]
    assert len(chosen) == min(16, total // 2)
    assert (chosen[0], chosen[-1]) == (0, total // 2 - 1)
    gaps = [after - before for before, after in pairwise(chosen)]
    assert not gaps or max(gaps) - min(gaps) <= 1


@given(st.floats(0, 1), st.integers(2, 200))
def test_a_fraction_never_chooses_more_than_its_share(fraction, total):
    layers = [str(i) for i in range(total)]
    chosen = len(select(fraction, layers))
    assert chosen <= fraction * total + 1e-6 < chosen + 1.01


@pytest.mark.parametrize("selector", [21, -1, 1.5, -0.1, True, float("nan")])
def test_numbers_out_of_range_are_refused(selector):
    with pytest.raises(SettingError):
        select(selector, LAYERS)


@pytest.mark.parametrize("selector", ["stem", ["layer1.bn", "stem"]])
def test_names_that_match_nothing_are_refused(selector):
    with pytest.raises(NoLayerMatchedError, match="'stem'"):
        select(selector, LAYERS)


@pytest.mark.parametrize(
    ("text", "selector"),
    [
        ("all", "all"),
        ("8", 8),
        ("0.4", 0.4),
        (".5", 0.5),
        ("bn1", "bn1"),
        ("bn1, layer1.*", ["bn1", "layer1.*"]),
    ],
)
def test_texts_become_selectors(text, selector):
    assert parse_selector(text) == selector


def test_an_empty_text_is_refused():
    with pytest.raises(SettingError):
        parse_selector(" , ")


@pytest.mark.parametrize("count", [0, 3])
def test_most_shifted_needs_that_many_layers(count):
    with pytest.raises(SettingError, match="2 were measured"):
        most_shifted({"a": 1.0, "b": 2.0}, count)
