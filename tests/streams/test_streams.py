"""Every stream of the table keeps the contract; each builder makes the order that it promises."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantta.data.datasets import Dataset, model_inputs
from leantta.data.seeds import derived
from leantta.disturbances.corruptions.names import NAMES
from leantta.errors import SettingError
from leantta.modalities.cells import GeneratedCells
from leantta.streams.builders import abrupt, correlated, gradual, one_cell, severity5
from leantta.streams.by_name import STREAMS, StreamOptions, build_stream
from leantta.streams.stream import Domain, Stream
from leantta_lab.datasets.table import DATASETS

CLEAN = len(NAMES)


class Marked:
    """Images whose first pixel says which image, corruption and severity they are."""

    name = "marked"
    fingerprint = "0"
    corruptions = NAMES

    def __init__(self, count: int = 50) -> None:
        self.labels = np.random.default_rng(1).integers(0, 10, count)

    def cell(self, corruption: str, severity: int, indices: np.ndarray, seed: int) -> np.ndarray:  # noqa: ARG002 - nothing is drawn
        images = np.zeros((len(indices), 4, 4, 3), dtype=np.uint8)
        images[:, 0, 0, 0] = indices
        images[:, 0, 0, 1] = CLEAN if corruption == "clean" else NAMES.index(corruption)
        images[:, 0, 0, 2] = severity
        return images

    def inputs(self, samples: np.ndarray) -> np.ndarray:
        return model_inputs(samples)


def built(name: str, *, seed: int = 0, images: int | None = 4, count: int = 50) -> Stream:
    needed = {"corruption": "fog", "severity": 2} if STREAMS[name].needs else {}
    return build_stream(name, Marked(count), StreamOptions(seed=seed, images=images, **needed))  # type: ignore[arg-type]  # a str and an int


def marks(stream: Stream, batch_size: int, start: int = 0) -> np.ndarray:
    """What the pixels say: (n, 3) of image, corruption, severity."""
    parts = [batch.inputs[:, :, 0, 0] for batch in stream.batches(batch_size, start)]
    return np.rint(np.concatenate(parts) * 255).astype(int)


SIZES = {
    "abrupt": 19 * 5 * 4,
    "gradual": 19 * 10 * 4,
    "severity5": 19 * 4,
    "correlated": 19 * 4,
    "one_cell": 4,
    "clean": 4,
}


@pytest.mark.parametrize("name", STREAMS)
def test_pixels_labels_and_domains_belong_together(name: str) -> None:
    cells, stream = Marked(), built(name)
    assert len(stream) == SIZES[name]
    assert stream.name == name
    seen = marks(stream, batch_size=7)
    np.testing.assert_array_equal(seen[:, 0], stream.index)
    np.testing.assert_array_equal(cells.labels[seen[:, 0]], stream.labels)
    domains = [Domain("clean" if c == CLEAN else NAMES[c], s) for _, c, s in seen.tolist()]
    assert domains == [stream.domains[i] for i in stream.domain]
    together = list(stream.batches(7))
    np.testing.assert_array_equal(np.concatenate([batch.labels for batch in together]), stream.labels)
    np.testing.assert_array_equal(np.concatenate([batch.domain for batch in together]), stream.domain)
    assert all(batch.inputs.dtype == np.float32 and batch.inputs.shape[1:] == (3, 4, 4) for batch in together)


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_is_fixed_by_its_seed(name: str) -> None:
    first, again, other = built(name), built(name), built(name, seed=1)
    assert first.describe() == again.describe()
    np.testing.assert_array_equal(first.index, again.index)
    np.testing.assert_array_equal(first.domain, again.domain)
    assert not np.array_equal(first.index, other.index)
    assert first.describe()["order_sha256"] != other.describe()["order_sha256"]


@pytest.mark.parametrize("name", STREAMS)
@settings(deadline=None, max_examples=10)
@given(batch_size=st.integers(1, 300), start=st.integers(0, 80))
def test_the_batch_size_and_the_start_change_nothing(name: str, batch_size: int, start: int) -> None:
    stream = built(name)
    start = min(start, len(stream) - 1)
    np.testing.assert_array_equal(marks(stream, batch_size, start), marks(stream, 64)[start:])


@pytest.mark.parametrize("name", STREAMS)
def test_within_a_cell_no_image_comes_twice(name: str) -> None:
    stream = built(name, images=30)
    steps = 2 if name == "gradual" else 1  # the way up and the way down are drawn apart
    for i in range(len(stream.domains)):
        drawn = stream.index[stream.domain == i]
        assert len(drawn) == 30 * steps
        assert all(len(set(half.tolist())) == 30 for half in np.split(drawn, steps))


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("images", [0, -1, 51])
def test_impossible_numbers_are_refused(name: str, images: int) -> None:
    with pytest.raises(SettingError, match=f"{images} images of .* are asked for; choose 1 to 50"):
        built(name, images=images)


@pytest.mark.parametrize("name", STREAMS)
def test_the_default_number_of_images(name: str) -> None:
    stream = built(name, images=None, count=2000)
    assert len(stream) == SIZES[name] // 4 * STREAMS[name].images


def test_abrupt_takes_each_cell_and_shuffles() -> None:
    stream = abrupt(Marked(), 4, seed=0)
    assert set(stream.domains) == set(itertools.product(NAMES, range(1, 6)))
    assert (np.bincount(stream.domain) == 4).all()
    changes = (np.diff(stream.domain) != 0).mean()
    assert changes > 0.95  # of 95 domains, two neighbours are alike once in a hundred


def test_gradual_grows_and_fades() -> None:
    stream = gradual(Marked(), 4, seed=0)
    path = [stream.domains[i] for i in stream.domain[::4]]  # one per step
    blocks = [path[i : i + 10] for i in range(0, len(path), 10)]
    assert sorted(block[0].corruption for block in blocks) == sorted(NAMES)
    for block in blocks:
        assert len({domain.corruption for domain in block}) == 1
        assert [domain.severity for domain in block] == [1, 2, 3, 4, 5, 5, 4, 3, 2, 1]
    orders = {tuple(gradual(Marked(), 1, seed=seed).domains[::5]) for seed in range(5)}
    assert len(orders) == 5


def test_severity5_follows_the_benchmark() -> None:
    stream = severity5(Marked(), 4, seed=0)
    assert stream.domains == tuple(Domain(name, 5) for name in NAMES)
    np.testing.assert_array_equal(stream.domain, np.repeat(np.arange(19), 4))


def repeats(stream: Stream) -> float:
    """How often the next image is of the same class, within a domain."""
    inside = np.diff(stream.domain) == 0
    return float((np.diff(stream.labels) == 0)[inside].mean())


def test_correlated_comes_in_bursts_and_the_concentration_rules_them() -> None:
    cells = Marked(250)
    plain = severity5(cells, 100, seed=0)
    bursts = {c: repeats(correlated(cells, 100, concentration=c, seed=0)) for c in (0.01, 0.1, 100.0)}
    assert repeats(plain) < 0.15
    assert bursts[0.01] > bursts[0.1] > bursts[100.0]
    assert bursts[0.1] > 0.6
    stream = correlated(cells, 100, seed=0)
    assert stream.domains == plain.domains
    with pytest.raises(SettingError, match="concentration must be above 0"):
        correlated(cells, 100, concentration=0, seed=0)


def test_one_cell_refuses_what_there_is_not() -> None:
    with pytest.raises(SettingError, match="unknown corruption 'mist'; known: gaussian_noise"):
        one_cell(Marked(), "mist", 1, 4, seed=0)
    with pytest.raises(SettingError, match="it is 6"):
        one_cell(Marked(), "fog", 6, 4, seed=0)


def test_a_cell_is_drawn_alike_whatever_else_is_drawn() -> None:
    """Dropping corruptions leaves the images of the others as they were: draws do not depend on others."""
    fewer = Marked()
    fewer.corruptions = ("fog", "snow")
    for build in (abrupt, gradual, severity5, correlated):
        whole, part = build(Marked(), 4, seed=3), build(fewer, 4, seed=3)
        for domain in part.domains:
            chosen = whole.index[whole.domain == whole.domains.index(domain)]
            assert sorted(chosen) == sorted(part.index[part.domain == part.domains.index(domain)])


def test_streams_of_one_seed_share_their_pixels() -> None:
    generator = np.random.default_rng(0)
    images = generator.integers(0, 256, (5, 32, 32, 3), dtype=np.uint8)
    cells = GeneratedCells(
        Dataset.checked("cifar10", "test", images, np.arange(5), DATASETS["cifar10"].classes)
    )
    first, second = severity5(cells, 5, seed=2), one_cell(cells, "spatter", 5, 5, seed=2)
    where = np.flatnonzero(first.domain == first.domains.index(Domain("spatter", 5)))
    pixels = {i: first.load(where[first.index[where] == i])[0] for i in range(5)}
    np.testing.assert_array_equal(second.load(np.arange(5)), [pixels[i] for i in second.index.tolist()])


OPTIONS = {"corruption": "fog", "severity": 2, "concentration": 0.5}


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("name", STREAMS)
def test_an_option_is_needed_or_used_or_refused(name: str, option: str) -> None:
    kind = STREAMS[name]
    base = {"corruption": "snow", "severity": 1} if kind.needs else {}
    options = StreamOptions(images=20, **{**base, option: OPTIONS[option]})  # type: ignore[arg-type]  # of several types
    if option in kind.needs | kind.takes:
        before = StreamOptions(images=20, **base)  # type: ignore[arg-type]  # a str and an int
        assert (
            build_stream(name, Marked(), options).describe()
            != build_stream(name, Marked(), before).describe()
        )
    else:
        with pytest.raises(SettingError, match=f"{option} changes nothing in the stream '{name}'"):
            build_stream(name, Marked(), options)


def test_needed_options_and_unknown_names() -> None:
    with pytest.raises(SettingError, match="needs a corruption and a severity"):
        build_stream("one_cell", Marked(), StreamOptions())
    with pytest.raises(SettingError, match="unknown stream 'sudden'; known: abrupt, gradual"):
        build_stream("sudden", Marked(), StreamOptions())


def test_the_description_tells_streams_apart() -> None:
    stream = abrupt(Marked(), 4, seed=0)
    changes: tuple[dict[str, Any], ...] = (
        {"labels": np.zeros_like(stream.labels)},
        {"index": stream.index[::-1]},
        {"domain": stream.domain[::-1]},
        {"domains": stream.domains[::-1]},
        {"name": "other"},
        {"seed": 5},
        {"settings": {}},
    )
    for change in changes:
        assert dataclasses.replace(stream, **change).describe() != stream.describe()
    assert stream.describe()["settings"] == {"per_cell": 4, "images": "marked", "images_sha256": "0"}


def test_bad_batch_sizes_are_refused() -> None:
    with pytest.raises(SettingError, match="at least 1; it is 0"):
        next(built("clean").batches(0))


def test_domains_have_readable_names() -> None:
    assert (str(Domain("fog", 3)), str(Domain("clean", 0))) == ("fog/3", "clean")


@given(
    st.lists(st.tuples(st.integers(0, 5), st.text(max_size=2), st.integers(0, 5)), unique=True, max_size=20)
)
def test_derived_seeds_differ(purposes: list[tuple[int, str, int]]) -> None:
    assert len({derived(*purpose) for purpose in purposes}) == len(purposes)


def test_derived_seeds_are_the_same_everywhere() -> None:
    assert derived(0, "fog", 3) == 8488847469935553910
    assert derived(int(np.int64(0)), "fog", int(np.int64(3))) == derived(np.int64(0), "fog", np.int64(3))  # type: ignore[arg-type]  # callers do
    assert derived(0, "a", "b") != derived(0, "ab")
