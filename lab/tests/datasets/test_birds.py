"""The bird corpora in miniature: real sound in the official layout, and what is said of a missing part."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from leantta.data.audio import read_wave
from leantta.data.logmel import log_mel
from leantta.errors import DataError, MissingFileError, SettingError
from leantta.modalities.datasets import modality_of
from leantta_lab.datasets.birds import CORPORA, batches, find_clips, load_corpus

soundfile = pytest.importorskip("soundfile", reason="needs the extra `audio`", exc_type=ImportError)

LABELS = [1, 0, 0, 1, 1]


def miniature(folder: Path, corpus: str) -> Path:
    """A corpus of five clips at 44.1 kHz, in an order that is not the alphabet's."""
    (folder / "wav").mkdir(parents=True)
    rng = np.random.default_rng(0)
    rows = ["itemid,datasetid,hasbird"]
    for i, label in enumerate(LABELS):
        item = f"{9 - i}c0ffee-{i}"
        t = np.arange(44_100 * 2) / 44_100
        call = np.sin(2 * np.pi * (4000 + 900 * np.sin(20 * t)) * t) * (np.sin(6 * t) > 0.3)
        wave = 0.05 * rng.normal(size=t.size) + 0.5 * label * call
        soundfile.write(folder / "wav" / f"{item}.wav", np.clip(wave, -1, 1), 44_100)
        rows.append(f"{item},{corpus},{label}")
    (folder / CORPORA[corpus].table).write_text("\r\n".join(rows) + "\r\n")
    return folder


@pytest.mark.parametrize("corpus", CORPORA)
def test_clips_come_in_the_order_of_the_table(tmp_path: Path, corpus: str) -> None:
    clips = find_clips(miniature(tmp_path, corpus), corpus)
    assert len(clips) == 5
    assert [path.name for path in clips.paths] == [f"{9 - i}c0ffee-{i}.wav" for i in range(5)]
    assert clips.labels.tolist() == LABELS
    assert clips.labels.dtype == np.int64


def test_the_names_of_the_tables_are_the_official_ones() -> None:
    assert {name: corpus.table for name, corpus in CORPORA.items()} == {
        "birdvox": "BirdVoxDCASE20k_csvpublic.csv",
        "warblr": "warblrb10k_public_metadata_2018.csv",
        "ff1010bird": "ff1010bird_metadata_2018.csv",
    }


def test_batches_hold_the_features_of_their_clips(tmp_path: Path) -> None:
    clips = find_clips(str(miniature(tmp_path, "warblr")), "warblr")
    found = list(batches(clips, size=2))
    assert [features.shape for features, _ in found] == [(2, 1, 240, 64), (2, 1, 240, 64), (1, 1, 240, 64)]
    assert np.concatenate([labels for _, labels in found]).tolist() == LABELS
    every = np.concatenate([features for features, _ in found])
    assert every.dtype == np.float32
    for features, path in zip(every, clips.paths, strict=True):
        np.testing.assert_array_equal(features[0], log_mel(read_wave(path)))
    repeated, _ = next(batches(clips, filling="repeat"))
    np.testing.assert_array_equal(repeated[0, 0], log_mel(read_wave(clips.paths[0]), filling="repeat"))


def test_the_calls_can_be_told_from_the_noise(tmp_path: Path) -> None:
    clips = find_clips(miniature(tmp_path, "birdvox"), "birdvox")
    spread = [float(x[0, 0, :40].std()) for x, _ in batches(clips)]
    birds = [s for s, label in zip(spread, LABELS, strict=True) if label]
    others = [s for s, label in zip(spread, LABELS, strict=True) if not label]
    assert min(birds) > max(others)


def test_a_clip_is_read_when_its_batch_is_asked_for(tmp_path: Path) -> None:
    clips = find_clips(miniature(tmp_path, "warblr"), "warblr")
    clips.paths[1].write_bytes(b"no sound")
    stream = batches(clips)
    features, label = next(stream)
    assert features.shape == (1, 1, 240, 64)
    assert label.tolist() == [1]
    with pytest.raises(DataError, match=r"8c0ffee-1\.wav cannot be read as sound"):
        next(stream)


