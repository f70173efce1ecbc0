"""What was run: the recipe of an evaluation, and the hash that tells two of them apart."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from leantta.data.streams import Stream
from leantta.errors import SettingError


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What the evaluation cannot see for itself of the predictor it is given."""

    model: str
    method: str
    dataset: str
    method_settings: Mapping[str, Any] = field(default_factory=dict)  # any JSON values
    weights_sha256: str | None = None
    threads: int | None = None  # None: not known


def recipe_of(settings: RunSettings, stream: Stream, batch_size: int) -> dict[str, Any]:
    """Return everything that decides the predictions, as plain JSON values.

    Raises:
        SettingError: a setting of the method is no JSON value.
    """
    recipe = {**asdict(settings), "batch_size": batch_size, "stream": stream.describe()}
    try:
        plain: dict[str, Any] = json.loads(canonical(recipe))
    except (TypeError, ValueError) as e:
        raise SettingError(f"the settings of {settings.method} must be plain JSON values: {e}.") from e
    return plain


def canonical(value: object) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces, no NaN.

    >>> canonical({"b": 1, "a": [1.5, None]})
    '{"a":[1.5,null],"b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def recipe_sha256(recipe: Mapping[str, Any]) -> str:
    """Return the hash by which a recipe is known."""
    return hashlib.sha256(canonical(recipe).encode()).hexdigest()
