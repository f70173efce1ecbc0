"""Made-up motion windows, and files as people keep them."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Windows = NDArray[np.float32]

CHECKOUT = Path(__file__).resolve().parents[1]
REAL = CHECKOUT.parent / "shared" / "data" / "har" / "har.npz"
"""UCI HAR, which is on the machines of developers only."""


def made_up(labels: NDArray[np.integer], seed: int = 0) -> Windows:
    """Return windows (n, 9, 128): classes 0 to 2 swing, 3 to 5 rest with gravity elsewhere."""
    rng = np.random.default_rng(seed)
    time = np.arange(128) / 50
    gravity = np.eye(3)[np.where(labels < 3, 0, labels - 3)]  # (n, 3)
    pace = 1.0 + labels[:, None, None] + 0.1 * rng.normal(size=(len(labels), 1, 1))
    phase = rng.uniform(0, 6.28, (len(labels), 6, 1))
    strength = np.where(labels < 3, 0.4, 0.01)[:, None, None]
    swing = strength * np.sin(2 * np.pi * pace * time + phase) + rng.normal(0, 0.01, (len(labels), 6, 128))
    total = gravity[:, :, None] + swing[:, :3]
    return np.concatenate((swing, total), axis=1).astype(np.float32)


def write_har(path: Path, per_person: int = 12) -> Path:
    """Write windows of 30 people as one .npz, every class as often."""
    people = np.repeat(np.arange(30), per_person)
    labels = np.arange(len(people)) % 6
    np.savez(path, x=made_up(labels), y=labels.astype(np.uint8), subject=people.astype(np.uint8))
    return path
