"""Names of outputs, what they are for, and how decisions for pixels are judged."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from leantta.decisions import by_image, expected_losses, scores_of
from leantta.filtering.judging import Judged
from leantta.outputs import MOST_PLACES, RESERVED, named, sampled

LEAF = np.zeros((2, 3))
TREES = st.recursive(
    st.just(LEAF),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.lists(inner, min_size=1, max_size=3).map(tuple)
        | st.dictionaries(st.sampled_from(["a", "a.0", "shift", "b/c", "b_c", "input"]), inner, min_size=1)
    ),
    max_leaves=8,
)


def leaves(tree: object) -> int:
    if isinstance(tree, dict):
        return sum(map(leaves, tree.values()))
    return sum(map(leaves, tree)) if isinstance(tree, list | tuple) else 1


@given(TREES)
def test_every_tensor_has_a_name_of_its_own(tree: object) -> None:
    names = list(named(tree))
    assert len(names) == leaves(tree)
    assert not {*names} & {*RESERVED}
    assert all("/" not in name for name in names)


@pytest.mark.parametrize(("wrong", "says"), [({"a": [1]}, "int as 'a.0'"), ("x", "str"), ([], "nothing")])
def test_what_is_no_tensor_is_named(wrong: object, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        named(wrong)


@given(st.integers(1, 300), st.integers(1, 300))
def test_the_pixels_that_stand_for_all_are_few_and_inside(height: int, width: int) -> None:
    rows, columns = sampled(height, width)
    count = len(range(height)[rows]) * len(range(width)[columns])
    assert 1 <= count <= 3 * MOST_PLACES


def test_scores_of_a_map_are_those_of_its_pixels_and_the_first_that_decides_counts() -> None:
    x, map_ = torch.zeros(2, 3, 40, 40), torch.randn(2, 5, 40, 40)
    rows, columns = sampled(40, 40)
    wanted = map_[:, :, rows, columns].flatten(2)
    for output in (map_, {"out": map_, "aux": torch.zeros(2, 7)}, [torch.zeros(2, 4, 5, 5), map_]):
        found = scores_of(output, x)
        assert found is not None
        assert torch.equal(found, wanted)
    assert scores_of({"boxes": torch.zeros(2, 4, 5, 5)}, x) is None
    yes_no = scores_of(map_[:, :1], x)
    assert yes_no is not None
    assert yes_no.shape[1] == 2


def test_an_image_counts_as_the_mean_of_its_pixels() -> None:
    """A map is judged as its pixels would be, one by one, and then averaged over each image."""
    clean, known, unknown = torch.randn(3, 4, 5, 9, generator=torch.Generator().manual_seed(0)) * 2
    whole = Judged.of(clean, known, unknown)
    alone = [Judged.of(*(each[..., p] for each in (clean, known, unknown))) for p in range(9)]
    for part in range(2):
        mean = torch.stack([each[part] for each in alone]).mean(0)
        assert torch.allclose(whole[part], mean, atol=1e-6)
    losses = torch.stack([expected_losses(clean[..., p], known[..., p]) for p in range(9)]).mean(0)
    assert torch.allclose(expected_losses(clean, known), losses, atol=1e-6)
    assert by_image(torch.ones(4)).shape == (4,)
