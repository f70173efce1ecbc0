"""What is asked of those who open models."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Asked:
    """A model, and where its weights are to come from."""

    spec: str  # as it was written
    name: str  # behind the first colon
    weights: Path | None
    prefix: str | None  # of the names in the file of weights
    untrained: bool  # its structure is enough where no weights are given
