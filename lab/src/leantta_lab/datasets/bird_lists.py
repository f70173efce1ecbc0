"""Bird sounds listed in one plain table each, for development: ESC-50 with its folds, and another corpus.

    FOLDER/
      esc50.csv        columns file,fold,category,bird
      esc50/*.ogg
      capuchin.csv     columns file,bird
      capuchin/*.ogg

Folds 1 to 4 of ESC-50 are for training, fold 5 for testing, so that no recording is in both; the other corpus
is of another place and another microphone.
"""

import csv
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leantta.data.audio import read_wave
from leantta.data.datasets import Dataset, Split
from leantta.data.logmel import fit_wave
from leantta.errors import DataError, MissingFileError, SettingError
from leantta.modalities.datasets import dataset_info, learnt_from
from leantta.modalities.sound import SAMPLES
from leantta_lab.datasets.birds import Clips

TRAIN_FOLDS = (1, 2, 3, 4)
TEST_FOLDS = (5,)

BACKGROUNDS = ("airplane", "engine", "rain", "sea_waves", "thunderstorm", "train", "wind")
"""Categories of ESC-50 that are heard behind birds out of doors."""


@dataclass(frozen=True, kw_only=True)
class ListedCorpus:
    """What a corpus is, and what its table tells."""

    summary: str
    folds: bool  # the table has folds and categories


LISTED: Mapping[str, ListedCorpus] = {
    "esc50": ListedCorpus(summary="620 clips of 5 seconds: birds and 46 other categories", folds=True),
    "capuchin": ListedCorpus(summary="434 clips of about 3 seconds: a forest with and without", folds=False),
}


def find_listed(
    folder: Path | str,
    corpus: str,
    *,
    folds: Collection[int] | None = None,
    categories: Collection[str] | None = None,
) -> Clips:
    """Return the clips of a corpus of `LISTED` in the order of its table: all, or those asked for.

    Raises:
        SettingError: no such corpus; folds or categories of one that has none; or none that is asked for.
        MissingFileError: the table or sound files are missing.
        DataError: the table is damaged or something else.
    """
    if corpus not in LISTED:
        raise SettingError(f"unknown corpus {corpus!r}; known: {', '.join(LISTED)}.")
    has_folds = LISTED[corpus].folds
    if not has_folds and (folds is not None or categories is not None):
        raise SettingError(f"{corpus} has no folds and no categories. Leave them out.")
    table = Path(folder) / f"{corpus}.csv"
    rows = [
        row
        for row in _read_rows(table, ("file", "fold", "category", "bird") if has_folds else ("file", "bird"))
        if (folds is None or int(row["fold"]) in folds)
        and (categories is None or row["category"] in categories)
    ]
    if not rows:
        raise SettingError(f"{table} has no clip with fold in {folds} and category in {categories}.")
    paths = tuple(Path(folder) / row["file"] for row in rows)
    missing = [path for path in paths if not path.is_file()]
    if missing:
        raise MissingFileError(
            f"{len(missing)} of the {len(paths)} clips of {table.name} are missing, e.g. {missing[0]}. "
            f"Copy them beside the table."
        )
    return Clips(corpus, paths, np.array([int(row["bird"]) for row in rows], dtype=np.int64))


def _read_rows(table: Path, columns: tuple[str, ...]) -> list[dict[str, str]]:
    """The lines of a table, checked."""
    if not table.is_file():
        raise MissingFileError(f"no table of clips {table}. It has the columns {','.join(columns)}.")
    try:
        with table.open(encoding="utf-8-sig", newline="") as f:
            reader = csv.DictReader(f)
            absent = set(columns) - set(reader.fieldnames or ())
            if absent:
                raise DataError(
                    f"{table} has no column {', '.join(sorted(absent))}; it has {reader.fieldnames}. "
                    f"It needs {','.join(columns)}."
                )
            rows = list(reader)
    except (UnicodeDecodeError, csv.Error) as e:
        raise DataError(f"{table} cannot be read as a table: {e}. Copy it again.") from e
    for number, row in enumerate(rows, start=2):
        if not row["file"] or row["bird"] not in ("0", "1") or not row.get("fold", "1").isdigit():
            raise DataError(
                f"line {number} of {table}: a file, a fold and a bird of 0 or 1 are wanted; found {row}. "
                f"Copy the table again."
            )
    return rows


def load_clips(path: Path, dataset: str = "esc50", split: Split = "test") -> Dataset:
    """Return the clips of one split of a corpus, as they lie in a folder with its table.

    Of ESC-50, four folds are for training and one for testing. All clips of the other corpus are for testing;
    what its models are trained on is ESC-50, whose table must be in the same folder.

    Raises:
        MissingExtraError: the extra `audio` is not installed.
        MissingFileError: the table or sound files are missing.
        DataError: the table or a clip is damaged.
    """
    if split == "train":
        clips = find_listed(path, learnt_from(dataset), folds=TRAIN_FOLDS)
    else:
        clips = find_listed(path, dataset, folds=TEST_FOLDS if LISTED[dataset].folds else None)
    return heard(clips, dataset, split)


def heard(clips: Clips, dataset: str, split: str) -> Dataset:
    """Return clips with their sound, for models of a dataset.

    Raises:
        MissingExtraError: the extra `audio` is not installed.
        DataError: a clip cannot be read.
    """
    waves = np.stack([fit_wave(read_wave(clip), SAMPLES, "repeat") for clip in clips.paths])
    return Dataset(dataset, split, waves, clips.labels, dataset_info(dataset).classes)
