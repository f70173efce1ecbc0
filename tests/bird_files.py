"""A corpus of bird sound in miniature: chirps, and noise without."""

from pathlib import Path

import numpy as np
import pytest

RATE = 32_000


def corpora(folder: Path) -> Path:
    """Write ESC-50 with folds 1 to 5 and the other corpus, some clips of each with a chirp in them."""
    soundfile = pytest.importorskip("soundfile", reason="needs the extra `audio`", exc_type=ImportError)
    draw = np.random.default_rng(0)
    rows = {"esc50": ["file,fold,category,bird"], "capuchin": ["file,bird"]}
    for corpus, count, seconds in (("esc50", 20, 5.0), ("capuchin", 4, 3.0)):
        (folder / corpus).mkdir(parents=True)
        for number in range(count):
            bird = number % 2
            time = np.arange(int(seconds * RATE)) / RATE
            chirp = np.sin(2 * np.pi * (3000 * time + 400 * time**2)) * (np.sin(12 * time) > 0)
            wave = 0.05 * draw.standard_normal(time.size) + 0.4 * bird * chirp
            name = f"{corpus}/{number}.wav"
            soundfile.write(folder / name, wave.astype(np.float32), RATE, subtype="FLOAT")
            fold, category = 1 + number // 4, "crow" if bird else "wind"
            rows[corpus].append(f"{name},{fold},{category},{bird}" if corpus == "esc50" else f"{name},{bird}")
    for corpus, lines in rows.items():
        (folder / f"{corpus}.csv").write_text("\n".join(lines) + "\n")
    return folder
