"""Fields of a JSON object, taken one by one: each has the type that was asked for, or an error names it."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from leantta.errors import ArtifactError

Value = TypeVar("Value")


class Fields:
    """A JSON object from the metadata of the file at `path`; `place` is where in the metadata it stands."""

    def __init__(self, path: str, values: Mapping[str, object], place: str = "") -> None:
        self.path = path
        self.values = values
        self.place = place

    @classmethod
    def parse(cls, path: str, text: str) -> "Fields":
        """Return the fields of a JSON text.

        Raises:
            ArtifactError: it is not a JSON object, or has numbers that are not finite.
        """
        try:
            values = json.loads(text, parse_constant=_refuse)
        except (ValueError, RecursionError) as e:
            raise ArtifactError(f"{path} has metadata that is not JSON: {e}. Convert the model again.") from e
        if not isinstance(values, dict):
            raise ArtifactError(f"{path} has metadata that is not a JSON object. Convert the model again.")
        return cls(path, values)

    def wrong(self, key: str, wanted: str) -> ArtifactError:
        """Return the error that says which field is wrong, and what it must be."""
        where = f"{self.place}{key}"
        if key not in self.values:
            return ArtifactError(
                f"{self.path} has no {where!r} in its metadata ({wanted}). Convert the model again."
            )
        value = repr(self.values[key])
        shown = value if len(value) <= 60 else f"{value[:57]}..."
        return ArtifactError(
            f"{self.path} has wrong metadata: {where!r} must be {wanted}, found {shown}. "
            f"Convert the model again."
        )

    def is_null(self, key: str) -> bool:
        """Tell whether the field is there and null."""
        return key in self.values and self.values[key] is None

    def text(self, key: str, *, of: Sequence[str] = ()) -> str:
        """Return a text, one of those given if any are."""
        value = self.values.get(key)
        if not isinstance(value, str) or (of and value not in of):
            raise self.wrong(key, f"one of {', '.join(of)}" if of else "a text")
        return value

    def flag(self, key: str) -> bool:
        """Return true or false."""
        value = self.values.get(key)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def whole(self, key: str, *, least: int) -> int:
        """Return a whole number that is not below `least`."""
        value = self.values.get(key)
        if not _is_whole(value, least):
            raise self.wrong(key, f"a whole number from {least}")
        return value  # type: ignore[return-value]  # _is_whole looked

    def number(self, key: str) -> float:
        """Return a finite number."""
        value = self.values.get(key)
        if not _is_number(value):
            raise self.wrong(key, "a finite number")
        return float(value)  # type: ignore[arg-type]  # _is_number looked

    def wholes(self, key: str, *, least: int) -> tuple[int, ...]:
        """Return a list of whole numbers, none below `least`, that is not empty."""
        wanted = f"a list of whole numbers from {least}"
        values: tuple[int, ...] = self._each(key, wanted, lambda value: _is_whole(value, least))
        if not values:
            raise self.wrong(key, wanted)
        return values

    def numbers(self, key: str, *, count: int) -> tuple[float, ...]:
        """Return a list of `count` finite numbers."""
        wanted = f"a list of {count} finite numbers"
        values: tuple[float, ...] = self._each(key, wanted, _is_number)
        if len(values) != count:
            raise self.wrong(key, wanted)
        return tuple(map(float, values))

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts."""
        return self._each(key, "a list of texts", lambda value: isinstance(value, str))

    def inner(self, key: str) -> "Fields":
        """Return the fields of an object inside this one."""
        value = self.values.get(key)
        if not isinstance(value, dict):
            raise self.wrong(key, "an object")
        return Fields(self.path, value, f"{self.place}{key}.")

    def inners(self, key: str) -> tuple["Fields", ...]:
        """Return the fields of each object in a list."""
        values: tuple[dict[str, object], ...] = self._each(
            key, "a list of objects", lambda value: isinstance(value, dict)
        )
        return tuple(Fields(self.path, value, f"{self.place}{key}[{i}].") for i, value in enumerate(values))

    def _each(self, key: str, wanted: str, fits: Callable[[object], bool]) -> tuple[Value, ...]:
        values = self.values.get(key)
        if not isinstance(values, list) or not all(map(fits, values)):
            raise self.wrong(key, wanted)
        return tuple(values)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a number")


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_number(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number too large for a float
        return False
