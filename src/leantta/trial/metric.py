"""A measure of the user's own: `file.py:function`, called with outputs, labels and keys of a batch."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leantta.data.collection.collection import Collection
from leantta.data.datasets import Labels
from leantta.errors import SettingError
from leantta.evaluate.loop import Measure
from leantta.files import sha256_of

Metric = Callable[[Any, Labels, list[str]], npt.ArrayLike]


def metric_id(spec: str) -> dict[str, str]:
    """Return what records say of a metric: its name, and the hash of its file."""
    file = Path(spec.rpartition(":")[0])
    return {"metric": spec, **({"metric_sha256": sha256_of(file)} if file.is_file() else {})}


def find_metric(spec: str) -> Metric:
    """Return the function that a text names.

    Raises:
        SettingError: there is none, or it does not take outputs, labels and keys.
        MissingFileError: there is no such file.
    """
    from leantta.models.reference import own_function  # here, as it needs torch, and files alone need none

    function = own_function(spec)
    try:
        inspect.signature(function).bind(None, None, None)
    except (TypeError, ValueError) as e:
        raise SettingError(
            f"{spec} must take a batch's outputs, labels and keys: "
            f"def {spec.rpartition(':')[2]}(outputs, labels, keys). {e}."
        ) from e
    return function  # type: ignore[return-value] # what it returns is looked at when it is called


def measure_with(metric: Metric, spec: str, photos: Collection) -> Measure:
    """Return a metric as the evaluation calls it: by the numbers of the images instead of their keys."""

    def measure(outputs: Any, labels: Labels, index: Labels) -> npt.ArrayLike:
        try:
            return np.asarray(metric(outputs, labels, [photos.keys[place] for place in index]))
        except Exception as e:  # the user's own code may raise anything
            first = str(e).strip().splitlines()
            raise SettingError(f"{spec} failed: {type(e).__name__}: {first[0] if first else ''}") from e

    return measure
