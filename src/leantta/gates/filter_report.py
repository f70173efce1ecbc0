"""What fitting a shift filter found: which layers adapt and why, and what to expect of them."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from leantta.tables import render


class Interval(NamedTuple):
    """A mean and half the width of its 95 % interval."""

    mean: float
    half: float

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
    adapts: str  # which part of its answer is used, or why none is

    def cells(self) -> list[str]:
        """Return a row of the table."""
        mean, var = self.explained
        shares = f"{mean:.2f} / {var:.2f}"
        return [self.name, str(self.channels), shares, f"{self.ridge:g}", str(self.gain), self.adapts]


@dataclass(frozen=True, kw_only=True)
class FilterReport:
    """What fitting found: which layers adapt, and what to expect of them."""

    layers: tuple[LayerReport, ...] = ()
    untried: int = 0
    gain: Interval | None = (
        None  # in decisions as on the clean image, under kinds of disturbance left out of the fit
    )
    cost: Interval | None = None  # in clean accuracy, as the model itself judges it
    images: tuple[int, int, int] = (0, 0, 0)  # for fitting, choosing and telling
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return a table of the layers, and what to expect."""
        lines = []
        if self.layers:
            header = ["layer", "channels", "explained mean / var", "ridge", "gain in choosing", "adapts"]
            lines += [render(header, [row.cells() for row in self.layers]), ""]
        if self.gain is not None and self.cost is not None:
            lines += [
                f"expected under kinds of shift that the fit never saw: {self.gain} points of decisions as on "
                "the clean image",
                f"expected on clean images: {Interval(-self.cost.mean, self.cost.half)} points of accuracy",
                "{} images to fit on, {} to choose by, {} to tell by; {} later layers not tried".format(
                    *self.images, self.untried
                ),
            ]
        return "\n".join([*lines, *self.notes])

    def numbers(self) -> dict[str, Any]:
        """Return what a file keeps of it."""
        kept: dict[str, Any] = {"notes": list(self.notes)} if self.notes else {}
        if self.gain is not None and self.cost is not None:
            kept |= {"expected_gain": list(self.gain), "expected_cost": list(self.cost)}
        return kept