def test_a_batch_has_at_least_one_clip(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="size is 0"):
        batches(find_clips(miniature(tmp_path, "warblr"), "warblr"), size=0)


def test_an_unknown_corpus(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="unknown corpus 'owls'; known: birdvox, warblr, ff1010bird"):
        find_clips(tmp_path, "owls")


@pytest.mark.parametrize("corpus", CORPORA)
def test_a_missing_table_is_answered_with_where_to_get_it(tmp_path: Path, corpus: str) -> None:
    source = CORPORA[corpus]
    with pytest.raises(MissingFileError) as caught:
        find_clips(tmp_path / "nowhere", corpus)
    for part in (source.table, source.labels_url, source.sound_url, "wav/<itemid>.wav", str(tmp_path)):
        assert part in str(caught.value)


def test_missing_clips_are_counted(tmp_path: Path) -> None:
    folder = miniature(tmp_path, "warblr")
    for name in ("8c0ffee-1.wav", "6c0ffee-3.wav"):
        (folder / "wav" / name).unlink()
    with pytest.raises(
        MissingFileError, match=r"2 of the 5 clips .* are missing, e\.g\. .*wav/8c0ffee-1\.wav"
    ):
        find_clips(folder, "warblr")
    for path in (folder / "wav").iterdir():
        path.unlink()
    (folder / "wav").rmdir()
    with pytest.raises(MissingFileError, match=r"5 of the 5 clips .*warblrb10k_public_wav\.zip"):
        find_clips(folder, "warblr")


DAMAGE: dict[str, tuple[Callable[[str], str], str]] = {
    "another header": (lambda t: t.replace("hasbird", "label"), r"has no column hasbird; it has \['itemid'"),
    "empty": (lambda _: "", r"has no column hasbird, itemid; it has None"),
    "only a header": (lambda t: t.splitlines()[0], "lists no clips"),
    "a label of 2": (
        lambda t: t.replace(",0", ",2", 1),
        r"line 3 of .*found itemid '8c0ffee-1', hasbird '2'",
    ),
    "no label": (lambda t: t.replace(",warblr,0", "", 1), r"line 3 of .*hasbird None"),
    "a clip twice": (lambda t: t.replace("8c0ffee-1", "9c0ffee-0"), r"line 3 of .*every itemid comes once"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_table_is_explained(tmp_path: Path, damage: str) -> None:
    change, message = DAMAGE[damage]
    table = miniature(tmp_path, "warblr") / CORPORA["warblr"].table
    table.write_text(change(table.read_text()))
    with pytest.raises(DataError, match=message):
        find_clips(tmp_path, "warblr")


def test_a_table_that_is_no_text(tmp_path: Path) -> None:
    table = miniature(tmp_path, "warblr") / CORPORA["warblr"].table
    table.write_bytes(b"itemid,datasetid,hasbird\n\xff\xfe\x00")
    with pytest.raises(DataError, match="cannot be read as a table"):
        find_clips(tmp_path, "warblr")


def test_a_byte_order_mark_is_no_part_of_the_header(tmp_path: Path) -> None:
    table = miniature(tmp_path, "warblr") / CORPORA["warblr"].table
    table.write_text("\ufeff" + table.read_text(), encoding="utf-8")
    assert len(find_clips(tmp_path, "warblr")) == 5


def test_a_corpus_is_a_dataset_whose_clips_are_read_when_they_are_asked_for(tmp_path: Path) -> None:
    data = load_corpus(miniature(tmp_path, "warblr"), "warblr", "test")
    assert (len(data), data.name, data.samples.shape) == (5, "warblr", (5, 319_440))
    features, labels = next(batches(find_clips(tmp_path, "warblr"), size=5))
    np.testing.assert_allclose(modality_of("warblr").inputs(data.samples[:]), features, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(data.labels, labels)
    np.testing.assert_array_equal(data.samples[np.array([3, 1])], data.samples[:][[3, 1]])
    np.testing.assert_array_equal(data.samples[2], data.samples[:][2])
    before = data.samples.tobytes()
    next((tmp_path / "wav").iterdir()).write_bytes(b"another clip")
    assert load_corpus(tmp_path, "warblr", "test").samples.tobytes() != before
