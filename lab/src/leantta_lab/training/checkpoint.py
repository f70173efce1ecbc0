"""Where a training stands, in a file: it goes on from there after a stop, as if there had been none."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from leantta.errors import CheckpointError
from leantta.files import replacing
from leantta_lab.training.recipes import Recipe


@dataclass(frozen=True, kw_only=True)
class Position:
    """How far a training is, and for how long it has been computed."""

    step: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Moving:
    """All that a training changes as it goes on."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    average: nn.Module | None = None

    def state(self) -> dict[str, Any]:
        """Return the state of each part by name."""
        return {name: part.state_dict() for name, part in self._parts().items()}

    def take(self, state: dict[str, Any]) -> None:
        """Bring every part to a state that `state` returned."""
        for name, part in self._parts().items():
            part.load_state_dict(state[name])

    def _parts(self) -> dict[str, Any]:
        parts = {"model": self.model, "optimizer": self.optimizer, "average": self.average}
        return {name: part for name, part in parts.items() if part is not None}


def training_key(
    model: str,
    dataset: str,
    recipe: Recipe,
    init_sha256: str | None,
    images: int,
    teacher_sha256: str | None,
) -> str:
    """Return a hash of all that decides a training's result; a checkpoint of another one is not taken up."""
    told = {
        "model": model,
        "dataset": dataset,
        "init": init_sha256,
        "images": images,
        "teacher": teacher_sha256,
        **asdict(recipe),
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def save_position(path: Path, key: str, position: Position, moving: Moving) -> None:
    """Write where the training stands; the file appears whole or not at all."""
    content = {"key": key, **asdict(position), **moving.state(), "random": torch.get_rng_state()}
    with replacing(path) as part:
        torch.save(content, part)


def load_position(path: Path, key: str, moving: Moving) -> Position:
    """Bring what moves to where the file says the training stands; without a file, leave it at its start.

    Raises:
        CheckpointError: the file is damaged or of another training; nothing was changed.
    """
    if not path.exists():
        return Position()
    try:
        content: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        stored_key = content["key"]
    except Exception as e:  # torch raises whatever the bytes lead it to
        raise CheckpointError(f"{path} is no checkpoint of a training: {e}. Delete it to start anew.") from e
    if stored_key != key:
        raise CheckpointError(
            f"{path} is of a training with other settings, images or start. "
            f"Give those settings to go on with it, or delete it to start anew."
        )
    moving.take(content)
    torch.set_rng_state(content["random"])  # dropout goes on as it would have
    return Position(step=content["step"], seconds=content["seconds"])
