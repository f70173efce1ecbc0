"""Where the checkpoints of the laboratory's models are: in folders of the user's, or inside this package."""

import os
from pathlib import Path

from leantta.errors import MissingFileError
from leantta.files import sha256_of
from leantta.modalities.datasets import learnt_from

FOLDER_VARIABLE = "LEANTTA_WEIGHTS"
PACKAGED = Path(__file__).resolve().parents[1] / "weights"


def find_weights(name: str, dataset: str) -> Path:
    """Return the checkpoint `<name>_<dataset>.safetensors` of the first folder that has it.

    For a dataset that tests the models of another, it is that of the other.

    Looked at in order: the folder named by $LEANTTA_WEIGHTS, `weights` in the current folder, and the weights
    that this package carries.

    Raises:
        MissingFileError: none of them has it.
    """
    named = os.environ.get(FOLDER_VARIABLE)
    folders = [*([Path(named)] if named else []), Path.cwd() / "weights", PACKAGED]
    file = f"{name}_{learnt_from(dataset)}.safetensors"
    for folder in folders:
        if (folder / file).is_file():
            return folder / file
    raise MissingFileError(
        f"no checkpoint {file} in {', '.join(map(str, folders))}. "
        f"Give one with `--weights FILE`, or set ${FOLDER_VARIABLE} to the folder that has it."
    )


def checkpoint_sha256(name: str, dataset: str) -> str:
    """Return the hash of the checkpoint that `find_weights` finds.

    Raises:
        MissingFileError: there is none.
    """
    return sha256_of(find_weights(name, dataset))
