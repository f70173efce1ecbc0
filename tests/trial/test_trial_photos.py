"""Which images of a trial are fitted on, and which are reported on."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantta.data.collection.collection import NO_LABEL, Collection
from leantta.data.imagefiles import Pixels
from leantta.errors import DataError
from leantta.streams.stream import Domain
from leantta.trial.photos import check_classes, domains_of, parted, some


def no_pixels(place: int) -> Pixels:
    raise AssertionError(f"image {place} was read")


def photos(
    keys: list[str], domains: tuple[str, ...] = (), layout: str = "domains", classes: int = 0
) -> Collection:
    count = len(keys)
    return Collection(
        path=Path("photos"),
        layout=layout,  # type: ignore[arg-type] # checked by the tests
        keys=tuple(keys),
        sizes=np.ones(count, np.int64),
        labels=np.arange(count) % classes if classes else np.full(count, NO_LABEL),
        classes=tuple(f"class {i}" for i in range(classes)),
        domain=np.array([domains.index(key.rpartition("/")[0]) for key in keys]) if domains else None,
        domains=domains,
        read=no_pixels,
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(48, 900), st.booleans())
def test_no_photograph_is_fitted_on_and_reported_on(count: int, two: bool) -> None:
    domains = ("clean", "night") if two else ()
    names = [f"{domain}/{i}.jpg" for domain in domains or ("a",) for i in range(count)]
    fit, report = parted(photos(names, domains))
    apart = {key.rpartition("/")[2] for key in fit.keys} & {key.rpartition("/")[2] for key in report.keys}
    assert not apart
    assert len(fit) == min(400, count // 2)
    assert all(key.startswith(("clean", "a")) for key in fit.keys)
    assert len(report) == (2 if two else 1) * (count - len(fit))
    assert parted(photos(list(reversed(names)), domains)).fit.keys == tuple(reversed(fit.keys))


def test_too_few_or_no_clean_ones_are_refused() -> None:
    with pytest.raises(DataError, match="takes 24"):
        parted(photos([f"{i}.jpg" for i in range(40)]))
    with pytest.raises(DataError, match="corrupted images only"):
        parted(photos(["fog/1/a.jpg"], ("fog/1",), "imagenet-c"))


def test_domains_of_imagenet_c_have_severities() -> None:
    assert domains_of(photos(["fog/1/a.jpg"], ("fog/1",), "imagenet-c")) == (Domain("fog", 1),)
    assert domains_of(photos(["night/a.jpg"], ("night",))) == (Domain("night", 0),)


def test_labels_must_be_those_of_the_scores() -> None:
    names = [f"{i}.jpg" for i in range(20)]
    check_classes(photos(names, classes=10), 10, listed=False)
    check_classes(photos(names, classes=2), 1, listed=False)
    check_classes(photos(names, classes=10), 1000, listed=True)
    with pytest.raises(DataError, match=r"10 classes, and the model 1000 scores. Give --classes"):
        check_classes(photos(names, classes=10), 1000, listed=False)
    with pytest.raises(DataError, match="of one class, 'class 0'"):
        check_classes(photos(names, classes=1), 10, listed=False)
    assert len(some(photos(names), 5, seed=1)) == 5
