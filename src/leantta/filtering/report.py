"""What fitting a shift filter found: which layers adapt and why, and what to expect of them."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from leantta.tables import render


class Interval(NamedTuple):
    """A mean and half the width of its 95 % interval."""

    mean: float
    half: float

    @property
    def error(self) -> float:
        """The standard error."""
        return self.half / 1.96

    def __str__(self) -> str:
        """Return it in points.

        >>> str(Interval(0.02, 0.005))
        '+2.0 [+1.5, +2.5]'
        """
        low, high = self.mean - self.half, self.mean + self.half
        return f"{100 * self.mean:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


class LayerReport(NamedTuple):
    """What fitting found for one layer."""

    name: str
    channels: int
    explained: tuple[float, float]  # shares of the shift of mean and variance, under left-out kinds
    ridge: float
    gain: Interval  # in the probability of the clean image's decision, while choosing
    hits: Interval  # in the share of such decisions
    adapts: str  # which part of its answer is used, or why none is
    field: float | None = None  # mean distance of the field images, if it adapts and there are some

    def cells(self) -> list[str]:
        """Return a row of the table."""
        mean, var = self.explained
        shares = f"{mean:.2f} / {var:.2f}"
        gains = [str(self.gain), f"{100 * self.hits.mean:+.1f}"]
        return [self.name, str(self.channels), shares, f"{self.ridge:g}", *gains, self.adapts]


@dataclass(frozen=True, kw_only=True)
class FilterReport:
    """What fitting found: which layers adapt, and what to expect of them."""

    layers: tuple[LayerReport, ...] = ()
    untried: int = 0
    known: Interval | None = None  # more decisions as on the clean image, under kinds that it was fitted on
    unknown: Interval | None = None  # the same under kinds that were left out of the fit
    cost: Interval | None = None  # in clean accuracy, as the model itself judges it
    images: tuple[int, int, int] = (0, 0, 0)  # for fitting, choosing and telling
    field: int = 0  # field images
    notes: tuple[str, ...] = ()

    @property
    def field_distance(self) -> float | None:
        """The mean distance of field images at the first layer that adapts; that of source images is 1."""
        return next((row.field for row in self.layers if row.field is not None), None)

    def __str__(self) -> str:
        """Return a table of the layers, and what to expect."""
        lines = []
        if self.layers:
            shown = ["layer", "channels", "explained mean / var", "ridge"]
            header = [*shown, "gain in choosing", "decisions", "adapts"]
            lines += [render(header, [row.cells() for row in self.layers]), ""]
        if self.known is not None and self.unknown is not None and self.cost is not None:
            rows = [
                ["shifted, as it was fitted on", str(self.known), "decisions as on the clean image"],
                ["shifted, of kinds left out", str(self.unknown), "decisions as on the clean image"],
                ["clean", str(Interval(-self.cost.mean, self.cost.half)), "accuracy, as the model judges it"],
            ]
            fitted, chosen, told = self.images
            lines += [
                render(["expected on images that are", "points", "of"], rows),
                "",
                f"{fitted} images to fit on, {chosen} to choose by, {told} to tell by; {self.untried} other "
                "layers were not tried.",
            ]
        if self.field_distance is not None:
            lines.append(
                f"field: {self.field} images, mean distance {self.field_distance:.1f} at the first adapting "
                "layer (source images: 1)"
            )
        return "\n".join([*lines, *self.notes])

    def numbers(self) -> dict[str, Any]:
        """Return what a file keeps of it."""
        expected = {
            "expected_gain_known": self.known,
            "expected_gain_unknown": self.unknown,
            "expected_cost": self.cost,
        }
        kept: dict[str, Any] = {key: list(value) for key, value in expected.items() if value is not None}
        if self.field:
            kept["field_images"] = self.field
        if self.field_distance is not None:
            kept["field_distance"] = self.field_distance
        return {**kept, **({"notes": list(self.notes)} if self.notes else {})}
