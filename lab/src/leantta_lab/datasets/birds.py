"""Bird sound detection (DCASE 2018, task 3): the clips of a corpus with their labels, in the official layout.

    FOLDER/
      BirdVoxDCASE20k_csvpublic.csv      columns itemid,datasetid,hasbird
      wav/<itemid>.wav

The sound stays on disk until it is asked for: 20,000 clips would not fit into memory. Needs the extra
`audio` to read it.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from leantta.data.audio import read_wave
from leantta.data.datasets import Dataset, Inputs, Labels, Samples, Split
from leantta.data.logmel import FRAMES, HOP, WINDOW, Filling, fit_wave, log_mel
from leantta.errors import DataError, MissingFileError, SettingError

TASK_PAGE = "https://dcase.community/challenge2018/task-bird-audio-detection"


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """What a corpus is, where it is published, and the name of its table of labels."""

    summary: str
    table: str
    labels_url: str
    sound_url: str


CORPORA: Mapping[str, Corpus] = {
    "birdvox": Corpus(
        summary="20,000 clips of six stations near Ithaca, NY, in one night; the paper trains on them",
        table="BirdVoxDCASE20k_csvpublic.csv",
        labels_url="https://ndownloader.figshare.com/files/10853300",
        sound_url="https://zenodo.org/record/1208080/files/BirdVox-DCASE-20k.zip",
    ),
    "warblr": Corpus(
        summary="8,000 clips of smartphones all over the UK; the paper tests on them",
        table="warblrb10k_public_metadata_2018.csv",
        labels_url="https://ndownloader.figshare.com/files/10853306",
        sound_url="https://archive.org/download/warblrb10k_public/warblrb10k_public_wav.zip",
    ),
    "ff1010bird": Corpus(
        summary="7,690 clips of field recordings from all over the world",
        table="ff1010bird_metadata_2018.csv",
        labels_url="https://ndownloader.figshare.com/files/10853303",
        sound_url="https://archive.org/download/ff1010bird/ff1010bird_wav.zip",
    ),
}


@dataclass(frozen=True, eq=False)
class Clips:
    """Sound files with their labels: 1 where a bird is heard, else 0."""

    corpus: str
    paths: tuple[Path, ...]
    labels: Labels  # (n,)

    def __len__(self) -> int:
        """Return the number of clips."""
        return len(self.paths)


def find_clips(folder: Path | str, corpus: str) -> Clips:
    """Return the clips of a corpus of `CORPORA`, in the order of its table.

    Raises:
        SettingError: there is no such corpus.
        MissingFileError: the table or sound files are missing; the message says where to get them.
        DataError: the table is damaged or something else.
    """
    if corpus not in CORPORA:
        raise SettingError(f"unknown corpus {corpus!r}; known: {', '.join(CORPORA)}.")
    source = CORPORA[corpus]
    table = Path(folder) / source.table
    if not table.is_file():
        raise MissingFileError(f"no table of labels {table}. {_how_to_get(source)}")
    rows = _read_table(table)
    sounds = Path(folder) / "wav"
    present = {path.name for path in sounds.iterdir()} if sounds.is_dir() else set()
    missing = [item for item in rows if f"{item}.wav" not in present]
    if missing:
        raise MissingFileError(
            f"{len(missing)} of the {len(rows)} clips of {table.name} are missing, "
            f"e.g. {sounds / missing[0]}.wav. {_how_to_get(source)}"
        )
    labels = np.array(list(rows.values()), dtype=np.int64)
    return Clips(corpus, tuple(sounds / f"{item}.wav" for item in rows), labels)


def batches(clips: Clips, *, size: int = 1, filling: Filling = "silence") -> Iterator[tuple[Inputs, Labels]]:
    """Return an iterator of features (n, 1, 240, 64) and labels (n,) that reads each batch when asked.

    The order is that of the clips; the last batch may be smaller.

    Raises:
        SettingError: `size` is less than one.
        DataError: a clip cannot be read.
    """
    if size < 1:
        raise SettingError(f"a batch has at least one clip; its size is {size}.")
    return (_batch(clips, slice(start, start + size), filling) for start in range(0, len(clips), size))


def _batch(clips: Clips, part: slice, filling: Filling) -> tuple[Inputs, Labels]:
    features = np.stack([log_mel(read_wave(path), filling=filling) for path in clips.paths[part]])
    return features[:, np.newaxis], clips.labels[part]


class ClipWaves:
    """The waves of clips in the place of an array (n, samples): those that are indexed are read."""

    dtype = np.dtype(np.float32)

    def __init__(self, clips: Clips) -> None:
        self.paths = clips.paths
        self.shape = (len(clips), WINDOW + (FRAMES - 1) * HOP)

    def __len__(self) -> int:
        """Return the number of clips."""
        return len(self.paths)

    def __getitem__(self, chosen: "int | slice | Labels") -> npt.NDArray[np.float32]:
        """Return the waves at these places, each cut at its end or filled with silence."""
        places = np.arange(len(self))[chosen]
        waves = [read_wave(self.paths[place]) for place in np.atleast_1d(places)]
        fitted = np.stack([fit_wave(wave, self.shape[1], "silence") for wave in waves])
        return fitted if places.ndim else fitted[0]

    def tobytes(self) -> bytes:
        """Return what tells these clips from others: the names and sizes of their files."""
        return "\n".join(f"{path.name} {path.stat().st_size}" for path in self.paths).encode()


def load_corpus(path: Path, corpus: str, split: Split) -> Dataset:
    """Return the clips of a corpus of `CORPORA`; it is as a whole for training, or for testing.

    Raises:
        SettingError, MissingFileError, DataError: as `find_clips`; MissingExtraError when a clip is read.
    """
    clips = find_clips(path, corpus)
    waves = cast(Samples, ClipWaves(clips))  # all that is done with samples can be done with it
    return Dataset(corpus, split, waves, clips.labels, ("no bird", "bird"))


def _read_table(table: Path) -> dict[str, int]:
    """The label of each clip by its itemid."""
    rows: dict[str, int] = {}
    try:
        with table.open(encoding="utf-8-sig", newline="") as f:
            reader = csv.DictReader(f)
            absent = {"itemid", "hasbird"} - set(reader.fieldnames or ())
            if absent:
                raise DataError(
                    f"{table} has no column {', '.join(sorted(absent))}; it has {reader.fieldnames}. "
                    f"The official table has itemid,datasetid,hasbird."
                )
            for row in reader:
                item, label = row["itemid"], row["hasbird"]
                if not item or item in rows or label not in ("0", "1"):
                    raise DataError(
                        f"line {reader.line_num} of {table}: every itemid comes once, with a hasbird "
                        f"of 0 or 1; found itemid {item!r}, hasbird {label!r}. Take the official table."
                    )
                rows[item] = int(label)
    except (UnicodeDecodeError, csv.Error) as e:
        raise DataError(f"{table} cannot be read as a table: {e}. Take the official table.") from e
    if not rows:
        raise DataError(f"{table} lists no clips. Take the official table.")
    return rows


def _how_to_get(source: Corpus) -> str:
    return (
        f"Put {source.table} ({source.labels_url}) and the folder wav of {source.sound_url} there, as "
        f"FOLDER/{source.table} and FOLDER/wav/<itemid>.wav; {TASK_PAGE} describes it ({source.summary})."
    )
