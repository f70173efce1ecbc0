"""Who takes part in a study: something that predicts, and what a record says of it.

A contender is a method put on a torch model, or a model file, which needs no torch.
"""

from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from leantta.evaluate.predictor import Predictor
from leantta.evaluate.settings import RunSettings
from leantta.runtime.container import DIGEST_KEY, read_container
from leantta.runtime.session import load


class Contender(NamedTuple):
    """One that predicts, with the settings that decide what it predicts."""

    settings: RunSettings
    predictor: Predictor


def is_file(text: str) -> bool:
    """Tell whether a method is a model file.

    >>> is_file("r18.onnx"), is_file("leantta:all")
    (True, False)
    """
    return text.lower().endswith(".onnx")


def from_file(path: Path, dataset: str, threads: int | None) -> Contender:
    """Return the contender that a model file is; in records it goes by the file's name.

    Raises:
        LeanTTAError: the file is missing, damaged or not ours.
    """
    session = load(path, threads=threads)
    info = session.info
    settings = RunSettings(
        model=info.model,
        method=path.name,
        dataset=dataset,
        method_settings={
            "artifact_sha256": read_container(path).metadata[DIGEST_KEY],
            "precision": info.precision,
            "portable": info.portable,
            "layers": len(info.layers),
            "gate": info.gate and {"name": type(info.gate).__name__, **asdict(info.gate)},
        },
        weights_sha256=info.weights_sha256,
        threads=threads,
    )
    return Contender(settings, session)
